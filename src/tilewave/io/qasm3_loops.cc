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

#include "tilewave/base/error.h"
#include "tilewave/io/qasm3_interpreter.h"

namespace tilewave::io::qasm3 {
namespace {

constexpr std::uint64_t kMaxIterations = 1 << 20;  // of a loop that is unrolled

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
    add_written(s->body, names);
    add_written(s->otherwise, names);
    for (const Case& c : s->cases) add_written(c.body, names);
  }
}

}  // namespace

// Where neither bit is set; none where that is known.
std::optional<Term> Interpreter::still_in(const Loop& loop) const {
  std::vector<std::uint32_t> bits;
  for (const std::int64_t bit : {loop.broken, loop.skipped}) {
    if (bit >= 0) bits.push_back(static_cast<std::uint32_t>(bit));
  }
  if (bits.empty()) return std::nullopt;
  Value neither = binary("==", memory_.read(bits), Value::integer(0));
  if (neither.is_same()) return std::nullopt;
  return Memory::term_of(std::move(neither));
}

Interpreter::Flow Interpreter::leave(const Stmt& s) {
  if (loops_.empty()) fail(s.at, concat({"'", s.at.text, "' stands in a loop"}));
  Loop& loop = loops_.back();
  if (memory_.terms().size() == loop.terms) {
    return s.kind == StmtKind::kBreak ? Flow::kBreak : Flow::kContinue;
  }
  std::int64_t& bit = s.kind == StmtKind::kBreak ? loop.broken : loop.skipped;
  try {
    if (bit < 0) bit = memory_.hidden_bits(1)[0];
    memory_.write({static_cast<std::uint32_t>(bit)}, Value::boolean(true), s.at.line);
  } catch (const ValueError& error) {
    fail(s.at, error.problem);
  }
  ++loop.changes;
  return Flow::kNext;
}

Interpreter::Flow Interpreter::end() {
  const std::int32_t condition = memory_.condition_index();
  if (condition < 0 && !memory_.in_running_loop()) return Flow::kEnd;
  ends_.push_back(circuit_.add_jump(condition));
  return Flow::kNext;
}

// A further turn begins; where there was a break before, it happens under the term.
std::optional<Term> Interpreter::next_turn(std::uint32_t line) {
  Loop& loop = loops_.back();
  if (loop.skipped >= 0) memory_.clear(static_cast<std::uint32_t>(loop.skipped), line);
  return still_in(loop);
}

Interpreter::Flow Interpreter::for_loop(const Stmt& s) {
  std::vector<std::int64_t> values;
  if (s.value->kind == ExprKind::kRange) {
    if (!s.value->args[2]) fail(s.value->at, "the range of a loop needs an end");
    values = range(*s.value);
  } else if (s.value->kind == ExprKind::kSet) {
    for (const ExprPtr& e : s.value->args) values.push_back(known_integer(e, "a loop's range"));
  } else {
    const Value v = known(s.value, "a loop's range");
    if (v.base != Base::kBit) fail(s.value->at, "a loop runs over a range, a set or bits");
    for (int k = 0; k < v.width; ++k) values.push_back(v.cells[0].i >> k & 1);
  }
  loops_.push_back({memory_.terms().size()});
  Flow flow = Flow::kNext;
  const Base base = s.type.base == Base::kVoid ? Base::kInt : s.type.base;
  const int width = width_of(s.type, 64);
  for (const std::int64_t i : values) {
    charge(s.at, 1);
    memory_.push_scope();
    Variable v;
    v.base = base, v.width = width, v.value = cast(Value::integer(i), base, width);
    memory_.declare(s.name.text, std::move(v));
    const std::optional<Term> inside = next_turn(s.at.line);
    if (inside) memory_.push(*inside);
    flow = block(s.body);
    if (inside) memory_.pop();
    memory_.pop_scope();
    if (flow != Flow::kNext && flow != Flow::kContinue) break;
  }
  loops_.pop_back();
  return flow == Flow::kBreak || flow == Flow::kContinue ? Flow::kNext : flow;
}

Interpreter::Flow Interpreter::while_loop(const Stmt& s) {
  loops_.push_back({memory_.terms().size()});
  Flow flow = Flow::kNext;
  for (std::uint64_t turns = 0;; ++turns) {
    if (turns == kMaxIterations) fail(s.at, "this loop runs more than 1048576 times");
    charge(s.at, 1);
    std::optional<Term> inside = next_turn(s.at.line);
    const bool had_break = inside.has_value();
    if (had_break) memory_.push(std::move(*inside));
    bool value = false;
    std::optional<Term> holds = condition(*s.value, value);
    if (holds || (value && had_break)) {
      try {
        running_loop(s, std::move(holds));
      } catch (const ValueError& error) {
        fail(s.at, error.problem);
      }
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
void Interpreter::running_loop(const Stmt& s, std::optional<Term> entry) {
  std::vector<std::string_view> written;
  add_written(s.body, written);
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
  const Flow flow = block(s.body);
  memory_.close_turn(written, s.at.line);
  if (flow != Flow::kBreak) {
    loops_.back().skipped = -1;  // a continue ends here
    std::optional<Term> inside = still_in(loops_.back());
    const bool had_break = inside.has_value();
    if (had_break) memory_.push(std::move(*inside));
    bool value = false;
    std::optional<Term> again = condition(*s.value, value);
    if (again || value) circuit_.set_jump_target(jump_under(std::move(again)), head);
    if (had_break) memory_.pop();
  }
  loops_.pop_back();
  --running_loops_;
  memory_.leave_body(outer);
  circuit_.set_jump_target(to_exit, circuit_.ops().size());
}

}  // namespace tilewave::io::qasm3
