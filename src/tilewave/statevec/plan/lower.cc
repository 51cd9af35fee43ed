// Rewriting rules. At any time the true state is  X^F . D . (M_0 x M_1 x ...) . (actions so far)
// |start>  where F is a set of pending flips, D a phase polynomial and M_w a pending 2x2 matrix on
// wire w. A gate U enters from the left:
//   X, SWAP         toggle F, or rename wires: free.
//   diagonal        joins D.
//   1-qubit         joins M_w; if D ties w to other wires, M_w and those terms are written out
//                   first.
//   controlled X    writes out M of its wires and the terms of D with its target, then itself;
//                   cx D cx becomes D'.
//   controlled 2x2  = phases . controlled real rotation . phases.
//   anything else   a matrix action.
// Writing out a unitary M: M = c e^{ig} . diag(1, e^{ip}) . X^a . [[1,-t],[t,1]] . diag(1, e^{il})
// with |t| <= 1; the lift is an action, e^{il} its pre-phase term, X^a moves through D into F, the
// rest joins D. So every action but matrices is real.
#include "tilewave/statevec/plan/lower.h"

#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/fuse.h"
#include "tilewave/statevec/plan/lowering.h"

namespace tilewave::statevec::detail {

void Lowering::touch(int index, std::uint64_t x, std::uint64_t z) {
  for_each_bit(x, [&](int w) { last_any_[w] = last_x_[w] = index; });
  for_each_bit(z, [&](int w) { last_any_[w] = index; });
}

void Lowering::write(Action action) {
  const int index = static_cast<int>(out_.actions.size());
  Before before{-1, -1, -1};
  if (action.kind == ActionKind::kFlip && std::has_single_bit(action.control_mask)) {
    const int c = std::countr_zero(action.control_mask), t = action.targets[0];
    before = {last_any_[t], last_any_[c], last_x_[t]};
  }
  touch(index, action.target_mask(), action.control_mask);
  zero_ &= ~action.target_mask();
  out_.actions.push_back(action);
  before_.push_back(before);
  dead_.push_back(false);
}

void Lowering::write_phase(std::uint64_t mask, std::uint64_t turns) {
  if (mask == 0) {
    d_.add(0, turns);
    return;
  }
  if (is_negligible(turns)) return;
  Action action;
  action.kind = ActionKind::kPhase;
  action.first = static_cast<std::uint32_t>(out_.terms.size());
  action.count = 1;
  out_.terms.push_back({mask, turns});
  touch(static_cast<int>(out_.actions.size()), 0, mask);
  out_.actions.push_back(action);
  before_.push_back({-1, -1, -1});
  dead_.push_back(false);
}

// Writes out every term of D with w; the M of the wires they touch come first.
void Lowering::write_terms(int w) {
  for_each_bit(d_.neighbours(w) & pending_mask_, [&](int r) { write_pending(r); });
  std::vector<PhaseTerm> terms;
  d_.take_terms_with(w, [&](std::uint64_t mask, std::uint64_t turns) {
    terms.push_back({mask, turns});
  });
  for (const PhaseTerm& t : terms) write_phase(t.mask, t.turns);
}

void Lowering::write_pending(int w) {
  if (!has_pending(w)) return;
  pending_mask_ &= ~bit(w);
  Matrix2 m = pending_[w];
  pending_[w] = {};
  const std::uint64_t before = std::exchange(turns_before_[w], 0);
  if (!m.is_unitary()) {
    write_phase(bit(w), before);
    Action action;
    action.kind = ActionKind::kMatrix;
    action.num_targets = 1;
    action.targets[0] = static_cast<std::uint8_t>(w);
    action.first = static_cast<std::uint32_t>(out_.matrices.size());
    out_.matrices.insert(out_.matrices.end(), m.m, m.m + 4);
    write(action);
    return;
  }
  if (std::abs(m.m[2]) > std::abs(m.m[0])) {  // X^a with a = 1
    std::swap(m.m[0], m.m[2]);
    std::swap(m.m[1], m.m[3]);
    flips_ ^= bit(w);
    d_.flip(w);  // D X = X D'
  }
  if (m.is_diagonal()) {
    const std::uint64_t g = turns_of(arg(m.m[0]));
    d_.add(0, g);
    add_phase(bit(w), turns_of(arg(m.m[3])) - g + before);
    return;
  }
  const auto [g, post, pre] = euler_turns(m);
  d_.add(0, g);
  if (!(zero_ & bit(w))) write_phase(bit(w), pre + before);
  Action action;
  action.kind = ActionKind::kLift;
  action.num_targets = 1;
  action.targets[0] = static_cast<std::uint8_t>(w);
  action.m[0] = std::abs(m.m[2]) / std::abs(m.m[0]);
  write(action);
  d_.add(bit(w), post);
}

Lowered Lowering::finish() {
  for (int w = 0; w < n_; ++w) write_pending(w);
  for (int w = 0; w < n_; ++w) write_terms(w);
  Lowered result = std::move(out_);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < result.actions.size(); ++k) {
    if (!dead_[k]) result.actions[kept++] = result.actions[k];
  }
  result.actions.resize(kept);
  result.wire_of = wire_of_;
  result.flips = flips_;
  result.global_turns = d_.constant();
  result.zero_wires = zero_;
  return result;
}

Lowered lower(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
              std::uint64_t flips, std::uint64_t zero_wires, const CostModel& cost) {
  const int n = static_cast<int>(circuit.num_qubits());
  if (n > kMaxQubits) {
    fail(ExitCode::kResources, "a state vector of ", n, " qubits needs 2^", n,
         " amplitudes: at most ", kMaxQubits, " qubits can be planned");
  }
  Lowering lowering(n, flips, zero_wires);
  Fused fused = fuse_pairs(circuit, ops, cost);
  cancel_hadamards(fused, circuit);
  gather_parities(fused, circuit);
  if (cost.factored_share < 1) reduce_pairs(fused, circuit);
  InterruptCounter now_and_then(1024);
  for (const Element& e : fused.elements) {
    now_and_then.step();
    if (e.matrix >= 0) {
      lowering.apply_matrix({}, 0, {e.qubits, static_cast<std::size_t>(e.num_qubits)},
                            fused.matrices[e.matrix]);
      continue;
    }
    const circuit::Op& op = *e.op;
    if (op.kind != circuit::OpKind::kGate && op.kind != circuit::OpKind::kMatrix) {
      fail(ExitCode::kInternal, "only gates can be planned");
    }
    if (op.num_targets > kMaxTargets) {
      fail(ExitCode::kInput, "a matrix on ", op.num_targets, " qubits is too large: at most ",
           kMaxTargets, " are supported");
    }
    lowering.apply_matrix(circuit.controls(op), op.control_values, circuit.targets(op),
                          circuit.matrix(op));
  }
  Lowered result = lowering.finish();
  result.num_gates = ops.size();
  return result;
}

}  // namespace tilewave::statevec::detail
