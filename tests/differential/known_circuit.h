// Circuits on many qubits whose answers are known from a few: random gates on groups of some qubits
// each, anywhere in the register, then X, CX, SWAP and diagonal gates across all of it.
//
// Before the second part the state is a product of the states of the groups. What follows sends the
// basis state x to y = A x + b (over bits) with a phase f(y), so that
//   amplitude(y) = e^{i f(y)} prod_g amplitude_g(bits of A^-1 (y + b) in group g).
// P(y_q = 1) and joint probabilities follow from the signs of parities of x, which factorise over
// the groups; expectations of Pauli strings from strings brought back through the second part,
// which is Clifford where it has no phases but Z and CZ.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::differential {

using Random = std::mt19937_64;
using statevec::testing::Amplitudes;

class KnownCircuit {
 public:
  KnownCircuit(int num_qubits, Random& random);

  const circuit::Circuit& circuit() const { return circuit_; }
  /// Its second part ends with CX on most qubits, one after the other.
  bool has_chain() const { return has_chain_; }
  /// Operations of the first part.
  std::size_t num_of_groups() const { return circuit_.ops().size() - globals_.size(); }
  int num_qubits() const { return static_cast<int>(circuit_.num_qubits()); }
  cplx amplitude(std::uint64_t basis_state) const;
  /// P of each outcome; bit j of an outcome is qubits[j].
  std::vector<double> joint(std::span<const circuit::Qubit> qubits) const;
  std::vector<double> marginals() const;
  /// Nothing where the string cannot be brought back.
  std::optional<double> expectation(const circuit::PauliTerm& string) const;
  /// A basis state of the support, drawn with its probability.
  std::uint64_t draw(Random& random) const;

 private:
  struct Group {
    std::vector<int> qubits;
    Amplitudes state;
  };
  struct Global {
    circuit::GateId gate = circuit::GateId::kX;
    int a = 0, b = 0;  // control and target
    double angle = 0;  // of a phase where both are 1
  };
  void add_gate_of(Group& group, Random& random);
  void add_gate_of(Group& group, circuit::GateId gate, std::span<const circuit::Qubit> small,
                   std::span<const circuit::Qubit> large, double angle);
  void add_global(Random& random);
  void add_global(const Global& g);
  void add_chain(Random& random);
  std::uint64_t before_globals(std::uint64_t y, double* phase) const;
  std::uint64_t bits_of(const Group& group, std::uint64_t x) const;

  circuit::Circuit circuit_;
  std::vector<Group> groups_;
  std::vector<Global> globals_;
  bool has_chain_ = false;
};

}  // namespace tilewave::differential
