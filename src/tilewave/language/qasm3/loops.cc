// Loops. What is known while reading is unrolled. A while loop whose end depends on a measurement
// becomes jumps of the circuit: turns known beforehand first, then
//
//   to the body where the condition holds, else to the exit
//   body; variables back into their bits; to the body where the condition holds
//   exit
//
// with every variable that the body writes in classical bits. A break or continue under a condition
// sets a hidden bit under which the rest of the turn, and the next ones, do not happen.
#include <algorithm>
#include <cmath>
#include <deque>

#include "tilewave/base/error.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr std::uint64_t kMaxIterations = 1 << 20;  // of a loop that is unrolled
constexpr std::string_view kReturnNames[] = {" returned", " return value"};
constexpr std::string_view kCounter = " counter", kStep = " step", kLast = " last";

void add_root(const Expr* e, std::vector<std::string_view>& names) {
  while (e && e->kind == ExprKind::kIndex) e = e->args[0].get();
  if (!e) return;
  if (e->kind == ExprKind::kSet || (e->kind == ExprKind::kBinary && e->op == "++")) {
    for (const ExprPtr& part : e->args) add_root(part.get(), names);
  } else if (e->kind == ExprKind::kName &&
             std::find(names.begin(), names.end(), e->op) == names.end()) {
    names.push_back(e->op);
  }
}

// The names that a block may write; subroutines write nothing outside of themselves.
void add_written(const Block& body, std::vector<std::string_view>& names) {
  for (const auto& s : body) {
    if (s->kind == StmtKind::kAssign || s->kind == StmtKind::kMeasure) {
      for (const ExprPtr& e : s->args) add_root(e.get(), names);
    }
    if (s->kind == StmtKind::kAlias) add_root(s->value.get(), names);
    if (s->kind == StmtKind::kReturn) {
      for (const std::string_view name : kReturnNames) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    add_written(s->body, names);
    add_written(s->otherwise, names);
    for (const Case& c : s->cases) add_written(c.body, names);
  }
}

// The names that an expression gives to subroutines.
void add_passed(const ExprPtr& e, std::vector<std::string_view>& names) {
  if (!e) return;
  for (const ExprPtr& part : e->args) {
    if (e->kind == ExprKind::kCall) add_root(part.get(), names);
    add_passed(part, names);
  }
}

void add_passed(const Block& body, std::vector<std::string_view>& names) {
  for (const auto& s : body) {
    add_passed(s->value, names);
    for (const ExprPtr& e : s->args) {
      if (s->kind == StmtKind::kCall) add_root(e.get(), names);
      add_passed(e, names);
    }
    add_passed(s->body, names);
    add_passed(s->otherwise, names);
    for (const Case& c : s->cases) {
      for (const ExprPtr& e : c.values) add_passed(e, names);
      add_passed(c.body, names);
    }
  }
}

}  // namespace

std::optional<Term> Interpreter::still_here(bool& never) const {
  std::vector<std::uint32_t> bits;
  const auto add = [&](std::int64_t bit) {
    if (bit >= 0) bits.push_back(static_cast<std::uint32_t>(bit));
  };
  if (!loops_.empty()) add(loops_.back().broken), add(loops_.back().skipped);
  add(call_.returned);
  never = false;
  if (bits.empty()) return std::nullopt;
  bool none = true;
  auto term = Memory::term_of(binary("==", memory_.read(bits), Value::integer(0)), none);
  never = !none;
  return term;
}

Interpreter::Flow Interpreter::leave(const Stmt& s) {
  if (loops_.empty()) fail(s.at, "'", s.at.text, "' stands in a loop");
  Loop& loop = loops_.back();
  if (memory_.terms().size() == loop.terms) {
    return s.kind == StmtKind::kBreak ? Flow::kBreak : Flow::kContinue;
  }
  std::int64_t& bit = s.kind == StmtKind::kBreak ? loop.broken : loop.skipped;
  guarded(s.at, [&] {
    if (bit < 0) bit = memory_.hidden_bits(1)[0];
    memory_.write({static_cast<std::uint32_t>(bit)}, Value::boolean(true), s.at.line);
  });
  ++loop.changes;
  return Flow::kNext;
}

Interpreter::Flow Interpreter::end(std::uint32_t line) {
  const std::int32_t condition = memory_.condition_index();
  if (condition < 0 && !memory_.in_running_loop()) return Flow::kEnd;
  write_phase();
  write_outputs(line);
  ends_.push_back(circuit_.add_jump(condition));
  return Flow::kNext;
}

// A further turn begins; where there was a break before, it happens under the term.
std::optional<Term> Interpreter::next_turn(std::uint32_t line, bool& never) {
  Loop& loop = loops_.back();
  if (loop.skipped >= 0) memory_.clear(static_cast<std::uint32_t>(loop.skipped), line);
  return still_here(never);
}

// first, first + step, ... up to the last that does not pass the end, which counts as met within
// the rounding of the sums: [0:0.1:1] has eleven values.
std::deque<Value> Interpreter::real_range(const Expr& e, double first, double step, double last) {
  if (step == 0) fail(e.at, "the step of a range cannot be 0");
  const double turns = std::floor((last - first) / step + 1e-9);
  if (!(turns < static_cast<double>(kMaxIterations))) fail(e.at, "this range is too long");
  std::deque<Value> out;
  for (double k = 0; k <= turns; ++k) out.push_back(Value::real(first + k * step));
  return out;
}

std::optional<std::deque<Value>> Interpreter::loop_values(const Stmt& s) {
  std::deque<Value> values;
  const Expr& over = *s.value;
  if (over.kind == ExprKind::kRange) {
    const auto& parts = over.args;
    if (!parts[2]) fail(over.at, "the range of a loop needs an end");
    Value first = parts[0] ? evaluate(*parts[0]) : Value::integer(0);
    const Memory::Keep keep_first(memory_, first);
    Value step = parts[1] ? evaluate(*parts[1]) : Value::integer(1);
    const Memory::Keep keep_step(memory_, step);
    const Value last = evaluate(*parts[2]);
    bool real = false, same = true;
    for (const Value* v : std::initializer_list<const Value*>{&first, &step, &last}) {
      if (v->base == Base::kDuration || v->is_turns()) {
        fail(over.at, "a range must be of integers or floats");
      }
      real |= v->is_real();
      same &= v->is_same();
    }
    if (!same) {
      for (const Value* v : std::initializer_list<const Value*>{&first, &step, &last}) {
        if (!input_in(*v).empty()) fail_not_known(over.at, *v, "the range of a loop");
      }
      if (real) fail(over.at, "a range of floats must be known before the circuit runs");
      guarded(over.at, [&] { running_for(s, first, step, last); });
      return std::nullopt;
    }
    if (real) {
      const auto number = [](const Value& v) { return cast(v, Base::kFloat, 64).cells[0].d; };
      return real_range(over, number(first), number(step), number(last));
    }
    const auto end = [&](const Value& v) { return as_signed(over.at, v, "an end of a range"); };
    for (const std::int64_t i : range(over, end(first), end(step), end(last))) {
      values.push_back(Value::integer(i));
    }
  } else if (over.kind == ExprKind::kSet) {
    for (const ExprPtr& e : over.args) values.push_back(evaluate(*e));
  } else if (const std::optional<Variable> array = array_view(over)) {
    if (array->dims.size() != 1) fail(over.at, "a loop runs over an array of one dimension");
    for (const auto& element : *array->elements) values.push_back(element->value);
  } else if (is_bits(over) && !depends_on_measurements(over)) {
    const Wires w = wires(over);
    if (w.quantum) fail(over.at, "a loop runs over values, not over qubits: use their indices");
    for (const std::uint32_t wire : w.ids) values.push_back(memory_.read({wire}));
  } else {
    const Value v = evaluate(over);
    if (v.base != Base::kBit) fail(over.at, "a loop runs over a range, a set, an array or bits");
    for (int k = 0; k < v.width; ++k) {
      const Value one = binary("&", binary(">>", v, Value::integer(k)), Value::integer(1));
      values.push_back(cast(one, Base::kBit, 1));
    }
  }
  return values;
}

Interpreter::Flow Interpreter::for_loop(const Stmt& s) {
  std::optional<std::deque<Value>> values = loop_values(s);
  if (!values) return Flow::kNext;
  std::deque<Memory::Keep> keeps;
  for (Value& v : *values) {
    if (!v.is_known()) keeps.emplace_back(memory_, v);
  }
  check_turns(s, values->size());
  loops_.push_back({memory_.terms().size()});
  Flow flow = Flow::kNext;
  const bool has_type = s.type.base != Base::kVoid;
  for (const Value& value : *values) {
    charge(s.at, 1);
    bool never = false;
    const std::optional<Term> inside = next_turn(s.at.line, never);
    if (never) break;
    memory_.push_scope();
    const Base base = has_type ? s.type.base : value.is_real() ? value.base : Base::kInt;
    const int width = has_type ? width_of(s.type) : default_width(base);
    memory_.declare(s.name.text, guarded(s.value->at, [&] { return cast(value, base, width); }));
    if (inside) memory_.push(*inside);
    flow = block(s.body);
    if (inside) memory_.pop();
    memory_.pop_scope();
    if (flow != Flow::kNext && flow != Flow::kContinue) break;
  }
  loops_.pop_back();
  return flow == Flow::kBreak || flow == Flow::kContinue ? Flow::kNext : flow;
}

// for i in [first:step:last], known only while the circuit runs:
//   counter = first; while (counter has not passed last) { i = counter; body; counter += step; }
Interpreter::Flow Interpreter::running_for(const Stmt& s, Value first, Value step, Value last) {
  const Base base = s.type.base == Base::kVoid ? Base::kInt : s.type.base;
  const int width = s.type.base == Base::kVoid ? 64 : width_of(s.type);
  memory_.push_scope();
  memory_.declare(kCounter, cast(first, Base::kInt, 64));
  memory_.declare(kStep, cast(step, Base::kInt, 64));
  memory_.declare(kLast, cast(last, Base::kInt, 64));
  const auto holds = [&](bool& value) {
    const Value at = memory_.find(kCounter)->value, by = memory_.find(kStep)->value;
    const Value end = memory_.find(kLast)->value, zero = Value::integer(0);
    const Value up = binary("&&", binary(">", by, zero), binary("<=", at, end));
    const Value down = binary("&&", binary("<", by, zero), binary(">=", at, end));
    return Memory::term_of(binary("||", up, down), value);
  };
  const auto body = [&] {
    memory_.push_scope();
    memory_.declare(s.name.text, cast(memory_.find(kCounter)->value, base, width));
    const Flow flow = block(s.body);
    memory_.pop_scope();
    Variable& counter = *memory_.find(kCounter);
    memory_.assign(counter, binary("+", counter.value, memory_.find(kStep)->value), s.at.line);
    return flow;
  };
  loops_.push_back({memory_.terms().size()});
  bool value = false;
  std::optional<Term> entry = holds(value);
  if (entry || value) {
    std::vector<std::string_view> written{kCounter};
    add_written(s.body, written);
    running_loop(s, std::move(entry), holds, body, std::move(written));
  }
  loops_.pop_back();
  memory_.pop_scope();
  return Flow::kNext;
}

Interpreter::Flow Interpreter::while_loop(const Stmt& s) {
  loops_.push_back({memory_.terms().size()});
  Flow flow = Flow::kNext;
  for (std::uint64_t turns = 0;; ++turns) {
    if (turns == kMaxIterations) fail(s.at, "this loop runs more than 1048576 times");
    charge(s.at, 1);
    bool never = false;
    std::optional<Term> inside = next_turn(s.at.line, never);
    if (never) break;
    const bool had_break = inside.has_value();
    if (had_break) memory_.push(std::move(*inside));
    bool value = false;
    std::optional<Term> holds = condition(*s.value, value);
    if (holds || (value && had_break)) {
      guarded(s.at, [&] {
        std::vector<std::string_view> written;
        add_written(s.body, written);
        running_loop(
            s, std::move(holds), [&](bool& known) { return condition(*s.value, known); },
            [&] { return block(s.body); }, std::move(written));
      });
      value = false;
    } else if (value) {
      flow = block(s.body);
    }
    if (had_break) memory_.pop();
    if (!value || (flow != Flow::kNext && flow != Flow::kContinue)) break;
  }
  loops_.pop_back();
  return flow == Flow::kBreak || flow == Flow::kContinue ? Flow::kNext : flow;
}

// Turns from here on, the first one where `entry` holds (always, without it).
void Interpreter::running_loop(const Stmt& s, std::optional<Term> entry,
                               const std::function<std::optional<Term>(bool&)>& holds,
                               const std::function<Flow()>& body,
                               std::vector<std::string_view> written) {
  std::vector<std::string_view> passed;  // a subroutine may write into an array
  add_passed(s.body, passed);
  for (const std::string_view name : passed) {
    const Variable* v = memory_.find(name);
    const bool is_new = std::find(written.begin(), written.end(), name) == written.end();
    if (v && v->kind == Variable::Kind::kArray && is_new) written.push_back(name);
  }
  write_phase();  // of what happens once
  memory_.enter_loop(written, s.at.line);

  const auto jump_under = [&](std::optional<Term> term) {
    const bool has_term = term.has_value();
    if (has_term) memory_.push(std::move(*term));
    const std::size_t jump = circuit_.add_jump(memory_.condition_index());
    if (has_term) memory_.pop();
    return jump;
  };
  const std::size_t to_body = jump_under(std::move(entry)), to_exit = circuit_.add_jump();
  const std::size_t head = circuit_.ops().size();
  circuit_.set_jump_target(to_body, head);

  const std::size_t outer = memory_.enter_body();
  ++running_loops_;
  loops_.push_back({memory_.terms().size()});
  const Flow flow = body();
  memory_.close_turn(written, s.at.line);
  if (flow != Flow::kBreak) {
    loops_.back().skipped = -1;  // a continue ends here
    bool never = false;
    std::optional<Term> inside = still_here(never);
    const bool had_break = inside.has_value();
    if (had_break) memory_.push(std::move(*inside));
    bool value = false;
    std::optional<Term> again = holds(value);
    if (!never && (again || value)) circuit_.set_jump_target(jump_under(std::move(again)), head);
    if (had_break) memory_.pop();
  }
  loops_.pop_back();
  --running_loops_;
  memory_.leave_body(outer);
  circuit_.set_jump_target(to_exit, circuit_.ops().size());
}

}  // namespace tilewave::language::qasm3
