// Calls of gates, with modifiers and over registers, and of subroutines.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/base/units.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/language/qasm/gate_libraries.h"
#include "tilewave/language/qasm3/interpreter.h"
#include "tilewave/language/qasm3/modifiers.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::Circuit;
using circuit::GateId;
using circuit::Qubit;

// The phase that OpenQASM 3 gives a gate beyond its row of the table: U, u3 and u2 have one.
bool has_phase(GateId id, std::string_view name) {
  return (id == GateId::kU && name == "U") || id == GateId::kU3 || id == GateId::kU2;
}
double extra_phase(GateId id, const std::vector<double>& p) {
  return id == GateId::kU ? p[0] / 2 : id == GateId::kU3 ? -(p[1] + p[2]) / 2 : -(p[0] + p[1]) / 2;
}

// A gate of Braket's dialect, or null.
std::shared_ptr<const Definition> find_braket_gate(std::string_view name) {
  using Gates = std::unordered_map<std::string_view, std::shared_ptr<const Definition>>;
  static const Gates kGates = [] {
    static const TextSource kSource{"built-in gates", kBraketGates};
    Lexer lexer(kSource);
    Parser parser(lexer);
    Gates all;
    while (!parser.at_end()) {
      const auto definition = parser.statement().definition;
      all.emplace(definition->name.text, definition);
    }
    return all;
  }();
  const auto it = kGates.find(name);
  return it == kGates.end() ? nullptr : it->second;
}

}  // namespace

const Interpreter::Gate* Interpreter::lookup(std::string_view name) {
  if (!gates_.empty()) {
    const auto own = gates_.find(name);
    if (own != gates_.end()) return &own->second;
  }
  const auto [it, fresh] = table_gates_.try_emplace(name);
  if (fresh) {
    if (const auto* info = circuit::find_gate(circuit::Language::kQasm, name)) {
      it->second = Gate{info, nullptr, static_cast<std::size_t>(info->num_params),
                        static_cast<std::size_t>(info->num_controls + info->num_targets),
                        has_phase(info->id, name)};
    } else if (const auto definition = find_braket_gate(name)) {
      circuit_.add_replaced(std::string(name));
      it->second = Gate{nullptr, definition, definition->params.size(), definition->qubits.size()};
    }
  }
  return it->second ? &*it->second : nullptr;
}

const Interpreter::Gate& Interpreter::find_gate(const Token& name) {
  const bool may_be_hidden = !hidden_gates_.empty() && memory_.is_global();
  if (may_be_hidden && hidden_gates_.count(name.text)) fail_no_gate(name);
  const Gate* gate = lookup(name.text);
  if (!gate) fail_no_gate(name);
  return *gate;
}

void Interpreter::fail_no_gate(const Token& name) {
  const std::string_view n = name.text;
  if (subroutines_.count(n)) {
    fail(name, "'", n,
         "' is a subroutine, not a gate: its qubits stand with its other "
         "arguments, '",
         n, "(...)', without modifiers");
  }
  for (const std::string_view word : {"measure", "reset", "barrier", "delay", "nop"}) {
    if (n == word) fail(name, "'", n, "' is no gate: it has no modifiers");
  }
  if (const Variable* v = memory_.find(n)) {
    const char* what = v->kind == Variable::Kind::kQubits ? "qubits"
                       : v->kind == Variable::Kind::kBits ? "bits"
                                                          : "a value";
    fail(name, "'", n, "' names ", what, " here, not a gate");
  }
  std::vector<std::string_view> known;
  for (const auto& [key, own] : gates_) known.push_back(key);
  for (const auto& [key, definition] : subroutines_) known.push_back(key);
  for (const circuit::GateInfo& g : circuit::gate_table()) {
    known.push_back(g.qasm.substr(0, g.qasm.find(' ')));
  }
  for (const std::string_view word : {"measure", "reset", "barrier", "qubit", "bit", "gate"}) {
    known.push_back(word);
  }
  fail(name, "unknown gate '", n, "'", did_you_mean_gate(n, known));
}

bool Interpreter::has_qubits(const std::vector<ExprPtr>& args) {
  return std::any_of(args.begin(), args.end(), [this](const ExprPtr& e) { return is_qubits(*e); });
}

void Interpreter::fail_gate_form(const Token& name, const Gate& gate) const {
  fail(name, gate_form(name.text, gate.num_params, gate.num_qubits));
}

// Gates of the table need no include to be known, but those who wrote the language want one.
void Interpreter::note_library(const Token& name, GateId id) {
  if (id == GateId::kGlobalPhase || (id == GateId::kU && name.text == "U")) return;
  has_library_ = true;
  note(name, "library",
       concat("gate '", name.text,
              "' is known here without an include: elsewhere the program needs "
              "include \"stdgates.inc\";"));
}

// Numbers, names and + - * / of real numbers, without tables; whatever else is evaluated in full.
std::optional<double> Interpreter::plain_real(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kReal:
      return e.real;
    case ExprKind::kName: {
      if (e.op == "pi") return std::numbers::pi;
      const Variable* v = memory_.find(e.op);
      const bool known = v && v->kind == Variable::Kind::kValue && v->value.is_known() &&
                         v->value.is_real() && v->value.base != Base::kDuration;
      return known ? std::optional(v->value.cells[0].d) : std::nullopt;
    }
    case ExprKind::kUnary: {
      const auto a = e.op == "-" ? plain_real(*e.args[0]) : std::nullopt;
      return a ? std::optional(-*a) : std::nullopt;
    }
    case ExprKind::kBinary: {
      // one of the first two may be an integer
      if (e.args[0]->kind == ExprKind::kInteger && e.args[1]->kind == ExprKind::kInteger) {
        return std::nullopt;
      }
      const auto number = [&](const Expr& part) {
        if (part.kind == ExprKind::kInteger)
          return std::optional(static_cast<double>(static_cast<std::uint64_t>(part.integer)));
        return plain_real(part);
      };
      std::optional<double> x = number(*e.args[0]);
      for (std::size_t k = 0; x && k < e.links.size(); ++k) {
        const auto y = number(*e.args[k + 1]);
        const std::string_view op = e.links[k].text;
        if (!y || op.size() != 1) return std::nullopt;
        if (op[0] == '+') {
          *x += *y;
        } else if (op[0] == '-') {
          *x -= *y;
        } else if (op[0] == '*') {
          *x *= *y;
        } else if (op[0] == '/' && *y != 0) {
          *x /= *y;
        } else {
          return std::nullopt;
        }
      }
      return x && std::isfinite(*x) ? x : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Interpreter::Angles Interpreter::angles(const std::vector<ExprPtr>& args) {
  Angles out;
  std::deque<std::pair<std::size_t, Value>> computed;  // which of them depend on measurements
  std::deque<Memory::Keep> keeps;
  for (const ExprPtr& a : args) {
    if (const auto plain = plain_real(*a)) {
      out.numbers.push_back(*plain);
      continue;
    }
    lost_.reset();
    Value v = evaluate(*a);
    note_lost_fraction();
    if (v.base == Base::kDuration) fail(a->at, "a time is no angle");
    v = guarded(a->at, [&] {
      return cast(v, v.is_real() ? v.base : Base::kAngle, v.is_real() ? v.width : 0);
    });
    const bool same = v.is_same();
    out.numbers.push_back(same ? v.cells[0].d : 0);
    if (same) continue;
    computed.emplace_back(out.numbers.size() - 1, std::move(v));
    keeps.emplace_back(memory_, computed.back().second);
  }
  if (computed.empty()) return out;
  for (const double d : out.numbers) out.values.push_back(Value::real(d));
  for (auto& [k, v] : computed) out.values[k] = v;
  return out;
}

std::size_t Interpreter::num_controls(const Modifier& m) {
  if (m.kind == ModifierKind::kInv || m.kind == ModifierKind::kPow) return 0;
  if (!m.argument) return 1;
  const std::int64_t n = known_size(m.argument, "a number of controls");
  if (n < 1 || n > 64) fail(m.argument->at, "a gate can have 1 to 64 controls");
  return static_cast<std::size_t>(n);
}

void Interpreter::finish_from(std::size_t first, std::uint32_t line) {
  if (out_ != &circuit_) return;
  circuit_.finish_from(first, line, memory_.condition_index());
}

void Interpreter::apply(const Token& at, const Gate& gate, const std::vector<double>& params,
                        std::span<const Qubit> qubits) {
  charge_operations(at, 1);
  if (gate.table) {
    if (!has_library_) note_library(at, gate.table->id);
    const std::size_t first = out_->ops().size();
    out_->add_gate(gate.table->id, qubits, params);
    finish_from(first, at.line);
    if (gate.has_phase) add_phase(extra_phase(gate.table->id, params), at.line);
    return;
  }
  std::vector<Value> values;
  for (const double p : params) values.push_back(Value::real(p));
  apply_definition(at, *gate.definition, values, qubits);
}

void Interpreter::add_phase(double angle, std::uint32_t line) {
  if (out_ == &circuit_ && memory_.terms().empty() && running_loops_ == 0) {
    phase_ += angle;
    return;
  }
  const std::size_t first = out_->ops().size();
  out_->add_gate(GateId::kGlobalPhase, {}, {&angle, 1});
  finish_from(first, line);
}

void Interpreter::write_phase() {
  const double angle = std::remainder(std::exchange(phase_, 0), 2 * std::numbers::pi);
  if (angle != 0) circuit_.add_gate(GateId::kGlobalPhase, {}, {&angle, 1});
}

void Interpreter::apply_definition(const Token& at, const Definition& d,
                                   std::span<const Value> params, std::span<const Qubit> qubits) {
  if (!has_library_ && find_braket_gate(at.text)) has_library_ = true;  // that dialect needs none
  if (++call_depth_ > kMaxCallDepth) fail(at, "gates call each other more than 200 deep");
  check_steps(at, d.least_steps);
  const bool was_gate = in_gate_;
  in_gate_ = true;
  const std::size_t frame = memory_.push_frame();
  for (std::size_t k = 0; k < params.size(); ++k) {
    memory_.declare(d.params[k].name.text, cast(params[k], Base::kAngle, 0), true);
  }
  for (std::size_t k = 0; k < qubits.size(); ++k) {
    Variable v;
    v.kind = Variable::Kind::kQubits, v.base = Base::kQubit, v.wires = {qubits[k]};
    memory_.declare(d.qubits[k].text, std::move(v));
  }
  for (const auto& s : d.body) execute(*s);
  memory_.pop_frame(frame);
  in_gate_ = was_gate;
  --call_depth_;
}

double Interpreter::known_power(const Modifier& m) {
  const Value k = known(*m.argument, "a power");
  if (k.base == Base::kDuration || k.base == Base::kAngle)
    fail(m.argument->at, "a power is a number");
  return cast(k, Base::kFloat, 64).cells[0].d;
}

// Counts the operations of every modifier before the first is applied: powers multiply each other.
void Interpreter::charge_modifiers(const Stmt& s, std::uint64_t operations) {
  std::uint64_t most = 1, all = 0;
  for (auto m = s.modifiers.rbegin(); m != s.modifiers.rend(); ++m) {
    if (m->kind == ModifierKind::kPow) {
      const double k = known_power(*m);
      const auto times = static_cast<std::uint64_t>(std::min(std::abs(k), 1e18));
      operations = k == std::floor(k) ? saturating_multiply(operations, times) : 1;
    }
    most = std::max(most, operations);
    all = saturating_add(all, most);
    check_steps(m->at, all);
  }
  charge_operations(s.name, all);
}

// The gate under its modifiers as a circuit on controls, then its own qubits.
Circuit Interpreter::modified(const Stmt& s, const Gate& gate, const Angles& params) {
  Circuit inner(static_cast<std::uint32_t>(gate.num_qubits), circuit_.num_clbits());
  std::vector<Qubit> own(gate.num_qubits);
  for (std::size_t q = 0; q < own.size(); ++q) own[q] = static_cast<Qubit>(q);
  Circuit* const outer = out_;
  out_ = &inner;
  if (params.values.empty()) {
    apply(s.name, gate, params.numbers, own);
  } else {
    apply_at_run(s.name, gate, params.values, own);
  }
  out_ = outer;
  charge_modifiers(s, inner.ops().size());
  for (auto m = s.modifiers.rbegin(); m != s.modifiers.rend(); ++m) {
    try {
      if (m->kind == ModifierKind::kInv) {
        inner = circuit::inverse(inner);
      } else if (m->kind == ModifierKind::kPow) {
        inner = power(inner, known_power(*m));
      } else {
        const bool ones = m->kind == ModifierKind::kCtrl;
        inner = controlled(inner, static_cast<std::uint32_t>(num_controls(*m)),
                           ones ? ~std::uint64_t{0} : 0);
      }
    } catch (const Error& error) {
      if (std::string_view(error.what()).find('\n') != std::string_view::npos) throw;
      fail(m->at, error.what());
    }
  }
  return inner;
}

void Interpreter::need_operands(const Stmt& s, std::size_t has, std::size_t takes,
                                const char* what) const {
  if (has == takes) return;
  fail(s.name, "gate '", s.name.text, s.modifiers.empty() ? "'" : "' with its modifiers", " takes ",
       counted(takes, what), ", not ", has);
}

void Interpreter::fail_twice(const Token& at, const Stmt& s) const {
  fail(at, "gate '", s.name.text, "' names a qubit twice: use distinct qubits");
}

void Interpreter::call(const Stmt& s) {
  const bool is_subroutine = !subroutines_.empty() && subroutines_.count(s.name.text) > 0;
  if (is_subroutine && s.operands.empty() && s.modifiers.empty()) {
    guarded(s.name, [&] { call_subroutine(s.name, s.args); });
    return;
  }
  if (is_subroutine) fail_no_gate(s.name);
  const Gate& gate = find_gate(s.name);
  if (!s.args.empty() && has_qubits(s.args)) fail_gate_form(s.name, gate);
  const Angles params = angles(s.args);
  std::size_t num_qubits = gate.num_qubits;
  for (const Modifier& m : s.modifiers) num_qubits += num_controls(m);
  need_operands(s, params.numbers.size(), gate.num_params, "parameter");
  need_operands(s, s.operands.size(), num_qubits, "qubit");
  for (std::size_t k = 0; k < params.numbers.size(); ++k) {
    if (!std::isfinite(params.numbers[k])) fail(s.args[k]->at, "an angle is not a finite number");
  }

  const bool has_root = std::any_of(s.modifiers.begin(), s.modifiers.end(), [&](const Modifier& m) {
    if (m.kind != ModifierKind::kPow) return false;
    const double k = known_power(m);
    return k != std::floor(k);
  });
  if (has_root && !params.values.empty() && out_ == &circuit_) {
    call_in_cases(s, gate, params);
  } else {
    call_on_operands(s, gate, params);
  }
}

void Interpreter::call_on_operands(const Stmt& s, const Gate& gate, const Angles& params) {
  const Circuit inner = s.modifiers.empty() ? Circuit() : modified(s, gate, params);
  std::vector<const Expr*> operands;
  for (const ExprPtr& e : s.operands) operands.push_back(e.get());
  for_each_case(operands, s.at.line, [&] { broadcast(s, gate, params, inner); });
}

// Arrays give one qubit a call, single qubits stand in every call.
void Interpreter::broadcast(const Stmt& s, const Gate& gate, const Angles& params,
                            const Circuit& inner) {
  std::vector<Wires> operands;
  std::size_t count = 1;
  const Expr* array = nullptr;
  for (const ExprPtr& e : s.operands) {
    operands.push_back(qubits(*e));
    if (!operands.back().is_array) continue;
    if (array && operands.back().ids.size() != count) {
      if (in_a_case()) return add_trap(s.name.line);
      fail(e->at, "registers of different sizes in one call: ", count, " and ",
           operands.back().ids.size(), " qubits");
    }
    array = e.get();
    count = operands.back().ids.size();
  }
  std::vector<Qubit> qubits(operands.size());
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t j = 0; j < operands.size(); ++j) {
      qubits[j] = operands[j].ids[operands[j].is_array ? k : 0];
      if (std::find(qubits.begin(), qubits.begin() + static_cast<std::ptrdiff_t>(j), qubits[j]) ==
          qubits.begin() + static_cast<std::ptrdiff_t>(j)) {
        continue;
      }
      // only if the indices fall so
      const bool is_computed = std::any_of(s.operands.begin(), s.operands.end(),
                                           [&](const ExprPtr& e) { return may_trap(*e); });
      if (!assumed_.empty() || is_computed) return add_trap(s.name.line);
      fail_twice(s.operands[j]->at, s);
    }
    if (!s.modifiers.empty()) {
      charge_operations(s.name, inner.ops().size());
      const std::size_t first = out_->ops().size();
      append_mapped(inner, qubits, *out_);
      finish_from(first, s.name.line);
    } else if (params.values.empty()) {
      apply(s.name, gate, params.numbers, qubits);
    } else {
      apply_at_run(s.name, gate, params.values, qubits);
    }
  }
}

}  // namespace tilewave::language::qasm3
