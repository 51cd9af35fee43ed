#include "tilewave/statevec/cpu/held_scales.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::cpu {

namespace {

// Scales make amplitudes that are held larger or smaller: those of all bits together, and of one.
constexpr double kMostBits = 40, kMostBitsOfOne = 6;

double bits_of(double scale) { return std::abs(std::log2(std::abs(scale))); }

}  // namespace

HeldScales::HeldScales(const Plan& plan, const Pass& pass, const std::vector<OutlinePhase>& outline)
    : plan_(plan), pass_(pass), uses_(pass.actions.size()) {
  held_.fill(1);
  std::uint64_t takes = 0;  // positions whose next step is such a matrix
  bool any_leaves = false;
  for (auto phase = outline.rbegin(); phase != outline.rend(); ++phase) {
    for (auto step = phase->steps.rbegin(); step != phase->steps.rend(); ++step) {
      if (!step->action) {
        takes = 0;
        continue;
      }
      const Action& a = *step->action;
      Use& use = uses_[index_of(a)];
      use.factors = pair_factors_of(a, plan.matrices);
      std::uint64_t straight =
          a.kind == ActionKind::kMatrix && !a.control_mask ? a.target_mask() : 0;
      // of an inverted bit a part of the scale would belong to all amplitudes
      if (use.factors && use.factors->flips) straight = 0;
      use.leaves = takes & straight;
      any_leaves |= use.factors && use.leaves;
      takes = (takes & ~a.target_mask()) | straight;
    }
  }
  if (!any_leaves) return;
  double growth = 0;
  for (const Action& a : pass.actions) growth += detail::growth_bits(a, uses_[index_of(a)].factors);
  bits_left_ = std::clamp(detail::most_growth_bits(plan.precision) - growth, 0.0, kMostBits);
}

const PairFactors* HeldScales::factors_of(const Action& action) const {
  const auto& factors = uses_[index_of(action)].factors;
  return factors ? &*factors : nullptr;
}

double HeldScales::take(int position) {
  bits_left_ += bits_of(held_[position]);
  return std::exchange(held_[position], 1);
}

PairFactors HeldScales::take_factors(const Action& action) {
  const Use& use = uses_[index_of(action)];
  PairFactors factors = use.factors.value();
  std::array<int, 2> position;  // of the bits of an amplitude's number
  for (int b = 0; b < 2; ++b) position[b] = action.targets[factors.exchanged ? 1 - b : b];
  factors.take_scales({take(position[0]), take(position[1])});
  for (int b = 0; b < 2; ++b) {
    const int p = position[b];
    if (!(use.leaves >> p & 1)) continue;
    held_[p] = factors.leave_scale(b, std::exp2(std::min(bits_left_, kMostBitsOfOne)));
    bits_left_ -= bits_of(held_[p]);
  }
  return factors;
}

std::vector<cplx> HeldScales::take_matrix(const Action& action) {
  const auto* m = plan_.matrices.data() + action.first;
  std::vector<cplx> out(m, m + (std::size_t{1} << (2 * action.num_targets)));
  for (int k = 0; k < action.num_targets; ++k) {
    const double scale = take(action.targets[k]);
    if (scale == 1) continue;
    for (std::size_t e = 0; e < out.size(); ++e) {
      if (e >> k & 1) out[e] *= scale;
    }
  }
  return out;
}

}  // namespace tilewave::statevec::cpu
