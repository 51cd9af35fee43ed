// Declarations of OpenQASM 3: registers, values and names for parts of registers.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/circuit/append_circuit.h"
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
  if (s.op == "output" && !memory_.is_global()) {
    fail(s.at, "outputs are declared outside of blocks");
  }
  if (s.type.base == Base::kBit && s.op != "const") {
    declare_bits(s);
    if (s.op == "output") outputs_.push_back({memory_.find(s.name.text), {}});
    return;
  }
  declare_value(s);
  if (s.op == "output") declare_output(s);
}

// A register for what the variable holds at the end of the program.
void Interpreter::declare_output(const Stmt& s) {
  Variable& v = *memory_.find(s.name.text);
  if (v.value.is_real()) {
    note(s.name, "output",
         concat("the output '", s.name.text,
                "' is a real number, which is not returned: counts hold "
                "outputs of bits, integers, truth values and angles with a size"));
    return;
  }
  const auto width = static_cast<std::uint32_t>(v.width);
  if (circuit_.num_clbits() + std::uint64_t{width} > qasm2::kMaxRegisterBits) {
    fail(s.name, "too many classical bits: a program may declare 1048576");
  }
  Output out{&v, {}};
  const std::uint32_t first = circuit_.add_creg(std::string(s.name.text), width);
  memory_.grow();
  for (std::uint32_t k = 0; k < width; ++k) out.wires.push_back(first + k);
  outputs_.push_back(std::move(out));
}

void Interpreter::write_outputs(std::uint32_t line) {
  for (const Output& out : outputs_) {
    if (!out.wires.empty()) memory_.write_value(out.wires, out.variable->value, line);
  }
}

// The circuit in which the outputs alone are registers; the bits of others stay, unnamed.
circuit::Circuit Interpreter::with_outputs_only() const {
  std::vector<std::uint32_t> first;
  for (const Output& out : outputs_) {
    const std::vector<std::uint32_t>& wires = out.wires.empty() ? out.variable->wires : out.wires;
    if (!wires.empty()) first.push_back(wires[0]);
  }
  circuit::Circuit out;
  for (const circuit::Register& r : circuit_.qregs()) {
    out.add_qubits(r.first - out.num_qubits());
    out.add_qreg(r.name, r.size);
  }
  out.add_qubits(circuit_.num_qubits() - out.num_qubits());
  for (const circuit::Register& r : circuit_.cregs()) {
    if (std::find(first.begin(), first.end(), r.first) == first.end()) continue;
    out.add_clbits(r.first - out.num_clbits());
    out.add_creg(r.name, r.size);
  }
  out.add_clbits(circuit_.num_clbits() - out.num_clbits());
  std::vector<circuit::Qubit> qubits(circuit_.num_qubits());
  std::iota(qubits.begin(), qubits.end(), 0);
  std::vector<circuit::Clbit> clbits(circuit_.num_clbits());
  std::iota(clbits.begin(), clbits.end(), 0);
  circuit::append_circuit(out, circuit_, qubits, clbits);
  return out;
}

// Bits that are assigned 0, as they are at the start, are records nevertheless, and so are those of
// measurements that never happen: without one operation that writes a bit, every qubit would be measured.
void Interpreter::keep_records() {
  if (outputs_.empty() && !memory_.has_records()) return;
  for (const circuit::Op& op : circuit_.ops()) {
    if (op.kind == circuit::OpKind::kAssign || op.kind == circuit::OpKind::kMeasure) return;
  }
  for (const circuit::Register& r : circuit_.cregs()) {
    if (r.size == 0) continue;
    circuit::ClassicalExpr zero;
    zero.constant(circuit::ClassicalType::kUint, 1, memory_.known(r.first) > 0);
    circuit_.add_assign({r.first, 1, std::move(zero)});
    return;
  }
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
  std::deque<Value> row;
  if (s.value && s.value->kind != ExprKind::kMeasure) {
    if (n > 64) {
      row = row_values(*s.value, n);
    } else {
      start = evaluate(*s.value);
    }
  }
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
  if (!row.empty()) {
    write_row(kept.wires, std::move(row), s.at);
  } else if (start) {
    store(*make_expr(ExprKind::kName, s.name, name), *start, s.at.line, s.value.get());
  } else if (s.value) {
    measure(s.value->at, *s.value->args[0], {kept.wires, false, kept.is_array});
  }
}

void Interpreter::declare_value(const Stmt& s) {
  Value v = Value::zero(s.type.base, width_of(s.type));
  const bool is_const = s.op == "const";
  if (is_const && !s.value) fail(s.name, "a constant needs a value");
  if (v.width > 64) return declare_constant_row(s, static_cast<std::size_t>(v.width));
  if (s.value) {
    lost_.reset();
    const Value value = evaluate(*s.value);
    if (is_const && !value.is_known()) fail_not_known(s.value->at, value, "a constant");
    check_fits(*s.value, value, v.base, v.width);
    v = cast_at(s.value->at, value, v.base, v.width);
    guarded(s.value->at, [&] { memory_.compute_here(v, s.at.line); });
    if (v.is_real()) note_lost_fraction();
  }
  memory_.declare(s.name.text, std::move(v), is_const);
}

// const bit[100] c = ...
void Interpreter::declare_constant_row(const Stmt& s, std::size_t size) {
  std::vector<bool> bits;
  for (const Value& run : row_values(*s.value, size)) {
    if (!run.is_known()) fail_not_known(s.value->at, run, "a constant");
    for (int k = 0; k < run.width; ++k) {
      bits.push_back(static_cast<std::uint64_t>(run.cells[0].i) >> k & 1);
    }
  }
  Variable v;
  v.kind = Variable::Kind::kBits, v.base = Base::kBit;
  v.is_array = v.is_const = true;
  v.wires = guarded(s.name, [&] { return memory_.fixed_bits(bits); });
  memory_.declare(s.name.text, std::move(v));
}

void Interpreter::declare_input(const Stmt& s) {
  if (!memory_.is_global()) fail(s.at, "inputs are declared outside of blocks");
  if (s.type.base == Base::kQubit) fail(s.at, "an input is classical");
  if (s.value) fail(s.value->at, "an input gets its value from outside");
  const std::string name(s.name.text);
  const auto given = inputs_.find(name);
  const bool is_register = s.type.base == Base::kBit && s.type.width;
  const bool is_rounded = s.type.base == Base::kAngle && s.type.width;
  if (given == inputs_.end() && unbound_ == UnboundInputs::kParameters &&
      (s.type.base == Base::kFloat || s.type.base == Base::kAngle)) {
    if (is_rounded) {
      fail(
          s.name, "input '", name,
          "' has no value, and an angle with a size is rounded to it, so "
          "that it cannot be a parameter of the circuit: give it a value, or declare 'input angle ",
          name, ";'");
    }
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
    if (is_register && width > 64) {
      Variable v;
      v.kind = Variable::Kind::kBits, v.base = Base::kBit;
      v.is_array = v.is_const = true;
      v.wires = memory_.fixed_bits(read_row(given->second, static_cast<std::size_t>(width)));
      memory_.declare(s.name.text, std::move(v));
      return;
    }
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
