#include "tilewave/statevec/plan/planner.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/place.h"
#include "tilewave/statevec/plan/schedule.h"
#include "tilewave/statevec/plan/search.h"
#include "tilewave/statevec/plan/shard.h"

namespace tilewave::statevec {

namespace {

constexpr int kMinExchangePosition =
    12;  // runs of at least 2^12 amplitudes where there is a choice

// Steps of a search for fewer passes: as much time of one core as four passes less would save.
std::uint64_t search_steps(const Plan& plan, const PlanOptions& options) {
  constexpr double kStep_s = 0.35e-6;
  double most_bytes = 0;
  for (const Pass& pass : plan.passes) most_bytes = std::max(most_bytes, pass.bytes);
  const double saved_s = options.cost.exposed * most_bytes / options.cost.bandwidth;
  return static_cast<std::uint64_t>(std::min(4 * saved_s / kStep_s, 4e5));
}

}  // namespace

Layout Layout::identity() {
  Layout layout;
  for (int q = 0; q < 64; ++q) layout.position[q] = static_cast<std::uint8_t>(q);
  return layout;
}

std::uint64_t Layout::physical(std::uint64_t index, int num_qubits) const {
  index ^= flips;
  std::uint64_t out = 0;
  for (int q = 0; q < num_qubits; ++q) out |= (index >> q & 1) << position[q];
  return out;
}

std::uint64_t Layout::logical(std::uint64_t physical_index, int num_qubits) const {
  std::uint64_t out = 0;
  for (int q = 0; q < num_qubits; ++q) out |= (physical_index >> position[q] & 1) << q;
  return out ^ flips;
}

bool Layout::is_identity(int num_qubits) const {
  for (int q = 0; q < num_qubits; ++q) {
    if (position[q] != q) return false;
  }
  return flips == 0;
}

Plan make_plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               const PlanOptions& options) {
  const int n = static_cast<int>(circuit.num_qubits());
  std::uint64_t zero_wires = 0;
  if (options.from_zeros) {
    zero_wires = low_mask(n);
  } else if (options.known_zero) {
    for (int q = 0; q < n && q < 64; ++q) {
      if (options.known_zero >> options.layout.position[q] & 1) zero_wires |= bit(q);
    }
  }
  detail::Lowered lowered =
      detail::lower(circuit, ops, options.layout.flips, zero_wires, options.cost);

  const int local = n - options.cost.shard_bits;
  std::vector<detail::Need> needs;
  needs.reserve(lowered.actions.size());
  for (const Action& a : lowered.actions) {
    detail::Need need;
    if (a.kind == ActionKind::kPhase) {
      need.z = lowered.terms[a.first].mask;
      need.weight = 0.05f;
    } else {
      need.x = a.target_mask();
      need.z = a.control_mask;
      need.weight = a.kind == ActionKind::kMatrix ? 2.0f * static_cast<float>(a.num_targets) : 1.0f;
    }
    needs.push_back(need);
  }
  const auto plan_once = [&](const PlanOptions& chosen, std::uint64_t search_steps) {
    const int tile = std::min(chosen.cost.tile_qubits, local);
    const int row = std::min(chosen.cost.row_bits, tile);
    detail::ScheduleOptions limits;
    limits.num_wires = n;
    limits.tile = tile;
    limits.search_steps = search_steps;
    const bool is_mixed = chosen.cost.mixed_tiles && tile == chosen.cost.wide_tile_qubits;
    if (is_mixed && search_steps > 0) limits.narrow_tile = tile - 1;
    for (int q = 0; q < n; ++q) {
      if (chosen.layout.position[q] < row) limits.first_row |= bit(q);
    }
    if (chosen.cost.shard_bits == 0) {
      std::vector<detail::WirePass> passes = detail::kept_schedule(needs, limits);
      if (is_mixed) detail::narrow(passes, needs, tile - 1);
      return detail::place(
          lowered, detail::limit_growth(std::move(passes), lowered.actions, chosen.precision), n,
          chosen);
    }
    detail::ShardOptions shards;
    shards.num_wires = n;
    shards.shard_bits = chosen.cost.shard_bits;
    shards.zero_wires = zero_wires;
    for (int q = 0; q < n; ++q) {
      if (chosen.layout.position[q] >= local) shards.remote |= bit(q);
      if (chosen.layout.position[q] < std::min(kMinExchangePosition, local / 2)) {
        shards.low |= bit(q);
      }
    }
    return detail::place_shards(lowered, needs, detail::split_shards(needs, shards), limits,
                                chosen);
  };
  const auto plan_with = [&](const PlanOptions& chosen) {
    Plan plan = plan_once(chosen, 0);
    const std::uint64_t steps = search_steps(plan, chosen);
    if (plan.passes.size() < 2 || steps == 0) return plan;
    Plan other = plan_once(chosen, steps);
    return other.predicted_s < plan.predicted_s ? other : plan;
  };
  Plan plan = plan_with(options);
  if (options.cost.wide_tile_qubits > options.cost.tile_qubits &&
      options.cost.tile_qubits < local && plan.passes.size() > 1 &&
      plan.predicted_s >= options.cost.wide_from_s * static_cast<double>(plan.passes.size())) {
    PlanOptions wide = options;
    wide.cost.tile_qubits = options.cost.wide_tile_qubits;
    if (!options.cost.mixed_tiles) {
      wide.cost.bandwidth = options.cost.wide_bandwidth;
      wide.cost.exposed = options.cost.wide_exposed;
    }
    Plan other = plan_with(wide);
    constexpr double kClearly = 0.995;  // predictions are not better than that
    if (other.predicted_s < kClearly * plan.predicted_s) return other;
  }
  return plan;
}

Plan make_plan(const circuit::Circuit& circuit, const PlanOptions& options) {
  return make_plan(circuit, circuit.ops(), options);
}

}  // namespace tilewave::statevec
