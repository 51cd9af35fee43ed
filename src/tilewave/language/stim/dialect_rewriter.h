// From a circuit to one in the words of a dialect (dialect.h), instruction by instruction. Every rule
// is an identity of channels on the qubits and records of the instruction, and where leakage occurs on
// the flags of its qubits. Spare qubits, behind those of the circuit, start and end each rule as |0>,
// not leaked, but for the one that remembers a chain of correlated errors.
#pragma once

#include <initializer_list>
#include <string>

#include "tilewave/circuit/clifford.h"
#include "tilewave/circuit/leakage_words.h"
#include "tilewave/circuit/rotations.h"
#include "tilewave/language/stim/dialect_rules.h"

namespace tilewave::language {

/// Whether no qubit occurs twice.
bool is_distinct(std::span<const circuit::StabTarget> targets);

class DialectRewriter {
 public:
  DialectRewriter(const circuit::StabilizerCircuit& circuit, const DialectRules& to,
                  std::string_view file);
  circuit::StabilizerCircuit rewritten() { return block(circuit_); }

 private:
  using GateId = circuit::GateId;
  using Pauli = circuit::Pauli;
  using StabilizerCircuit = circuit::StabilizerCircuit;
  using StabInstruction = circuit::StabInstruction;
  using StabKind = circuit::StabKind;
  using StabTarget = circuit::StabTarget;
  using Product = circuit::PauliProduct;
  using Targets = std::span<const StabTarget>;
  using Args = std::span<const double>;

  StabilizerCircuit block(const StabilizerCircuit& c);
  void instruction(const StabilizerCircuit& c, const StabInstruction& op);

  // What is written: with the tag and the line of the instruction at hand.
  void keep(Targets targets, Args args) { write(op_->kind, op_->gate, targets, args); }
  void write(StabKind kind, GateId gate, Targets targets, Args args = {});
  void write(StabKind kind, std::initializer_list<std::uint32_t> qubits,
             std::initializer_list<double> args = {});
  void write(GateId gate, std::initializer_list<std::uint32_t> qubits);
  std::string tag_beside(StabKind kind, GateId gate) const;
  [[noreturn]] void refuse(const std::string& why) const;
  std::uint32_t spare(std::uint32_t number) const;

  // ---- dialect_rewriter.cc: products, rotations, noise
  void rotation(Targets targets, Args args);
  void rotate(const circuit::PauliRotation& r);
  void quarter_turn(const circuit::PauliRotation& r);
  void products(Targets targets, Args args);
  void measure(const Product& p, Args args, bool scrambles);
  void phase(const Product& p, bool dagger);
  void write_product(StabKind kind, const Product& p, Args args = {});
  void pad(bool one, Args args);
  void correlated(Targets targets, Args args);
  void herald(std::uint32_t q, Args args);

  // ---- dialect_gates.cc: Clifford gates
  void gate(Targets targets, Args args);
  void feedback(Targets pair, Args args);  // at least one of the two is a record or a sweep bit
  void one_qubit(const circuit::Clifford1& c, std::uint32_t q);
  void pair(GateId gate, std::uint32_t a, std::uint32_t b);
  // The controlled Pauli, and nothing else: partners of leaked qubits stay as they are.
  void controlled(Pauli p, std::uint32_t a, Pauli q, std::uint32_t b);
  void controlled_by_cx(Pauli p, std::uint32_t a, Pauli q, std::uint32_t b);
  // Gates that map the first factor's Pauli to the product, and back.
  void fold(const Product& p, bool reverse, bool scrambles);

  // ---- dialect_leakage.cc
  void leakage(Targets targets, Args args);
  void leakage_that_never_is(Targets targets, Args args);
  void leakage_for_custabilizer(Targets targets, Args args);
  void leakage_for_deltakit(Targets targets, Args args);
  void noisy_herald(std::uint32_t q, Args args);
  void scramble_by_cx(std::uint32_t a, std::uint32_t b, double s, double m);
  void gates_with_partners(Targets targets, Args args);
  std::size_t one_word_of_deltakit(const StabilizerCircuit& c, std::size_t at);
  bool may_leak(std::uint32_t q) const { return words_.leaks && (shares_qubits_ || may_leak_(q)); }
  bool may_leak(std::uint32_t a, std::uint32_t b) const { return may_leak(a) || may_leak(b); }

  const StabilizerCircuit& circuit_;
  const DialectRules& to_;
  std::string file_;
  circuit::LeakageWords words_;
  LeakageLanguage from_ = LeakageLanguage::kNone;  // of the circuit
  // Gates of the circuit depolarise partners, gates of what is written do not; the other way round.
  bool scrambles_ = false, must_not_scramble_ = false;
  bool has_chains_ = false;     // ELSE_CORRELATED_ERROR occurs
  bool shares_qubits_ = false;  // targets of the instruction: what it does to one leaks at the next
  std::uint64_t num_qubits_;
  circuit::MayLeak may_leak_;

  StabilizerCircuit* out_ = nullptr;
  const StabInstruction* op_ = nullptr;
  std::string name_, tag_;
};

}  // namespace tilewave::language
