#include "tilewave/statevec/plan/planner.h"

#include <algorithm>
#include <optional>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/move_passes.h"
#include "tilewave/statevec/plan/place.h"
#include "tilewave/statevec/plan/schedule.h"
#include "tilewave/statevec/plan/search.h"
#include "tilewave/statevec/plan/shard.h"
#include "tilewave/statevec/plan/side_by_side.h"
#include "tilewave/statevec/plan/verify.h"

namespace tilewave::statevec {

namespace {

// Runs of at least 2^12 amplitudes where there is a choice.
constexpr int kMinExchangePosition = 12;

constexpr double kStep_s = 0.2e-6;  // of a search for fewer passes

// Steps of such a search: as much time of one core as some passes less would save, a
// power of two so that the same plan is found whenever rates are measured.
std::uint64_t search_steps(const Plan& plan, const PlanOptions& options) {
  double most_bytes = 0;
  for (const Pass& pass : plan.passes) most_bytes = std::max(most_bytes, pass.bytes);
  const double saved_s = options.cost.exposed * most_bytes / options.cost.bandwidth;
  const double share = options.cost.shard_bits > 0 ? 0.5 : 4;  // of a pass
  return std::bit_floor(static_cast<std::uint64_t>(std::min(share * saved_s / kStep_s, 7e4)));
}

// Whether a search is predicted to save more than it takes although the plan runs once. What it
// saves is not known before: a few percent of a plan of several passes, as a rule.
bool pays_at_once(const Plan& greedy, const PlanOptions& options) {
  constexpr double kSavedShare = 0.04;
  if (greedy.passes.size() < 3) return false;
  const double search_s = 2 * kStep_s * static_cast<double>(search_steps(greedy, options));
  return kSavedShare * greedy.predicted_s > search_s;
}

constexpr std::uint64_t kForcedSteps = 1 << 13;

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

std::uint64_t Layout::positions(std::uint64_t qubits) const {
  std::uint64_t mask = 0;
  for_each_bit(qubits, [&](int q) { mask |= bit(position[static_cast<std::size_t>(q)]); });
  return mask;
}

bool Layout::is_identity(int num_qubits) const {
  for (int q = 0; q < num_qubits; ++q) {
    if (position[q] != q) return false;
  }
  return flips == 0;
}

namespace {

std::uint64_t zero_wires_of(const PlanOptions& options, int num_qubits) {
  if (options.from_zeros) return low_mask(num_qubits);
  std::uint64_t wires = 0;
  for (int q = 0; q < num_qubits && options.known_zero; ++q) {
    if (options.known_zero >> options.layout.position[q] & 1) wires |= bit(q);
  }
  return wires;
}

using Way = PlanWay;

Rewrites rewrites_of(const Way& way) {
  Rewrites all;
  if (way.search_steps > 0) all.add(Rewrite::kSearched);
  if (way.wide) all.add(Rewrite::kWideTile);
  if (way.narrowed) all.add(Rewrite::kNarrowed);
  if (way.one_more) all.add(Rewrite::kOneMore);
  return all;
}

// Those among which predictions decide: none that is forbidden, and only such as have all that is
// forced where there are any.
std::vector<Way> chosen_ways(const std::vector<Way>& ways, const RewriteChoice& choice) {
  constexpr Rewrites kOfWays = {Rewrite::kSearched, Rewrite::kWideTile, Rewrite::kNarrowed,
                                Rewrite::kOneMore};
  std::vector<Way> allowed, forced;
  for (const Way& way : ways) {
    const std::uint32_t has = rewrites_of(way).bits();
    if (has & choice.forbidden.bits()) continue;
    allowed.push_back(way);
    if (!(choice.forced.bits() & kOfWays.bits() & ~has)) forced.push_back(way);
  }
  return forced.empty() ? allowed : forced;
}

// The plans that were compared, the best first.
std::vector<PlanCandidate> compared(const std::vector<Way>& ways, const std::vector<Plan>& plans,
                                    std::size_t best) {
  std::vector<PlanCandidate> all;
  if (ways.size() < 2) return all;
  for (std::size_t k = 0; k < ways.size(); ++k) {
    all.push_back({rewrites_of(ways[k]), static_cast<std::uint32_t>(plans[k].passes.size()),
                   plans[k].predicted_s});
  }
  const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(best);
  std::rotate(all.begin(), chosen, chosen + 1);
  return all;
}

// The plans of one circuit.
class Planner {
 public:
  Planner(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
          const PlanOptions& options)
      : options_(options),
        n_(static_cast<int>(circuit.num_qubits())),
        zero_wires_(zero_wires_of(options, n_)),
        lowered_(detail::lower(circuit, ops, options.layout.flips, zero_wires_, options.cost)),
        needs_(detail::needs_of(lowered_)) {}

  // The plan made so.
  Plan plan(const Way& way) const {
    PlanOptions options = options_;
    if (way.wide) {
      options.cost.tile_qubits = options.cost.wide_tile_qubits;
      if (!options.cost.mixed_tiles && !options.cost.price) {  // which looks at each pass's tile
        options.cost.bandwidth = options.cost.wide_bandwidth;
        options.cost.exposed = options.cost.wide_exposed;
      }
    }
    const bool is_mixed = way.wide && options.cost.mixed_tiles;
    detail::ScheduleOptions limits;
    limits.num_wires = n_;
    limits.tile = std::min(options.cost.tile_qubits, local());
    const int row = std::min(options.cost.row_bits, limits.tile);
    for (int q = 0; q < n_; ++q) {
      if (options.layout.position[q] < row) limits.first_row |= bit(q);
    }
    limits.search_steps = way.search_steps;
    if (way.narrowed) limits.narrow_tile = limits.tile - 1;
    limits.one_more = way.one_more;
    if (options.cost.shard_bits > 0) return sharded(options, limits);
    std::vector<detail::WirePass> passes = detail::find_schedule(needs_, limits, options_.memory);
    if (is_mixed) detail::narrow(passes, needs_, limits.tile - 1);
    Plan plan = detail::place(lowered_, std::move(passes), n_, options);
    detail::widen_moves(plan, options.cost, options.rewrites);
    plan.rewrites.add(rewrites_of(way));
    return plan;
  }

  // The plan, once it is known to carry out the circuit.
  Plan verified(Plan plan, bool is_searched) const {
    detail::verify(plan, lowered_, options_);
    plan.effort = is_searched ? Effort::kRepeated : Effort::kOnce;
    return plan;
  }

  // Ways beside plain greed, whose plan this is.
  std::vector<Way> other_ways(const Plan& greedy, bool searching) const {
    std::vector<Way> ways;
    ways.reserve(4);
    const CostModel& cost = options_.cost;
    if (greedy.passes.size() < 2) return ways;
    const RewriteChoice& choice = options_.rewrites;
    const bool is_large = n_ >= cost.search_from_qubits;
    std::uint64_t steps = searching && is_large ? search_steps(greedy, options_) : 0;
    if (choice.forces(Rewrite::kSearched)) steps = std::max(steps, kForcedSteps);
    if (steps > 0) ways.push_back({.search_steps = steps});
    const bool has_wide =
        cost.wide_tile_qubits > cost.tile_qubits && cost.tile_qubits < local() &&
        (choice.forces(Rewrite::kWideTile) ||
         greedy.predicted_s >= cost.wide_from_s * static_cast<double>(greedy.passes.size()));
    if (!has_wide) return ways;
    ways.push_back({.wide = true, .search_steps = steps});
    if (steps > 0 && cost.mixed_tiles) {
      ways.push_back({.wide = true, .narrowed = true, .search_steps = steps});
      ways.push_back({.wide = true, .narrowed = true, .one_more = true, .search_steps = steps});
    }
    return ways;
  }

  const std::vector<detail::Need>& needs() const { return needs_; }

  // What the choice between ways depends on, beside the needs.
  std::vector<std::uint64_t> around() const {
    std::vector<std::uint64_t> words = {
        static_cast<std::uint64_t>(n_), zero_wires_, static_cast<std::uint64_t>(options_.precision),
        std::uint64_t{options_.rewrites.forced.bits()} << 32 | options_.rewrites.forbidden.bits(),
        static_cast<std::uint64_t>(options_.restore_layout)};
    for (int q = 0; q < n_; ++q) words.push_back(options_.layout.position[q]);
    const std::vector<std::uint64_t> cost = words_of(options_.cost);
    words.insert(words.end(), cost.begin(), cost.end());
    return words;
  }

 private:
  int local() const { return n_ - options_.cost.shard_bits; }

  Plan sharded(const PlanOptions& options, const detail::ScheduleOptions& limits) const {
    detail::ShardOptions shards;
    shards.num_wires = n_;
    shards.shard_bits = options.cost.shard_bits;
    shards.zero_wires = zero_wires_;
    for (int q = 0; q < n_; ++q) {
      if (options.layout.position[q] >= local()) shards.remote |= bit(q);
      if (options.layout.position[q] < std::min(kMinExchangePosition, local() / 2)) {
        shards.low |= bit(q);
      }
    }
    return detail::place_shards(lowered_, needs_, detail::split_shards(needs_, shards), limits,
                                options);
  }

  const PlanOptions& options_;
  int n_;
  std::uint64_t zero_wires_;
  detail::Lowered lowered_;
  std::vector<detail::Need> needs_;
};

}  // namespace

Plan make_plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               const PlanOptions& options) {
  const Planner planner(circuit, ops, options);
  PlanMemory* const memory = options.memory;
  std::vector<std::uint64_t> around;
  if (memory) around = planner.around();
  std::optional<PlanMemory::Chosen> known;
  if (memory && options.effort != Effort::kOnce) known = memory->find_way(planner.needs(), around);
  if (known && known->is_final) {
    Plan plan = planner.plan(known->way);
    plan.candidates = std::move(known->candidates);
    return planner.verified(std::move(plan), true);
  }
  Plan greedy = planner.plan({});
  // Ranks have to make the same plan whatever else each of them planned before.
  const bool searching =
      options.effort >= Effort::kRepeated || options.cost.shard_bits > 0 ||
      (options.effort == Effort::kAuto && (known || pays_at_once(greedy, options)));
  const auto keep = [&](const Way& way, const std::vector<PlanCandidate>& candidates) {
    if (memory && options.learns && options.effort != Effort::kOnce)
      memory->keep_way(planner.needs(), around, {way, searching, candidates});
  };
  std::vector<Way> ways = planner.other_ways(greedy, searching);
  if (ways.empty()) {
    keep({}, {});
    return planner.verified(std::move(greedy), searching);
  }
  ways.insert(ways.begin(), Way{});
  ways = chosen_ways(ways, options.rewrites);
  std::vector<Plan> plans(ways.size());
  detail::side_by_side(static_cast<int>(ways.size()), [&](int number) {
    const auto k = static_cast<std::size_t>(number);
    if (k > 0 && ways[k].narrowed) return;  // by the search for the one before
    auto way = k;
    do {
      plans[way] = planner.plan(ways[way]);
    } while (++way < ways.size() && ways[way].narrowed);
  });
  std::size_t best = 0;
  for (std::size_t k = 1; k < ways.size(); ++k) {
    constexpr double kClearly = 0.995;  // predictions are not better than that
    const double least = ways[k].wide ? kClearly : 1;
    if (plans[k].predicted_s < least * plans[best].predicted_s) best = k;
  }
  plans[best].candidates = compared(ways, plans, best);
  keep(ways[best], plans[best].candidates);
  return planner.verified(std::move(plans[best]), searching);
}

Plan make_plan(const circuit::Circuit& circuit, const PlanOptions& options) {
  return make_plan(circuit, circuit.ops(), options);
}

void CostModel::share_arithmetic(double among) {
  for (double* s : {&lift_s, &flip_s, &rotate_s, &phase_s, &multiply_s}) *s /= among;
  for_each_rate(steps, [&](double& s) { s /= among; });
}

std::vector<std::uint64_t> words_of(const CostModel& c) {
  static_assert(sizeof(CostModel) == 352, "a new field is one more word below");
  std::vector<std::uint64_t> words;
  for (const int n :
       {c.tile_qubits, c.row_bits, c.wide_tile_qubits, c.block_bits, c.threads, c.move_positions,
        c.small_tile_qubits, c.search_from_qubits, c.shard_bits, c.overlap.slice_bits,
        c.overlap.min_local_qubits, int{c.mixed_tiles}, int{c.late_phases}})
    words.push_back(static_cast<std::uint64_t>(n));
  for (const double x :
       {c.bandwidth, c.wide_bandwidth, c.exposed, c.wide_exposed, c.wide_from_s, c.lift_s, c.flip_s,
        c.rotate_s, c.phase_s, c.multiply_s, c.factored_share, c.pass_overhead_s,
        c.exchange_bandwidth, c.exchange_overhead_s, c.overlap.hidden, c.touch_byte_s})
    words.push_back(std::bit_cast<std::uint64_t>(x));
  for (const double x : list_of(c.steps)) words.push_back(std::bit_cast<std::uint64_t>(x));
  for (const double x : list_of(c.traffic)) words.push_back(std::bit_cast<std::uint64_t>(x));
  words.push_back(reinterpret_cast<std::uintptr_t>(c.writer));
  words.push_back(reinterpret_cast<std::uintptr_t>(c.price));
  return words;
}

}  // namespace tilewave::statevec
