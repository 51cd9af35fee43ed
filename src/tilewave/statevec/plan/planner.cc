#include "tilewave/statevec/plan/planner.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/place.h"
#include "tilewave/statevec/plan/schedule.h"
#include "tilewave/statevec/plan/shard.h"

namespace tilewave::statevec {

namespace {

constexpr int kMinExchangePosition =
    12;  // runs of at least 2^12 amplitudes where there is a choice

// A lift multiplies amplitudes by up to sqrt(1 + t^2), which its pass divides out when it stores.
// In between they must stay in the range of the numbers (2^127, 2^1023), far from its end.
double most_growth_bits(Precision precision) { return precision == Precision::kSingle ? 90 : 900; }

// Splits passes whose lifts together grow more than that; the parts have the same wires.
std::vector<detail::WirePass> limit_growth(std::vector<detail::WirePass> passes,
                                           const std::vector<Action>& actions, double most_bits) {
  std::vector<detail::WirePass> out;
  for (detail::WirePass& pass : passes) {
    double bits = 0;
    std::size_t first = 0;
    for (std::size_t k = 0; k < pass.actions.size(); ++k) {
      const Action& a = actions[pass.actions[k]];
      if (a.kind != ActionKind::kLift) continue;
      bits += 0.5 * std::log2(1 + a.m[0] * a.m[0]);
      if (bits <= most_bits) continue;
      detail::WirePass part{pass.active, pass.row, {}};
      part.actions.assign(pass.actions.begin() + static_cast<std::ptrdiff_t>(first),
                          pass.actions.begin() + static_cast<std::ptrdiff_t>(k));
      out.push_back(std::move(part));
      first = k;
      bits = 0;
    }
    if (first > 0) {
      pass.actions.erase(pass.actions.begin(),
                         pass.actions.begin() + static_cast<std::ptrdiff_t>(first));
    }
    out.push_back(std::move(pass));
  }
  return out;
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
  std::vector<detail::Segment> segments;
  if (options.cost.shard_bits > 0) {
    detail::ShardOptions shards;
    shards.num_wires = n;
    shards.shard_bits = options.cost.shard_bits;
    shards.zero_wires = zero_wires;
    for (int q = 0; q < n; ++q) {
      if (options.layout.position[q] >= local) shards.remote |= bit(q);
      if (options.layout.position[q] < std::min(kMinExchangePosition, local / 2)) {
        shards.low |= bit(q);
      }
    }
    segments = detail::split_shards(needs, shards);
  }
  const auto plan_with = [&](const PlanOptions& chosen) {
    const int tile = std::min(chosen.cost.tile_qubits, local);
    const int row = std::min(chosen.cost.row_bits, tile);
    detail::ScheduleOptions limits;
    limits.num_wires = n;
    limits.tile = tile;
    for (int q = 0; q < n; ++q) {
      if (chosen.layout.position[q] < row) limits.first_row |= bit(q);
    }
    const auto limited = [&](std::vector<detail::WirePass> passes) {
      return limit_growth(std::move(passes), lowered.actions, most_growth_bits(chosen.precision));
    };
    if (chosen.cost.shard_bits > 0) {
      return detail::place_shards(lowered, needs, segments, limits, limited, chosen);
    }
    return detail::place(lowered, limited(detail::schedule(needs, limits)), n, chosen);
  };
  Plan plan = plan_with(options);
  if (options.cost.wide_tile_qubits > options.cost.tile_qubits &&
      options.cost.tile_qubits < local && plan.passes.size() > 1) {
    PlanOptions wide = options;
    wide.cost.tile_qubits = options.cost.wide_tile_qubits;
    wide.cost.bandwidth = options.cost.wide_bandwidth;
    Plan other = plan_with(wide);
    if (other.predicted_s < plan.predicted_s) return other;
  }
  return plan;
}

Plan make_plan(const circuit::Circuit& circuit, const PlanOptions& options) {
  return make_plan(circuit, circuit.ops(), options);
}

}  // namespace tilewave::statevec
