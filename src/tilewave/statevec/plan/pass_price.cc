#include "tilewave/statevec/plan/pass_price.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/pair_factors.h"

namespace tilewave::statevec::detail {

double loaded_amplitudes(const Pass& pass, int num_qubits) {
  return std::ldexp(1, num_qubits - std::popcount(pass.known_zero_before));
}

double worked_amplitudes(const Pass& pass, int num_qubits) {
  std::uint64_t active = 0;
  for (const int p : pass.active) active |= bit(p);
  return std::ldexp(1, num_qubits - std::popcount(pass.known_zero_before & ~active));
}

void price_pass(Pass& pass, const Plan& plan, const CostModel& cost) {
  const double worked = worked_amplitudes(pass, plan.num_qubits);
  pass.bytes = static_cast<double>(amplitude_bytes(plan.precision)) *
               (loaded_amplitudes(pass, plan.num_qubits) + worked);
  double seconds = 0, flops = 0;
  for (const Action& a : pass.actions) {
    const double share = std::ldexp(1, -std::popcount(a.control_mask));
    switch (a.kind) {
      case ActionKind::kLift:
        seconds += cost.lift_s + (a.pre_turns ? 0.5 * cost.multiply_s : 0);
        flops += 4 + (a.pre_turns ? 3 : 0);
        break;
      case ActionKind::kFlip:
        seconds += share * cost.flip_s;
        break;
      case ActionKind::kRotate:
        seconds += share * cost.rotate_s;
        flops += share * 6;
        break;
      case ActionKind::kMatrix: {
        const bool factored = cost.factored_share < 1 && pair_factors_of(a, plan.matrices);
        seconds +=
            share * cost.multiply_s * (1 << a.num_targets) * (factored ? cost.factored_share : 1);
        flops += factored ? 16 : share * 8 * (1 << a.num_targets);
        break;
      }
      case ActionKind::kPhase:
        seconds += cost.phase_s;
        flops += 12;
        break;
    }
  }
  pass.flops = flops * worked;
  const bool wide =
      cost.mixed_tiles && static_cast<int>(pass.active.size()) == cost.wide_tile_qubits;
  const double memory_s = pass.bytes / (wide ? cost.wide_bandwidth : cost.bandwidth);
  pass.predicted_s =
      std::max(memory_s, (wide ? cost.wide_exposed : cost.exposed) * memory_s + seconds * worked) +
      cost.pass_overhead_s;
  if (cost.price) pass.predicted_s = cost.price(plan, pass, cost);
}

}  // namespace tilewave::statevec::detail
