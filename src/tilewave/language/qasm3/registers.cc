// Registers and their parts: which qubits or classical bits an expression names, and its indices.
#include <algorithm>

#include "tilewave/base/concat.h"
#include "tilewave/base/units.h"
#include "tilewave/language/qasm2/registers.h"
#include "tilewave/language/qasm3/interpreter.h"

namespace tilewave::language::qasm3 {
namespace {

constexpr std::int64_t kMaxRange = 1 << 20;

}  // namespace

bool Interpreter::is_bits(const Expr& e) {
  const Expr& root = without_indices(e);
  if (root.kind != ExprKind::kName) return false;
  const Variable* v = memory_.find(root.op);
  return v && (v->kind == Variable::Kind::kBits || v->kind == Variable::Kind::kQubits);
}

bool Interpreter::is_qubits(const Expr& e) {
  const Expr* root = &e;
  while (root->kind == ExprKind::kIndex || root->kind == ExprKind::kSet ||
         (root->kind == ExprKind::kBinary && root->op == "++")) {
    if (root->args.empty()) return false;
    root = root->args[0].get();
  }
  if (root->kind != ExprKind::kName) return false;
  const Variable* v = memory_.find(root->op);
  return root->op[0] == '$' || (v && v->kind == Variable::Kind::kQubits);
}

// first:step:last, the last included
std::vector<std::int64_t> Interpreter::range(const Expr& e, std::int64_t first, std::int64_t step,
                                             std::int64_t last) {
  if (step == 0) fail(e.at, "the step of a range cannot be 0");
  std::vector<std::int64_t> out;
  for (std::int64_t i = first; step > 0 ? i <= last : i >= last;) {
    out.push_back(i);
    if (static_cast<std::int64_t>(out.size()) > kMaxRange) fail(e.at, "this range is too long");
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return out;
}

std::string Interpreter::out_of_range(std::int64_t index, std::size_t size) const {
  const std::string there = size == 0   ? "are no elements"
                            : size == 1 ? "is 1 element"
                                        : concat("are ", size, " elements, 0 to ", size - 1);
  return concat("index ", index, " is out of range: there ", there);
}

// An index that is written out is an error of the program wherever it stands; one that is computed
// only where the circuit comes there.
bool Interpreter::may_trap(const Expr& index) const {
  if (!may_trap_ || !may_not_run()) return false;
  const std::function<bool(const Expr&)> is_computed = [&](const Expr& e) {
    if (e.kind == ExprKind::kName) return !memory_.is_register(e.op);
    return std::any_of(e.args.begin(), e.args.end(),
                       [&](const ExprPtr& part) { return part && is_computed(*part); });
  };
  return is_computed(index);
}

void Interpreter::fail_index(const Expr& index, std::int64_t i, std::size_t size) const {
  const std::string problem = out_of_range(i, size);
  if (in_a_case() || may_trap(index)) throw ImpossibleCase{index.at, problem};
  fail(index.at, problem);
}

std::vector<std::size_t> Interpreter::indices(const Expr& e, std::size_t size, bool& is_array) {
  const auto n = static_cast<std::int64_t>(size);
  std::vector<std::size_t> out;
  const auto add = [&](const Expr& from, std::int64_t i) {
    if (i < -n || i >= n) fail_index(from, i, size);
    out.push_back(static_cast<std::size_t>(i < 0 ? i + n : i));
  };
  is_array = e.kind == ExprKind::kRange || e.kind == ExprKind::kSet;
  if (e.kind == ExprKind::kSet) {
    for (const ExprPtr& one : e.args) {
      const std::int64_t* given = assumed(*one);
      add(*one, given ? *given : known_integer(one, "an index"));
    }
    return out;
  }
  if (e.kind == ExprKind::kRange) {
    bool in_case = false;
    const auto place = [&](std::size_t k, std::int64_t otherwise) {
      if (!e.args[k]) return otherwise;
      if (const std::int64_t* given = assumed(*e.args[k])) {
        in_case = true;
        return *given;
      }
      const std::int64_t i = known_integer(e.args[k], "an index");
      return i < 0 ? i + n : i;
    };
    const std::int64_t step = e.args[1] ? known_integer(e.args[1], "a step") : 1;
    if (step == 0) fail(e.at, "the step of a range cannot be 0");
    const std::int64_t first = place(0, step > 0 ? 0 : n - 1);
    std::int64_t last = place(2, step > 0 ? n - 1 : 0);
    if (e.args[0]) add(*e.args[0], first), out.clear();
    // The end of a range with a step is a bound: its last element may lie before. One that is just
    // behind the last index is left out, as in the specification's [0:2:12] of twelve qubits.
    if (e.args[2] && last >= n && step > 1 && !in_case) {
      const std::int64_t end = first + (last - first) / step * step;
      if (end <= n) last = std::min(end, n - 1);
      if (end == n) {
        note(e.args[2]->at, "range",
             concat("this range names index ", n, " of ", counted(size, "element"),
                    ", which is left out"));
      }
    }
    if (e.args[2]) add(*e.args[2], last), out.clear();
    for (std::int64_t i = first; step > 0 ? i <= last : i >= last; i += step) {
      out.push_back(static_cast<std::size_t>(i));
    }
    if (out.empty() && !in_case) fail(e.at, "this range is empty");
    return out;
  }
  if (const std::int64_t* given = assumed(e)) {
    add(e, *given);
    return out;
  }
  const Value i = evaluate(e);
  if (!i.is_same()) {
    if (!input_in(i).empty()) fail_not_known(e.at, i, "an index");
    fail(e.at,
         "an index depends on a measurement, which this part of a register may not: index it in "
         "the statement that uses the qubit");
  }
  if (i.is_real() || i.is_turns()) fail(e.at, "an index must be an integer");
  add(e, as_signed(e.at, i, "an index"));
  return out;
}

Interpreter::Wires Interpreter::wires(const Expr& e) {
  Wires out;
  if (e.kind == ExprKind::kName) {
    if (e.op[0] == '$') {
      const std::uint64_t k =
          e.op.size() < 2 || e.op.find_first_not_of("0123456789", 1) != e.op.npos
              ? qasm2::kMaxRegisterBits
              : qasm2::small_integer(e.op.substr(1), qasm2::kMaxRegisterBits - 1);
      if (k >= qasm2::kMaxRegisterBits) fail(e.at, "a physical qubit is $ and a small number");
      if (in_gate_) fail(e.at, "a gate works on its own qubits");
      if (!circuit_.qregs().empty()) {
        fail(e.at, "physical qubits cannot stand beside declared ones");
      }
      has_physical_ = true;
      const auto q = static_cast<std::uint32_t>(k);
      if (q >= circuit_.num_qubits()) circuit_.add_qubits(q + 1 - circuit_.num_qubits());
      out.ids = {q};
      return out;
    }
    const Variable* v = memory_.find(e.op);
    if (!v) fail_unknown(e.at, "register");
    if (v->kind == Variable::Kind::kValue || v->kind == Variable::Kind::kArray) {
      const char* what = v->kind == Variable::Kind::kValue ? "' is a value" : "' is an array";
      fail(e.at, "'", e.op, what, ", a register is needed");
    }
    if (v->alias) return wires(*v->alias);
    out.ids = v->wires;
    out.quantum = v->kind == Variable::Kind::kQubits;
    out.is_array = v->is_array;
    return out;
  }
  if (e.kind == ExprKind::kIndex) {
    const Wires all = wires(*e.args[0]);
    if (!all.is_array) fail(e.at, "a single bit has no index");
    out.quantum = all.quantum;
    for (const std::size_t i : indices(*e.args[1], all.ids.size(), out.is_array)) {
      out.ids.push_back(all.ids[i]);
    }
    return out;
  }
  if ((e.kind == ExprKind::kBinary && e.op == "++") ||
      (e.kind == ExprKind::kSet && !e.args.empty())) {
    out = wires(*e.args[0]);
    for (std::size_t k = 1; k < e.args.size(); ++k) {
      const Wires more = wires(*e.args[k]);
      if (more.quantum != out.quantum) fail(e.args[k]->at, "only registers of one kind are joined");
      out.ids.insert(out.ids.end(), more.ids.begin(), more.ids.end());
    }
    out.is_array = true;
    return out;
  }
  fail(e.at, "expected a register or a part of one");
}

Interpreter::Wires Interpreter::qubits(const Expr& e) {
  Wires w = wires(e);
  if (!w.quantum) fail(e.at, "this is a classical register, a qubit is needed");
  return w;
}

}  // namespace tilewave::language::qasm3
