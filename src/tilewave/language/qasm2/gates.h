// The gates a program can call: those of the gate table, and definitions compiled from the program.
// A definition is a list of calls on qubit slots with compiled angles; calls are kept nested, so a
// definition costs memory in proportion to its text however much it expands to.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/language/qasm2/expression.h"

namespace tilewave::language::qasm2 {

struct Definition;

/// Something a statement can call: a row of the table, a definition, or (neither) an opaque gate.
struct Callable {
  const circuit::GateInfo* table = nullptr;
  const Definition* definition = nullptr;
  std::uint32_t num_params = 0;
  std::uint32_t num_qubits = 0;
  bool is_opaque() const { return !table && !definition; }
};

/// One call in the body of a definition; a barrier where `gate` is null.
struct BodyCall {
  const Callable* gate = nullptr;
  std::vector<std::uint32_t> slots;  ///< positions among the definition's qubits
  std::vector<Expression> params;    ///< in the definition's parameters
};

struct Definition {
  std::string_view name;
  std::vector<BodyCall> body;
  std::uint64_t cost = 1;   ///< calls that one use expands to, saturating
  std::uint32_t depth = 1;  ///< nesting of definitions
};

/// Calls of a use of this gate, itself included.
inline std::uint64_t cost_of(const Callable& gate) {
  return gate.definition ? gate.definition->cost : 1;
}

/// True when `name` is an identifier that may name a register, a gate or a parameter.
bool is_free_name(std::string_view name);

/// The words that start statements.
std::span<const std::string_view> keywords();
bool is_keyword(std::string_view name);

class GateScope {
 public:
  /// The gate of this name: the program's own before the table's; null when there is none.
  const Callable* find(std::string_view name);

  /// True when the program itself has defined or declared the name.
  bool is_own(std::string_view name) const;

  void define(std::string_view name, std::uint32_t num_params, std::uint32_t num_qubits,
              Definition definition);
  void declare_opaque(std::string_view name, std::uint32_t num_params, std::uint32_t num_qubits);

  /// Every name that can be called, for suggestions.
  std::vector<std::string_view> names() const;

 private:
  struct Entry {
    Callable* callable;
    bool own;
  };
  std::unordered_map<std::string_view, Entry> entries_;
  std::deque<Callable> callables_;  // stable addresses
  std::deque<Definition> definitions_;
};

/// Appends gates to a circuit, expanding definitions.
class Expander {
 public:
  explicit Expander(circuit::Circuit& circuit) : circuit_(circuit) {}

  std::uint32_t line = 0;       ///< written to every operation
  std::int32_t condition = -1;  ///< likewise

  /// Applies `gate`; qubits are known to be distinct and in range. Returns null, or the name of the
  /// definition in which an angle came out as no finite number.
  const std::string_view* apply(const Callable& gate, std::span<const circuit::Qubit> qubits,
                                std::span<const double> params);

 private:
  const std::string_view* expand(const Definition& definition, std::size_t first_qubit,
                                 std::size_t first_param);
  void append(circuit::Op& op);

  circuit::Circuit& circuit_;
  std::vector<circuit::Qubit> qubits_;  // arguments of the calls under way, a stack
  std::vector<double> params_;
};

}  // namespace tilewave::language::qasm2
