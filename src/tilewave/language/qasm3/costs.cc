// How many steps statements take at least, as their text shows: definitions that double each other
// and nested loops are refused before their 2^60 steps are tried. What stands under a condition or
// behind a statement that may leave counts as nothing.
#include <algorithm>
#include <cmath>

#include "tilewave/base/saturating.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

bool may_leave(const Block& body);

bool may_leave(const Stmt& s) {
  return s.kind == StmtKind::kBreak || s.kind == StmtKind::kContinue ||
         s.kind == StmtKind::kReturn || s.kind == StmtKind::kEnd || may_leave(s.body) ||
         may_leave(s.otherwise) || std::any_of(s.cases.begin(), s.cases.end(), [](const Case& c) {
           return may_leave(c.body);
         });
}

bool may_leave(const Block& body) {
  return std::any_of(body.begin(), body.end(), [](const auto& s) { return may_leave(*s); });
}

// An integer as it is written, if it is one.
bool is_written(const ExprPtr& e, std::int64_t& out) {
  if (!e) return false;
  if (e->kind == ExprKind::kInteger && !e->is_long) {
    out = e->integer;
    return true;
  }
  const bool minus = e->kind == ExprKind::kUnary && e->op == "-" && is_written(e->args[0], out);
  if (minus) out = -out;
  return minus;
}

// Turns of a loop over a range of written integers, or over a set; 0 where they are not written.
std::uint64_t least_turns(const Expr& over) {
  if (over.kind == ExprKind::kSet) return over.args.size();
  std::int64_t first = 0, step = 1, last = 0;
  if (over.kind != ExprKind::kRange || !is_written(over.args[2], last) ||
      (over.args[0] && !is_written(over.args[0], first)) ||
      (over.args[1] && !is_written(over.args[1], step)) || step == 0) {
    return 0;
  }
  const double turns = std::floor((static_cast<double>(last) - static_cast<double>(first)) /
                                  static_cast<double>(step)) +
                       1;
  return turns <= 0 ? 0 : static_cast<std::uint64_t>(std::min(turns, 1e18));
}

}  // namespace

std::uint64_t Interpreter::least_steps(const Block& body) const {
  std::uint64_t sum = 0;
  for (const auto& s : body) {
    sum = saturating_add(sum, least_steps(*s));
    if (may_leave(*s)) break;
  }
  return sum;
}

std::uint64_t Interpreter::least_steps(const Stmt& s) const {
  std::uint64_t steps = 1;
  if (s.value) steps = saturating_add(steps, least_steps(*s.value));
  for (const ExprPtr& e : s.args) steps = saturating_add(steps, least_steps(*e));
  if (s.kind == StmtKind::kBlock) return saturating_add(steps, least_steps(s.body));
  if (s.kind == StmtKind::kFor) {
    const std::uint64_t turn = may_leave(s.body) ? 1 : saturating_add(1, least_steps(s.body));
    return saturating_add(steps,
                          may_leave(s.body) ? 1 : saturating_multiply(least_turns(*s.value), turn));
  }
  if (s.kind != StmtKind::kCall) return steps;
  std::uint64_t called = 1;
  if (const auto gate = gates_.find(s.name.text); gate != gates_.end()) {
    called = gate->second.definition->least_steps;
  } else if (const auto def = subroutines_.find(s.name.text); def != subroutines_.end()) {
    called = def->second->least_steps;
  }
  for (const Modifier& m : s.modifiers) {
    std::int64_t power = 1;
    if (m.kind != ModifierKind::kPow) continue;
    if (!is_written(m.argument, power)) return steps;
    called = saturating_multiply(called, static_cast<std::uint64_t>(power < 0 ? -power : power));
  }
  return saturating_add(steps, called);
}

void Interpreter::check_turns(const Stmt& loop, std::uint64_t turns) {
  if (may_leave(loop.body)) return;
  check_steps(loop.at, saturating_multiply(turns, saturating_add(1, least_steps(loop.body))));
}

// Of the subroutines that an expression calls whatever its values are.
std::uint64_t Interpreter::least_steps(const Expr& e) const {
  std::uint64_t steps = 0;
  if (e.kind == ExprKind::kCall) {
    const auto def = subroutines_.find(e.op);
    if (def != subroutines_.end()) steps = def->second->least_steps;
  }
  const bool may_skip = e.kind == ExprKind::kBinary && (e.op == "&&" || e.op == "||");
  const std::size_t count = may_skip ? 1 : e.args.size();
  for (std::size_t k = 0; k < count; ++k) {
    if (e.args[k]) steps = saturating_add(steps, least_steps(*e.args[k]));
  }
  return steps;
}

}  // namespace tilewave::language::qasm3
