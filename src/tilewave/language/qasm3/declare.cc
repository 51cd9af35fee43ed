// Declarations of OpenQASM 3: registers, values and names for parts of registers.
#include <algorithm>
#include <optional>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/language/qasm2/registers.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

// clang-format off
constexpr std::string_view kReserved[] = {
    "pi", "tau", "euler", "U", "gphase", "true", "false", "if", "else", "for", "in", "while", "switch",
    "case", "default", "break", "continue", "return", "end", "gate", "def", "let", "measure", "reset",
    "barrier", "delay", "box", "nop", "include", "input", "output", "const", "ctrl", "negctrl", "inv",
    "pow", "array", "readonly", "mutable", "qreg", "creg", "void", "OPENQASM"};
// What stdgates.inc defines.
constexpr std::string_view kStandardGates[] = {
    "p", "x", "y", "z", "h", "s", "sdg", "t", "tdg", "sx", "rx", "ry", "rz", "cx", "cy", "cz", "cp",
    "crx", "cry", "crz", "ch", "swap", "ccx", "cswap", "cu", "CX", "phase", "cphase", "id", "u1", "u2",
    "u3"};
// clang-format on

}  // namespace

// A name may be that of a gate: then it is no gate any more. A gate of the program may take the
// place of a standard one.
void Interpreter::check_name(const Token& name, bool is_gate) {
  if (contains(kReserved, name.text) || base_of(name.text) != Base::kVoid) {
    fail(name, "'", name.text, "' cannot be declared: it is a word of the language");
  }
  if (memory_.declared_here(name.text) ||
      (memory_.is_global() && (gates_.count(name.text) || subroutines_.count(name.text)))) {
    fail(name, "'", name.text, "' is declared twice");
  }
  if (is_gate || !memory_.is_global() || !lookup(name.text)) return;
  hidden_gates_.insert(name.text);
  if (!has_library_ || !contains(kStandardGates, name.text)) return;
  note(name, "name",
       concat("'", name.text,
              "' is a gate of stdgates.inc as well: here it is what is declared, "
              "other programs may refuse it"));
}

void Interpreter::declare(const Stmt& s) {
  check_name(s.name);
  if (s.type.is_array) return declare_array(s);
  if (s.op == "input") return declare_input(s);
  if (s.type.base == Base::kQubit) return declare_qubits(s);
  if (s.type.base == Base::kBit && s.op != "const") return declare_bits(s);
  declare_value(s);
}

void Interpreter::declare_qubits(const Stmt& s) {
  if (!memory_.is_global()) fail(s.at, "qubits are declared outside of blocks");
  if (s.op == "const" || s.op == "output" || s.value) fail(s.at, "a qubit has no classical value");
  if (has_physical_) fail(s.name, "declared qubits cannot stand beside physical ones");
  Variable v;
  v.kind = Variable::Kind::kQubits, v.base = Base::kQubit;
  v.is_array = s.type.width != nullptr;
  const auto n = static_cast<std::uint32_t>(width_of(s.type, 1));
  if (circuit_.num_qubits() + std::uint64_t{n} > qasm2::kMaxRegisterBits) {
    fail(s.name, "too many qubits: a program may declare 1048576");
  }
  if (n > 0) {
    const std::uint32_t first = circuit_.add_qreg(std::string(s.name.text), n);
    for (std::uint32_t k = 0; k < n; ++k) v.wires.push_back(first + k);
  }
  memory_.declare(s.name.text, std::move(v));
}

void Interpreter::declare_bits(const Stmt& s) {
  const std::string_view name = s.name.text;
  Variable v;
  v.kind = Variable::Kind::kBits, v.base = Base::kBit;
  v.is_array = s.type.width != nullptr;
  const auto n = static_cast<std::uint32_t>(width_of(s.type, 1));
  std::optional<Value> start;
  if (s.value && s.value->kind != ExprKind::kMeasure) start = evaluate(*s.value);
  if (memory_.is_global()) {
    if (circuit_.num_clbits() + std::uint64_t{n} > qasm2::kMaxRegisterBits) {
      fail(s.name, "too many classical bits: a program may declare 1048576");
    }
    const std::uint32_t first = circuit_.num_clbits();
    if (n > 0) circuit_.add_creg(std::string(name), n);
    memory_.grow();
    for (std::uint32_t k = 0; k < n; ++k) v.wires.push_back(first + k);
  } else {
    v.wires = guarded(s.name, [&] { return memory_.hidden_bits(n); });
  }
  Variable& kept = memory_.declare(name, std::move(v));
  if (start) {
    store(*make_expr(ExprKind::kName, s.name, name), *start, s.at.line, s.value.get());
  } else if (s.value) {
    measure(s.value->at, *s.value->args[0], {kept.wires, false, kept.is_array});
  }
}

void Interpreter::declare_value(const Stmt& s) {
  Value v = Value::zero(s.type.base, width_of(s.type));
  const bool is_const = s.op == "const";
  if (is_const && !s.value) fail(s.name, "a constant needs a value");
  if (s.value) {
    lost_.reset();
    const Value value = evaluate(*s.value);
    if (is_const && !value.is_known()) {
      fail(s.value->at, "a constant cannot depend on a measurement");
    }
    check_fits(*s.value, value, v.base, v.width);
    v = cast_at(s.value->at, value, v.base, v.width);
    guarded(s.value->at, [&] { memory_.compute_here(v, s.at.line); });
    if (v.is_real()) note_lost_fraction();
  }
  memory_.declare(s.name.text, std::move(v), is_const);
}

void Interpreter::declare_input(const Stmt& s) {
  if (!memory_.is_global()) fail(s.at, "inputs are declared outside of blocks");
  if (s.type.base == Base::kQubit) fail(s.at, "an input is classical");
  if (s.value) fail(s.value->at, "an input gets its value from outside");
  const std::string name(s.name.text);
  const auto given = inputs_.find(name);
  const bool is_register = s.type.base == Base::kBit && s.type.width;
  if (given == inputs_.end() && unbound_ == UnboundInputs::kParameters &&
      (s.type.base == Base::kFloat || s.type.base == Base::kAngle)) {
    const circuit::Clbit first = memory_.hidden_bits(64)[0];
    parameters_.push_back({name, first});
    const int width = s.type.base == Base::kFloat ? width_of(s.type) : 0;
    memory_.declare(s.name.text, stored(s.type.base, width, first), true);
    return;
  }
  if (given == inputs_.end()) {
    fail(s.name, "input '", name, "' has no value: give one with --input ", name,
         is_register ? "=<bits>" : "=<number>");
  }
  used_inputs_.insert(name);
  const int width = width_of(s.type);
  try {
    memory_.declare(s.name.text, read_input(given->second, s.type.base, width, is_register), true);
  } catch (const ValueError& error) {
    fail(s.name, "input '", name, "' ", error.problem, ", not '", given->second, "'");
  }
}

void Interpreter::alias(const Stmt& s) {
  check_name(s.name);
  bool depends = false;
  ExprPtr part = with_kept_indices(s.value, depends);
  const Wires w = depends ? all_wires(*part) : wires(*part);
  std::vector<std::uint32_t> ids = w.ids;
  std::sort(ids.begin(), ids.end());
  if (!depends && std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    fail(s.value->at,
         "this names an element twice: a register is not joined with a part of itself");
  }
  Variable v;
  if (depends) v.alias = std::move(part);
  v.kind = w.quantum ? Variable::Kind::kQubits : Variable::Kind::kBits;
  v.base = w.quantum ? Base::kQubit : Base::kBit;
  v.is_array = w.is_array;
  v.wires = w.ids;
  memory_.declare(s.name.text, std::move(v));
}

}  // namespace tilewave::language::qasm3
