// Calls of subroutines: they are run where they stand, with names of their own.
#include <algorithm>
#include <utility>

#include "tilewave/base/units.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

// Whether a return stands inside of a statement, where a condition may be before it.
bool returns_inside(const Block& body, bool is_inside = false) {
  return std::any_of(body.begin(), body.end(), [&](const auto& s) {
    if (s->kind == StmtKind::kReturn) return is_inside;
    return returns_inside(s->body, true) || returns_inside(s->otherwise, true) ||
           std::any_of(s->cases.begin(), s->cases.end(),
                       [](const Case& c) { return returns_inside(c.body, true); });
  });
}

}  // namespace

void Interpreter::need_arguments_of(const Token& at, const Definition& d, std::size_t has) const {
  if (has == d.params.size()) return;
  fail(at, "'", at.text, "' takes ", counted(d.params.size(), "argument"), ", not ", has);
}

Value Interpreter::call_once(const Token& at, const std::vector<ExprPtr>& args) {
  if (in_gate_) fail(at, "a gate cannot call a subroutine");
  const Definition& d = *subroutines_.at(at.text);
  need_arguments_of(at, d, args.size());
  check_steps(at, d.least_steps);
  std::vector<Variable> values;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const Parameter& p = d.params[k];
    if (p.type.is_array) {
      values.push_back(array_argument(p, *args[k]));
      continue;
    }
    Variable v;
    v.base = p.type.base;
    if (v.base == Base::kQubit) {
      const Wires w = qubits(*args[k]);
      const auto wants = static_cast<std::size_t>(width_of(p.type, 1));
      if (w.ids.size() != wants) {
        fail(args[k]->at, "'", p.name.text, "' takes ", counted(wants, "qubit"), ", not ",
             w.ids.size());
      }
      v.kind = Variable::Kind::kQubits;
      v.wires = w.ids;
      v.is_array = p.type.width != nullptr;
    } else {
      v.width = width_of(p.type);
      v.value = cast_at(args[k]->at, evaluate(*args[k]), v.base, v.width);
      guarded(args[k]->at, [&] { memory_.compute_here(v.value, at.line); });
    }
    values.push_back(std::move(v));
  }
  if (++call_depth_ > kMaxCallDepth) fail(at, "subroutines call each other more than 200 deep");
  const std::size_t frame = memory_.push_frame();
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (memory_.declared_here(d.params[k].name.text)) {
      fail(d.params[k].name, "the name '", d.params[k].name.text, "' is used twice");
    }
    memory_.declare(d.params[k].name.text, std::move(values[k]));
  }
  const bool was_subroutine = in_subroutine_;
  std::vector<Loop> outer_loops;
  outer_loops.swap(loops_);
  in_subroutine_ = true;
  Call outer = std::exchange(call_, Call{memory_.terms().size(), running_loops_});
  const bool has_value = d.result.base != Base::kVoid;
  const int width = has_value ? width_of(d.result) : 0;
  if (returns_inside(d.body)) {
    Variable returned;
    returned.kind = Variable::Kind::kBits, returned.base = Base::kBit;
    returned.wires = memory_.hidden_bits(1);
    call_.returned = returned.wires[0];
    memory_.declare(kReturned, std::move(returned));
    if (has_value) memory_.declare(kReturnValue, Value::zero(d.result.base, width));
  }
  if (statements(d.body) == Flow::kEnd) fail(d.name, "'end' cannot stand in a subroutine");
  Value out = Value::integer(0);
  if (has_value) {
    if (!call_.result && call_.changes == 0) {
      fail(d.name, "'", d.name.text, "' ends without returning a value");
    }
    out = call_.result ? guarded(d.name, [&] { return cast(*call_.result, d.result.base, width); })
                       : memory_.find(kReturnValue)->value;
  }
  loops_.swap(outer_loops);
  call_ = std::move(outer);
  in_subroutine_ = was_subroutine;
  memory_.pop_frame(frame);
  --call_depth_;
  return out;
}

}  // namespace tilewave::language::qasm3
