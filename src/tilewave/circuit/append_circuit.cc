#include "tilewave/circuit/append_circuit.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/listing.h"

namespace tilewave::circuit {
namespace {

class Appender {
 public:
  Appender(Circuit& to, const Circuit& from, std::span<const Qubit> qubits,
           std::span<const Clbit> clbits, std::span<const Qubit> controls = {},
           std::uint64_t control_values = 0)
      : to_(to),
        from_(from),
        qubits_(qubits),
        clbits_(clbits),
        controls_(controls),
        control_values_(control_values & low_mask(static_cast<int>(controls.size()))),
        first_(to.ops().size()) {
    TW_CHECK(qubits.size() == from.num_qubits() && clbits.size() == from.num_clbits(),
             "every bit of an appended circuit has a place");
  }

  void run() {
    to_.all_or_nothing([&] { add_all(); });
  }

 private:
  void add_all() {
    std::vector<std::pair<std::size_t, std::size_t>> jumps;
    for (const std::string& name : from_.parameters()) to_.add_parameter(name);
    for (const Op& op : from_.ops()) {
      const std::size_t at = to_.ops().size();
      if (op.kind == OpKind::kJump) jumps.emplace_back(at, first_ + op.first_param);
      add(op);
      to_.finish_from(at, op.line, op.condition < 0 ? -1 : condition(op.condition));
      if (op.label) to_.set_label(at, label(op));
    }
    for (const auto& [jump, op] : jumps) to_.set_jump_target(jump, op);
    for (const std::string& name : from_.replaced()) to_.add_replaced(name);
    for (const std::string& note : from_.notes()) {
      if (std::ranges::find(to_.notes(), note) == to_.notes().end()) to_.add_note(note);
    }
  }

  void add(const Op& op) {
    std::vector<Qubit> placed(controls_.begin(), controls_.end());
    for (const Qubit q : from_.qubits(op)) placed.push_back(qubits_[q]);
    const std::span<const Qubit> all(placed);
    const std::size_t more = controls_.size();
    const std::uint64_t values =
        more >= 64 ? control_values_ : control_values_ | op.control_values << more;
    switch (op.kind) {
      case OpKind::kGate:
      case OpKind::kRuntimeGate: {
        const std::size_t extra = more + num_extra_controls(op);
        if (op.kind == OpKind::kGate) {
          const auto given = from_.params(op);
          std::vector<double> params(given.begin(), given.end());
          if (from_.has_affine()) {
            for (std::size_t k = 0; k < params.size(); ++k) {
              if (from_.affine(op, k)) params[k] = 0;
            }
          }
          to_.add_controlled_gate(op.gate, all.first(extra), values, all.subspan(extra), params);
          if (from_.has_affine()) {
            copy_affine(from_, static_cast<std::size_t>(&op - from_.ops().data()), to_,
                        to_.ops().size() - 1);
          }
          return;
        }
        std::vector<ClassicalExpr> angles;
        for (const ClassicalExpr& angle : from_.angles(op)) angles.push_back(expression(angle));
        to_.add_runtime_gate(op.gate, all.first(extra), values, all.subspan(extra),
                             std::move(angles), op.conjugate);
        return;
      }
      case OpKind::kMatrix:
        to_.add_matrix(all.first(more + op.num_controls), values,
                       all.subspan(more + op.num_controls), from_.matrix(op));
        return;
      case OpKind::kMeasure:
        to_.add_measure(all[0], clbits_[op.clbit]);
        return;
      case OpKind::kReset:
        to_.add_reset(all[0]);
        return;
      case OpKind::kChannel:
        to_.add_channel(all, from_.channels()[op.first_param]);
        return;
      case OpKind::kJump:
        to_.add_jump();
        return;
      case OpKind::kAssign: {
        const Assignment& a = from_.assignment(op);
        to_.add_assign({run_of(a.first, a.size), a.size, expression(a.value)});
        return;
      }
      case OpKind::kBarrier:
        to_.add_barrier();
        return;
    }
  }

  // Where `count` bits in a row begin.
  Clbit run_of(Clbit first, std::uint32_t count) const {
    if (count == 0) return 0;
    for (std::uint32_t k = 1; k < count; ++k) {
      if (clbits_[first + k] == clbits_[first] + k) continue;
      fail(ExitCode::kInput, "classical bits ", first, " to ", first + count - 1,
           " are used as one number: give them places in a row, in their order");
    }
    return clbits_[first];
  }

  ClassicalExpr expression(ClassicalExpr expr) const {
    for (ClassicalNode& node : expr.nodes) {
      if (node.op == ClassicalOp::kBits) {
        node.value = run_of(static_cast<Clbit>(node.value), node.width);
      }
    }
    return expr;
  }

  std::int32_t condition(std::int32_t index) {
    const auto [found, is_new] = conditions_.try_emplace(index, 0);
    if (!is_new) return found->second;
    Condition c = from_.conditions()[static_cast<std::size_t>(index)];
    if (c.expr.empty()) {
      c.first = run_of(c.first, c.size);
    } else {
      c.expr = expression(std::move(c.expr));
    }
    return found->second = to_.add_condition(std::move(c));
  }

  std::uint16_t label(const Op& op) {
    const auto [found, is_new] = labels_.try_emplace(op.label, std::uint16_t{0});
    if (is_new) found->second = to_.add_label(from_.label(op));
    return found->second;
  }

  Circuit& to_;
  const Circuit& from_;
  std::span<const Qubit> qubits_;
  std::span<const Clbit> clbits_;
  std::span<const Qubit> controls_;
  std::uint64_t control_values_;
  std::size_t first_;
  std::map<std::int32_t, std::int32_t> conditions_;
  std::map<std::uint16_t, std::uint16_t> labels_;
};

}  // namespace

void append_circuit(Circuit& to, const Circuit& from, std::span<const Qubit> qubits,
                    std::span<const Clbit> clbits) {
  Appender(to, from, qubits, clbits).run();
}

void append_controlled(Circuit& to, const Circuit& from, std::span<const Qubit> qubits,
                       std::span<const Qubit> controls, std::uint64_t control_values) {
  if (!from.is_unitary()) {
    fail(ExitCode::kInput,
         "only a circuit of gates can be put under controls: this one measures, resets, branches "
         "or has noise");
  }
  std::vector<Clbit> clbits(from.num_clbits());
  Appender(to, from, qubits, clbits, controls, control_values).run();
}

}  // namespace tilewave::circuit
