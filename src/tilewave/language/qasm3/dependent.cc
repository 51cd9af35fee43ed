// Indices and angles that depend on measurements.
//
// A qubit q[i] is one of the n of its register: the statement stands once for each of them, under
// the condition that i names it. A bit that is read is shifted out of its register. Angles become
// expressions that the circuit computes when it reaches the gate. An index out of range is an error
// of the running circuit, where it is reached.
#include <algorithm>
#include <map>
#include <utility>

#include "tilewave/base/concat.h"
#include "tilewave/base/error.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::ClassicalExpr;
using circuit::ClassicalOp;
using circuit::ClassicalType;
using circuit::GateId;

constexpr std::string_view kResult = " result";  // of a subroutine called in several cases

bool is_signed(const Value& v) { return v.base == Base::kInt; }

// Whether every value that may occur is an index of n elements, negative ones from the end.
bool always_fits(const Value& v, std::int64_t n) {
  if (v.is_expr()) return !is_signed(v) && v.width < 20 && std::int64_t{1} << v.width <= n;
  return std::all_of(v.cells.begin(), v.cells.end(),
                     [&](const Cell& c) { return c.i >= -n && c.i < n; });
}

}  // namespace

// Whether evaluating does something: it measures or calls a subroutine.
bool Interpreter::has_effects(const Expr& e) const {
  if (e.kind == ExprKind::kMeasure) return true;
  if (e.kind == ExprKind::kCall && subroutines_.count(e.op)) return true;
  return std::any_of(e.args.begin(), e.args.end(),
                     [&](const ExprPtr& part) { return part && has_effects(*part); });
}

const std::int64_t* Interpreter::assumed(const Expr& index) const {
  for (auto a = assumed_.rbegin(); a != assumed_.rend(); ++a) {
    if (a->index == &index && a->depth == call_depth_) return &a->value;
  }
  return nullptr;
}

// Where the running circuit comes here, the index must be one of n elements.
void Interpreter::check_index(const Value& v, std::size_t size, std::uint32_t line) {
  const auto n = static_cast<std::int64_t>(size);
  if (always_fits(v, n)) return;
  ClassicalExpr e =
      to_expr(cast(binary("+", cast(v, Base::kInt, 64), Value::integer(n)), Base::kUint, 64));
  e.add({ClassicalOp::kBounded, ClassicalType::kUint, 64,
         static_cast<std::int32_t>(e.nodes.size()) - 1, -1, static_cast<std::uint64_t>(2 * n)});
  memory_.check(std::move(e), line);
}

// An error of the running circuit where it comes here.
void Interpreter::add_trap(std::uint32_t line) {
  ClassicalExpr e;
  const std::int32_t one = e.constant(ClassicalType::kUint, 64, 1);
  e.add({ClassicalOp::kBounded, ClassicalType::kUint, 64, one, -1, 1});
  memory_.check(std::move(e), line);
}

void Interpreter::find_dependent(const Expr& index, std::size_t size, Dependents& out) {
  if (index.kind == ExprKind::kInteger || assumed(index)) return;
  Value v = evaluate(index);
  if (v.is_same() && !has_effects(index)) return;
  if (v.is_real() || v.is_turns()) fail(index.at, "an index must be an integer");
  out.list.push_back({&index, std::move(v), size});
  out.keeps.emplace_back(memory_, out.list.back().value);
}

void Interpreter::find_dependent(const Expr& e, Dependents& out) {
  if (e.kind == ExprKind::kSet || (e.kind == ExprKind::kBinary && e.op == "++")) {
    for (const ExprPtr& part : e.args) find_dependent(*part, out);
  }
  if (e.kind == ExprKind::kName) {
    const Variable* v = memory_.find(e.op);
    if (v && v->alias) find_dependent(*v->alias, out);
    return;
  }
  if (e.kind != ExprKind::kIndex || !is_bits(e)) return;
  find_dependent(*e.args[0], out);
  const Expr& inside = *e.args[1];
  std::vector<const Expr*> indices{&inside};
  if (inside.kind == ExprKind::kSet || inside.kind == ExprKind::kRange) {
    indices.clear();
    for (std::size_t k = 0; k < inside.args.size(); ++k) {
      const bool is_step = inside.kind == ExprKind::kRange && k == 1;
      if (inside.args[k] && !is_step) indices.push_back(inside.args[k].get());
    }
  }
  const bool literal = std::all_of(indices.begin(), indices.end(), [](const Expr* index) {
    return index->kind == ExprKind::kInteger;
  });
  if (literal || depends_on_measurements(*e.args[0])) return;
  const std::size_t size = wires(*e.args[0]).ids.size();
  for (const Expr* index : indices) find_dependent(*index, size, out);
}

bool Interpreter::depends_on_measurements(const Expr& part) {
  switch (part.kind) {
    case ExprKind::kName: {
      const Variable* v = memory_.find(part.op);
      return v && v->alias;
    }
    case ExprKind::kIndex: {
      if (depends_on_measurements(*part.args[0])) return true;
      const Expr& inside = *part.args[1];
      const auto depends = [&](const ExprPtr& e) {
        return e && e->kind != ExprKind::kInteger && !assumed(*e) && !has_effects(*e) &&
               !evaluate(*e).is_same();
      };
      if (inside.kind != ExprKind::kRange && inside.kind != ExprKind::kSet) {
        return depends(part.args[1]);
      }
      return std::any_of(inside.args.begin(), inside.args.end(), depends);
    }
    default:
      return std::any_of(part.args.begin(), part.args.end(),
                         [&](const ExprPtr& e) { return depends_on_measurements(*e); });
  }
}

// The same part of a register, with its indices as they are now.
ExprPtr Interpreter::with_kept_indices(const ExprPtr& e, bool& depends) {
  if (e->kind == ExprKind::kName) {
    const Variable* v = memory_.find(e->op);
    depends |= v && v->alias;
    return v && v->alias ? v->alias : e;
  }
  auto out = std::make_shared<Expr>(*e);
  if (e->kind != ExprKind::kIndex) {
    const bool joins = e->kind == ExprKind::kSet || e->kind == ExprKind::kBinary;
    if (!joins) return e;
    for (ExprPtr& part : out->args) part = with_kept_indices(part, depends);
    return out;
  }
  out->args[0] = with_kept_indices(e->args[0], depends);
  const Expr& inside = *e->args[1];
  if (inside.kind != ExprKind::kRange && inside.kind != ExprKind::kSet) {
    out->args[1] = with_kept_value(e->args[1], depends);
    return out;
  }
  auto list = std::make_shared<Expr>(inside);
  for (ExprPtr& one : list->args) {
    if (one) one = with_kept_value(one, depends);
  }
  out->args[1] = std::move(list);
  return out;
}

// A variable that holds what the expression is now.
ExprPtr Interpreter::with_kept_value(const ExprPtr& e, bool& depends) {
  if (e->kind == ExprKind::kInteger) return e;
  Value v = evaluate(*e);
  if (v.is_real() || v.is_turns()) fail(e->at, "an index must be an integer");
  depends |= !v.is_same();
  texts_.push_back(concat(" index ", texts_.size()));
  memory_.declare(texts_.back(), std::move(v));
  return make_expr(ExprKind::kName, e->at, texts_.back());
}

// All wires that a part of a register may be.
Interpreter::Wires Interpreter::all_wires(const Expr& e) {
  if (e.kind == ExprKind::kIndex) return all_wires(*e.args[0]);
  if (e.kind == ExprKind::kName || e.args.empty()) return wires(e);
  Wires out = all_wires(*e.args[0]);
  for (std::size_t k = 1; k < e.args.size(); ++k) {
    const Wires more = all_wires(*e.args[k]);
    if (more.quantum != out.quantum) fail(e.args[k]->at, "only registers of one kind are joined");
    out.ids.insert(out.ids.end(), more.ids.begin(), more.ids.end());
  }
  return out;
}

void Interpreter::for_each_case(std::initializer_list<const Expr*> operands, std::uint32_t line,
                                const std::function<void()>& f) {
  for_each_case(std::vector<const Expr*>(operands), line, f);
}

void Interpreter::for_each_case(const std::vector<const Expr*>& operands, std::uint32_t line,
                                const std::function<void()>& f) {
  Dependents found;
  for (const Expr* e : operands) find_dependent(*e, found);
  run_cases(found, line, f);
}

void Interpreter::run_cases(Dependents& found, std::uint32_t line, const std::function<void()>& f) {
  if (found.list.empty()) return f();
  ImpossibleCase last;
  run_cases(found, 0, Value::boolean(true), line, [&] {
    ++found.cases;
    const int outer = std::exchange(case_depth_, call_depth_);
    bool impossible = false;
    try {
      f();
    } catch (const ImpossibleCase& problem) {
      last = problem;
      impossible = true;
    }
    case_depth_ = outer;
    if (!impossible) return;
    ++found.impossible;
    add_trap(line);
  });
  const bool never = found.impossible && found.impossible == found.cases;
  if (never && !may_not_run()) fail(last.at, last.problem);
}

// Of the indices before k, `so_far` says where they are what they are taken for.
void Interpreter::run_cases(Dependents& found, std::size_t k, const Value& so_far,
                            std::uint32_t line, const std::function<void()>& f) {
  if (k == found.list.size()) return f();
  Dependent& d = found.list[k];
  const auto run = [&](std::int64_t index, const Value& where) {
    const Trimmed assumed_indices(assumed_);
    assumed_.push_back({d.index, call_depth_, index});
    run_cases(found, k + 1, where, line, f);
  };
  if (d.value.is_same()) return run(as_signed(d.index->at, d.value, "an index"), so_far);
  check_index(d.value, d.size, line);
  const auto n = static_cast<std::int64_t>(d.size);
  for (std::int64_t i = 0; i < n; ++i) {
    charge(d.index->at, 1);
    Value hit = binary("==", d.value, Value::integer(i));
    if (is_signed(d.value)) {
      hit = binary("||", hit, binary("==", d.value, Value::integer(i - n)));
    }
    if (hit.is_same() && hit.cells[0].i == 0) continue;
    Value both = fit_a_table(so_far, hit) ? binary("&&", so_far, hit) : so_far;
    if (both.is_same() && both.cells[0].i == 0) continue;  // as the ends in q[i:i + 1]
    const Memory::Keep keep(memory_, both);
    memory_.push(Memory::term_of(hit));
    run(i, both);
    memory_.pop();
  }
}

// Element `index` of the n bits of a value, as a shift.
Value Interpreter::place(const Value& index, std::size_t size, const Token& at) {
  if (index.is_real() || index.is_turns()) fail(at, "an index must be an integer");
  if (guards_.empty()) check_index(index, size, at.line);
  Value i = cast(index, Base::kInt, 64);
  if (is_signed(index)) {
    const Value negative = cast(binary("<", i, Value::integer(0)), Base::kInt, 64);
    i = binary("+", i, binary("*", negative, Value::integer(static_cast<std::int64_t>(size))));
  }
  return i;
}

// The value of an index that depends on measurements. One that is known is assumed until the
// statement ends, so that it is not evaluated twice.
std::optional<Value> Interpreter::dependent_index(const Expr& index) {
  if (index.kind == ExprKind::kInteger || index.kind == ExprKind::kRange ||
      index.kind == ExprKind::kSet || assumed(index)) {
    return std::nullopt;
  }
  Value v = evaluate(index);
  if (!v.is_same()) return v;
  if (has_effects(index) && !v.is_real()) {
    assumed_.push_back({&index, call_depth_, as_signed(index.at, v, "an index")});
  }
  return std::nullopt;
}

Value Interpreter::pick(const Value& all, const Value& index, std::size_t size, const Token& at) {
  const Value moved = binary(">>", cast(all, Base::kUint, 64), place(index, size, at));
  return cast(binary("&", moved, Value::integer(1)), Base::kBit, 1);
}

// A gate whose angles the running circuit computes.
void Interpreter::apply_at_run(const Token& at, const Gate& gate, std::span<const Value> params,
                               std::span<const circuit::Qubit> qubits) {
  charge_operations(at, 1);
  if (!gate.table) return apply_definition(at, *gate.definition, params, qubits);
  if (!has_library_) note_library(at, gate.table->id);
  const auto as_angle = [](const Value& v) { return to_expr(cast(v, Base::kFloat, 64)); };
  std::vector<ClassicalExpr> angles;
  for (const Value& v : params) angles.push_back(as_angle(v));
  const std::size_t first = out_->ops().size();
  out_->add_runtime_gate(gate.table->id, {}, ~std::uint64_t{0}, qubits, std::move(angles));
  if (gate.has_phase) {  // half of theta, or the negative of half of phi + lambda
    const std::size_t last = params.size() - 1;
    const Value phase =
        gate.table->id == GateId::kU
            ? binary("*", params[0], Value::real(0.5))
            : binary("*", binary("+", params[last - 1], params[last]), Value::real(-0.5));
    std::vector<ClassicalExpr> one;
    one.push_back(as_angle(phase));
    out_->add_runtime_gate(GateId::kGlobalPhase, {}, ~std::uint64_t{0}, {}, std::move(one));
  }
  finish_from(first, at.line);
}

// A gate under a root, with angles that depend on measurements: once for every different choice of
// them, under the condition that they are these.
void Interpreter::call_in_cases(const Stmt& s, const Gate& gate, const Angles& params) {
  for (const Value& v : params.values) {
    if (!input_in(v).empty()) fail_not_known(s.name, v, "an angle of a gate under a root");
  }
  try {
    Value all = Value::integer(0);  // of all bits that the angles depend on
    for (const Value& v : params.values) {
      all = combine(all, v, [](Cell, Cell) { return Cell{}; });
    }
    std::map<std::vector<double>, std::vector<std::size_t>> choices;
    std::vector<Value> tables;
    for (const Value& v : params.values) {
      tables.push_back(combine(all, cast(v, Base::kFloat, 64), [](Cell, Cell b) { return b; }));
    }
    for (std::size_t cell = 0; cell < all.cells.size(); ++cell) {
      std::vector<double> numbers;
      for (const Value& table : tables) numbers.push_back(table.cells[cell].d);
      choices[numbers].push_back(cell);
    }
    for (const auto& [numbers, cells] : choices) {
      Value hit = all;
      hit.base = Base::kBool, hit.width = 1;
      for (const std::size_t cell : cells) hit.cells[cell].i = 1;
      const bool always = cells.size() == hit.cells.size();
      if (!always) memory_.push(Memory::term_of(std::move(hit)));
      call_on_operands(s, gate, {numbers, {}});
      if (!always) memory_.pop();
    }
  } catch (const ValueError& error) {
    fail(s.name, "the angles of a gate under a root: ", error.problem);
  }
}

// A call whose qubits depend on measurements: in each case a call of its own.
Value Interpreter::call_subroutine(const Token& at, const std::vector<ExprPtr>& args) {
  Dependents found;
  for (const ExprPtr& e : args) {
    if (is_qubits(*e)) find_dependent(*e, found);
  }
  if (found.list.empty()) return call_once(at, args);
  const TypeName& type = subroutines_.at(at.text)->result;
  const bool has_value = type.base != Base::kVoid;
  memory_.declare(kResult, has_value ? Value::zero(type.base, width_of(type)) : Value());
  run_cases(found, at.line, [&] {
    const Value out = call_once(at, args);
    if (has_value) memory_.assign(*memory_.find(kResult), out, at.line);
  });
  return memory_.find(kResult)->value;
}

}  // namespace tilewave::language::qasm3
