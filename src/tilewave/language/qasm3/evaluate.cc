// Expressions: classical values, registers and their parts.
#include <algorithm>
#include <numbers>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/language/qasm2/registers.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

// "0101" with its first character highest.
Value bit_string(std::string_view text) {
  Value v = Value::integer(0);
  v.base = Base::kBit, v.width = 0;
  std::uint64_t u = 0;
  for (const char c : text) {
    if (c == '_') continue;
    u = u << 1 | static_cast<std::uint64_t>(c == '1');
    ++v.width;
  }
  if (v.width > 64) throw ValueError{std::string(kLongRow)};
  v.cells[0].i = static_cast<std::int64_t>(u);
  return v;
}

}  // namespace

std::optional<double> constant(std::string_view name) {
  if (name == "pi" || name == "\xCF\x80") return std::numbers::pi;
  if (name == "tau" || name == "\xCF\x84") return 2 * std::numbers::pi;
  if (name == "euler" || name == "\xE2\x84\x87") return std::numbers::e;
  return std::nullopt;
}

Value Interpreter::evaluate(const Expr& e) {
  return guarded(e.at, [&] { return evaluate_unguarded(e); });
}

Value Interpreter::evaluate_unguarded(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kInteger:
      return e.is_long ? Value::natural(static_cast<std::uint64_t>(e.integer))
                       : Value::integer(e.integer);
    case ExprKind::kReal:
      return Value::real(e.real);
    case ExprKind::kTime: {
      Value time = Value::real(e.real);
      time.base = Base::kDuration;
      return time;
    }
    case ExprKind::kBool:
      return Value::boolean(e.integer != 0);
    case ExprKind::kBits:
      return bit_string(e.op);
    case ExprKind::kName:
      return evaluate_name(e);
    case ExprKind::kIndex:
      return evaluate_index(e);
    case ExprKind::kUnary:
      return unary(e.op, evaluate(*e.args[0]));
    case ExprKind::kBinary: {
      if (auto same = compare_rows(e)) return *same;
      Value a = evaluate(*e.args[0]);
      for (std::size_t k = 0; k < e.links.size(); ++k) {
        beyond_ = false;
        a = link(e.links[k], std::move(a), *e.args[k + 1]);
        // a variable wraps around; numbers that are written out are meant as they stand
        if (beyond_ && is_written_out(e)) {
          fail(e.links[k], "the result needs more than 64 bits: use a float, as in 10.0 ** 400");
        }
      }
      return a;
    }
    case ExprKind::kCast: {
      if (e.type.base == Base::kQubit) fail(e.at, "nothing can be cast to a qubit");
      const Value from = evaluate(*e.args[0]);
      return cast(from, e.type.base, width_of(e.type), [this] { return reach(); });
    }
    case ExprKind::kCall: {
      if (subroutines_.count(e.op)) return call_subroutine(e.at, e.args);
      if (e.op == "sizeof") {
        return size_of(e);
      }
      if (has_qubits(e.args)) {
        if (const Gate* gate = lookup(e.op)) fail_gate_form(e.at, *gate);
        if (!is_function(e.op)) fail_unknown(e.at, "function");
      }
      if (auto ones = popcount_of_row(e)) return *ones;
      std::vector<Value> args;
      for (const ExprPtr& a : e.args) args.push_back(evaluate(*a));
      Value out;
      if (!call_function(e.op, args, out, [this] { return reach(); })) {
        if (const Gate* gate = lookup(e.op)) fail_gate_form(e.at, *gate);
        fail_unknown(e.at, "function");
      }
      return out;
    }
    case ExprKind::kMeasure: {
      if (in_gate_) fail(e.at, "a gate cannot measure");
      Wires to;
      to.quantum = false;
      for_each_case({e.args[0].get()}, e.at.line, [&] {
        const Wires from = qubits(*e.args[0]);
        to.is_array = from.is_array;
        if (to.ids.empty()) to.ids = memory_.hidden_bits(from.ids.size());
        measure(e.at, *e.args[0], to);
      });
      return memory_.read(to.ids);
    }
    case ExprKind::kRange:
    case ExprKind::kSet:
      break;
  }
  fail(e.at, "a range stands between the brackets of an index or after 'in'");
}

Value Interpreter::link(const Token& op, Value a, const Expr& right) {
  if (op.text == "in") return is_member(std::move(a), right);
  if (op.text != "&&" && op.text != "||") {
    const Memory::Keep keep(memory_, a);
    const Value b = evaluate(right);
    return operate(op, std::move(a), b);
  }
  const bool is_or = op.text == "||";
  const bool known = a.is_known();
  if (known && (truth(a).cells[0].i != 0) == is_or) return Value::boolean(is_or);
  Value guard = is_or ? unary("!", a) : truth(a);
  const Memory::Keep keep(memory_, a), keep_guard(memory_, guard);
  const Trimmed guards(guards_);
  guards_.push_back(&guard);
  const Value b = evaluate(right);
  return operate(op, std::move(a), b);
}

// Whether a is one of {...}.
Value Interpreter::is_member(Value a, const Expr& set) {
  if (a.is_real() || a.is_turns()) throw ValueError{"the left side of 'in' must be an integer"};
  const Memory::Keep keep(memory_, a);
  Value any = Value::boolean(false);
  const Memory::Keep keep_any(memory_, any);
  for (const ExprPtr& e : set.args) {
    const Value one = evaluate(*e);
    if (one.is_real() || one.is_turns()) fail(e->at, "an element of a set must be an integer");
    any = binary("||", std::move(any), binary("==", a, one));
  }
  return any;
}

Value Interpreter::operate(const Token& op, Value a, const Value& b) {
  const auto is_integer = [](const Value& v) {
    return v.is_known() && (v.base == Base::kInt || v.base == Base::kUint);
  };
  if (op.text == "/" && is_integer(a) && is_integer(b)) {
    const std::int64_t x = a.cells[0].i, y = b.cells[0].i;
    if (y > 0 && x % y != 0) {
      lost_ = {op, concat(x, " / ", y, " is ", x / y, ", as both are integers: write ", x, ".0 / ",
                          y, " for the fraction")};
    }
  }
  beyond_ = exceeds_64_bits(op.text, a, b);
  return guarded(op, [&] { return binary(op.text, std::move(a), b, [this] { return reach(); }); });
}

Reach Interpreter::reach() const {
  Reach out = memory_.reach();
  for (const Value* guard : guards_) {
    out.is_conditional = true;
    if (fit_a_table(out.holds, *guard)) out.holds = binary("&&", std::move(out.holds), *guard);
  }
  return out;
}

Value Interpreter::evaluate_name(const Expr& e) {
  if (const Variable* v = memory_.find(e.op)) {
    if (v->kind == Variable::Kind::kValue) return v->value;
    if (v->alias && v->kind == Variable::Kind::kBits) return evaluate(*v->alias);
    if (v->kind == Variable::Kind::kArray) {
      throw ValueError{concat("'", e.op, "' is an array, a single value is needed")};
    }
    if (v->kind == Variable::Kind::kQubits) {
      throw ValueError{concat("'", e.op, "' is a quantum register, a classical value is needed")};
    }
    return memory_.read(v->wires);
  }
  if (const auto c = constant(e.op)) return Value::real(*c);
  fail_unknown(e.at, "name");
}

// An element that does not exist, where it may not be asked for, is an error of the running circuit.
Value Interpreter::evaluate_index(const Expr& e) {
  if (in_a_case() || !may_not_run()) return index_value(e);
  const bool outer = std::exchange(may_trap_, true);
  std::optional<ImpossibleCase> problem;
  Value out;
  try {
    out = index_value(e);
  } catch (const ImpossibleCase& impossible) {
    problem = impossible;
  }
  may_trap_ = outer;
  if (!problem) return out;
  if (e.args[1]->kind == ExprKind::kRange || e.args[1]->kind == ExprKind::kSet)
    fail(problem->at, problem->problem);
  const Variable* v = memory_.find(without_indices(e).op);
  const bool is_element = v && v->kind == Variable::Kind::kArray;
  return is_element ? impossible_value(v->base, v->width) : impossible_value(Base::kBit, 1);
}

// Some bits b[i:i + 1] whose indices depend on measurements: what they are in each case. None where
// the indices are known.
std::optional<Value> Interpreter::dependent_part(const Expr& e) {
  if (in_a_case()) return std::nullopt;
  const std::size_t depth = memory_.terms().size();
  std::size_t pushed = 0;
  for (const Value* guard : guards_) {  // beside it no index is out of range
    if (!guard->is_same()) memory_.push(Memory::term_of(*guard)), ++pushed;
  }
  Dependents found;
  find_dependent(e, found);
  std::optional<Value> out;
  if (!found.list.empty()) {
    texts_.push_back(concat(" part ", texts_.size()));
    const std::string_view name = texts_.back();
    run_cases(found, e.at.line, [&] {
      const Wires w = wires(e);
      if (w.quantum) throw ValueError{"this is a qubit, a classical value is needed"};
      if (!memory_.declared_here(name)) {
        if (w.ids.empty()) return add_trap(e.at.line);
        Variable part;
        part.base = Base::kBit, part.width = static_cast<int>(w.ids.size());
        part.value = Value::zero(part.base, part.width);
        memory_.declare(name, std::move(part)).depth = depth;
      }
      Variable& part = *memory_.find(name);
      if (w.ids.size() != static_cast<std::size_t>(part.width)) return add_trap(e.at.line);
      memory_.assign(part, memory_.read(w.ids), e.at.line);
    });
    if (const Variable* part = memory_.find(name)) out = part->value;
  }
  for (; pushed > 0; --pushed) memory_.pop();
  return out;
}

Value Interpreter::index_value(const Expr& e) {
  if (const ArrayPart part = array_part(e);
      part.array && part.indices.size() <= part.array->dims.size()) {
    return element(part);
  }
  const Trimmed assumed_indices(assumed_);
  const std::optional<Value> index = dependent_index(*e.args[1]);
  Value out;
  if (is_bits(e)) {
    const bool is_list = e.args[1]->kind == ExprKind::kRange || e.args[1]->kind == ExprKind::kSet;
    if (is_list) {
      if (std::optional<Value> part = dependent_part(e)) return *part;
    }
    const Wires w = wires(index ? *e.args[0] : e);
    if (w.quantum) throw ValueError{"this is a qubit, a classical value is needed"};
    if (index && !w.is_array) fail(e.at, "a single bit has no index");
    out = memory_.read(w.ids);
    if (index) out = pick(out, *index, w.ids.size(), e.at);
  } else {
    const Value v = evaluate(*e.args[0]);
    if (v.base == Base::kBool) throw ValueError{"this value has no bits to index"};
    const Value raw = raw_bits(v);
    const auto size = static_cast<std::size_t>(v.width);
    if (index) {
      out = pick(raw, *index, size, e.at);
    } else {
      bool is_array = false;
      const auto places = indices(*e.args[1], size, is_array);
      out = Value::integer(0);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const Value one =
            binary("&", binary(">>", raw, Value::integer(static_cast<std::int64_t>(places[k]))),
                   Value::integer(1));
        out = binary("|", cast(out, Base::kUint, 64),
                     binary("<<", one, Value::integer(static_cast<std::int64_t>(k))));
      }
      out = cast(out, Base::kBit, static_cast<int>(places.size()));
    }
  }
  return out;
}

void Interpreter::fail_not_known(const Token& at, const Value& v, const std::string& what) const {
  if (v.is_expr() && v.deps.empty()) {
    try {
      circuit::evaluate(*v.expr, {});
    } catch (const Error& error) {
      fail(at, what, " has no value: ", error.what());
    }
  }
  if (const std::string input = input_in(v); !input.empty()) {
    fail(at, what, " depends on the input '", input,
         "', which has no value: give one with --input ", input, "=<number> (Python: inputs={\"",
         input, "\": ...})");
  }
  fail(at, what, " depends on a measurement: it must be known before the circuit runs");
}

// The name of an input without a value that it depends on; empty where there is none.
std::string Interpreter::input_in(const Value& v) const {
  for (const UnboundInput& input : parameters_) {
    const auto bit = std::lower_bound(v.deps.begin(), v.deps.end(), input.first);
    if (bit != v.deps.end() && *bit < input.first + 64) return input.name;
  }
  return {};
}

Value Interpreter::known(const Expr& e, const char* what) {
  Value v = evaluate(e);
  if (!v.is_known()) {
    if (!v.is_same()) fail_not_known(e.at, v, what);
    v.deps.clear();
    v.cells.resize(1);
  }
  return v;
}

std::int64_t Interpreter::known_integer(const ExprPtr& e, const char* what) {
  const Value v = known(*e, what);
  if (v.is_real() || v.is_turns()) fail(e->at, what, " must be an integer");
  return as_signed(e->at, v, what);
}

std::int64_t Interpreter::as_signed(const Token& at, const Value& v, std::string_view what) const {
  if (v.base != Base::kInt && v.cells[0].i < 0) fail(at, what, " must be below 2^63");
  return v.cells[0].i;
}

std::int64_t Interpreter::known_size(const ExprPtr& e, const char* what) {
  const Value v = known(*e, what);
  if (v.base != Base::kInt && v.base != Base::kUint) {
    fail(e->at, what, " must be an integer");
  }
  return as_signed(e->at, v, what);
}

int Interpreter::width_of(const TypeName& type, int otherwise) {
  if (!type.width) return otherwise;
  const std::int64_t w = known_size(type.width, "a size");
  const bool is_value = type.base != Base::kBit && type.base != Base::kQubit;
  const auto most = is_value ? 64 : static_cast<std::int64_t>(qasm2::kMaxRegisterBits);
  if (w < (is_value ? 1 : 0)) {
    fail(type.width->at, is_value ? "a size must be at least 1" : "a size cannot be negative");
  }
  if (w > most) {
    fail(type.width->at, "a size of at most ", most, " is possible here");
  }
  return static_cast<int>(w);
}

// register == number, for registers too long for a table
std::optional<Term> Interpreter::comparison(const Expr& e) {
  const bool compares = e.kind == ExprKind::kBinary && e.links.size() == 1;
  if (!compares || (e.op != "==" && e.op != "!=")) return std::nullopt;
  for (const int side : {0, 1}) {
    const Expr &reg = *e.args[static_cast<std::size_t>(side)],
               &other = *e.args[static_cast<std::size_t>(1 - side)];
    if (!is_bits(reg) || depends_on_measurements(reg)) continue;
    if (other.kind != ExprKind::kBits && names_long_row(other)) return std::nullopt;
    const Wires w = wires(reg);
    if (w.quantum) return std::nullopt;
    std::size_t runtime = 0;
    for (std::size_t k = 0; k < w.ids.size(); ++k) {
      runtime += memory_.known(w.ids[k]) < 0;
      if (w.ids[k] != w.ids[0] + k || memory_.is_fixed(w.ids[k])) return std::nullopt;
    }
    if (runtime <= kMaxValueBits && (w.ids.size() <= 64 || runtime == 0)) return std::nullopt;
    Term term;
    term.has_value = false;
    term.test.first = w.ids[0];
    term.test.size = static_cast<std::uint32_t>(w.ids.size());
    term.test.negated = e.op == "!=";
    if (other.kind == ExprKind::kBits) {
      term.test.value.resize((other.op.size() + 63) / 64);
      std::size_t k = 0;
      for (auto c = other.op.rbegin(); c != other.op.rend(); ++c) {
        if (*c == '_') continue;
        if (*c == '1') term.test.value[k / 64] |= std::uint64_t{1} << (k % 64);
        ++k;
      }
    } else if (other.at.kind == TokenKind::kInteger &&
               other.at.text.find_first_not_of("0123456789") == other.at.text.npos) {
      term.test.value = qasm2::big_integer(other.at.text, w.ids.size() / 64 + 1);
    } else {
      const Value v = evaluate(other);
      if (!v.is_known() || v.is_real()) return std::nullopt;
      term.test.value = {static_cast<std::uint64_t>(v.cells[0].i)};
    }
    return term;
  }
  return std::nullopt;
}

std::optional<Term> Interpreter::condition(const Expr& e, bool& value) {
  if (auto term = comparison(e)) return term;
  return Memory::term_of(guarded(e.at, [&] { return truth(evaluate(e)); }), value);
}

void Interpreter::fail_unknown(const Token& name, const char* what,
                               const std::vector<std::string_view>& more) {
  std::vector<std::string_view> known = memory_.names();
  known.insert(known.end(), more.begin(), more.end());
  for (const std::string_view word : {"pi", "tau", "euler"}) known.push_back(word);
  for (const std::string_view f : function_names()) known.push_back(f);
  for (const auto& [key, definition] : subroutines_) known.push_back(key);
  fail(name, "unknown ", what, " '", name.text, "'", did_you_mean(name.text, known));
}

}  // namespace tilewave::language::qasm3
