#include "tilewave/statevec/cpu/pass_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/outline.h"
#include "tilewave/statevec/cpu/row_moves.h"
#include "tilewave/statevec/plan/pair_factors.h"
#include "tilewave/statevec/plan/pass_price.h"

namespace tilewave::statevec::cpu {

namespace {

class Counter {
 public:
  Counter(const Plan& plan, const Pass& pass) : plan_(plan), slots_(pass) {}

  PassWork run(const std::vector<OutlinePhase>& outline) {
    for (const OutlinePhase& phase : outline) {
      slots_.enter(phase.row_slots);
      for (const OutlineStep& step : phase.steps) {
        step.action ? add_action(*step.action) : add_stage(step.stage);
      }
    }
    return work_;
  }

 private:
  void add_action(const Action& a) {
    const double share = std::ldexp(1, -std::popcount(a.control_mask));
    if (a.kind == ActionKind::kFlip) {
      work_.flips += share;
    } else if (a.kind == ActionKind::kRotate) {
      work_.rotations += share;
    } else {
      const double rows = std::ldexp(1, a.num_targets);
      const cplx* m = plan_.matrices.data() + a.first;
      const bool is_real = std::all_of(m, m + (std::size_t{1} << 2 * a.num_targets),
                                       [](const cplx& z) { return z.imag() == 0; });
      work_.matrix_rows += share * rows *
                           (is_real                              ? 0.5
                            : pair_factors_of(a, plan_.matrices) ? kFactoredShare
                                                                 : 1);
    }
  }

  void add_stage(const Stage& stage) {
    const std::uint32_t rows = stage.lifts.mask >> kLowBits;
    if (stage.has_inside()) {
      ++work_.sweeps;
      add_lifts(stage.lifts, low_mask(kLowBits), false);
      if (!stage.terms.empty()) add_phase_block(stage.terms);
    }
    work_.sweeps += (std::popcount(rows) + kMostRowLifts - 1) / kMostRowLifts;
    add_lifts(stage.lifts, std::uint64_t{rows} << kLowBits, true);
    for (const StageLink& link : stage.links) {
      add_lifts(link.lifts, low_mask(kLowBits), false);
      if (!link.terms.empty()) ++work_.link_phases;
    }
    for (const StageSweep& sweep : stage.sweeps) {
      ++work_.sweeps;
      work_.lifts += sweep.num_bits;
      work_.sweep_phases += !sweep.before.empty();
      for (const SplitTerms& after : sweep.after) work_.sweep_phases += !after.empty();
    }
  }

  // Those of `bits`. By 1 they are additions, and two by one number are cheaper together: on rows
  // that is half of the time, inside rows shuffles take it.
  void add_lifts(const LayerStep<double>& lifts, std::uint64_t bits, bool on_rows) {
    const std::uint64_t mask = lifts.mask & bits;
    if (!mask) return;
    const double first = std::abs(lifts.t[std::countr_zero(mask)]);
    bool alike = on_rows && (first == 1 || std::popcount(mask) > 1);
    for_each_bit(mask, [&](int k) { alike &= std::abs(lifts.t[k]) == first; });
    (alike ? work_.light_lifts : work_.lifts) += std::popcount(mask);
  }

  // One multiplication by a table; another where rows have scalars, and the making of a product of
  // tables for every row or once for a run of them.
  void add_phase_block(const SplitTerms& terms) {
    std::uint32_t with_table = 0;
    for (const SplitTerm& t : terms) {
      if (t.low && std::has_single_bit(t.rows)) with_table |= t.rows;
    }
    const bool has_scalars = std::any_of(terms.begin(), terms.end(), [&](const SplitTerm& t) {
      return t.rows && !t.low && !(std::has_single_bit(t.rows) && (t.rows & with_table));
    });
    const int free_bits = slots_.num_row_bits() - std::popcount(with_table);
    ++work_.phases;
    work_.scalar_phases += has_scalars;
    work_.products += with_table ? std::ldexp(1, -free_bits) : 0;
  }

  const Plan& plan_;
  BlockSlots slots_;
  PassWork work_;
};

// How far a tile is from the size that is moved fastest: 0 at it, 1 where it is as slow as a full one.
double away_from_small(int bits, bool is_double) {
  const int small = is_double ? kSmallTileBits<double> : kSmallTileBits<float>,
            full = is_double ? kTileBitsDouble : kTileBitsSingle;
  return std::min(1.0, static_cast<double>(std::abs(bits - small)) / (full - small));
}

}  // namespace

PassWork count_work(const Plan& plan, const Pass& pass, int block_bits) {
  if (static_cast<int>(pass.active.size()) < kLowBits) return {};
  const bool is_double = plan.precision == Precision::kDouble;
  Pass left = pass;
  const Movement movement = take_movement(left, plan.terms, is_double);
  if (const auto map = row_map(plan, left, movement)) {
    return {.only_moves = true,
            .long_cycles = map->order(kShortCycles) == 0,
            .listed_rows = std::ldexp(1, std::popcount(map->moved)),
            .moved_share = left.scale == 1.0 ? 1 - map->fixed_share() : 1};
  }
  PassWork work = Counter(plan, left).run(make_outline(plan, left, block_bits));
  work.turns_rows = !movement.low_stays;
  return work;
}

Terms terms_of(const Plan& plan, const Pass& pass, int block_bits, int threads) {
  const PassWork work = count_work(plan, pass, block_bits);
  std::uint64_t active = 0;
  for (const int p : pass.active) active |= bit(p);
  const double worked = detail::worked_amplitudes(pass, plan.num_qubits);
  const double both_ways = 2 * static_cast<double>(amplitude_bytes(plan.precision));
  const bool is_double = plan.precision == Precision::kDouble;
  const int bits = static_cast<int>(pass.active.size());
  // lines are read to be written, those known to be zero too
  const double bytes = both_ways * worked;
  Terms t{};
  t[kTermSavedByte] = both_ways * (detail::loaded_amplitudes(pass, plan.num_qubits) - worked);
  if (work.only_moves) {
    t[work.long_cycles ? kTermByte : kTermMovedByte] = work.moved_share * bytes;
  } else if (bits > (is_double ? kTileBitsDouble : kTileBitsSingle)) {
    t[kTermWideByte] = bytes;
    t[kTermTurnedByte] = work.turns_rows ? bytes : 0;
  } else {
    const double away = away_from_small(bits, is_double);
    // Of rows side by side as long runs are, 1/2 for two of them, 3/4 for four: what is fetched ahead
    // of use.
    const int row = is_double ? kStateRowBitsDouble : kStateRowBitsSingle;
    const double runs = 1 - std::ldexp(1, std::min(0, row - std::countr_one(active)));
    t[kTermByte] = away * (1 - runs) * bytes;
    t[kTermRunByte] = away * runs * bytes;
    t[kTermSmallByte] = (1 - away) * (1 - runs) * bytes;
    t[kTermSmallRunByte] = (1 - away) * runs * bytes;
    t[kTermTurnedByte] = work.turns_rows ? away * bytes : 0;
  }
  const double tiles = std::max(1.0, std::ldexp(worked, -bits));
  const double team = worked < static_cast<double>(kSharedAmplitudes)
                          ? 1
                          : std::min(static_cast<double>(threads), tiles);
  const double waits = threads * std::ceil(tiles / team) / tiles;  // for the last tile
  const double worked_on = worked * waits;
  t[kTermSweep] = worked_on * work.sweeps;
  t[kTermLift] = worked_on * work.lifts;
  t[kTermLightLift] = worked_on * work.light_lifts;
  t[kTermPhase] = worked_on * work.phases;
  t[kTermScalarPhase] = worked_on * work.scalar_phases;
  t[kTermProductPhase] = worked_on * work.products;
  t[kTermSweepPhase] = worked_on * work.sweep_phases;
  t[kTermLinkPhase] = worked_on * work.link_phases;
  t[kTermFlip] = worked_on * work.flips;
  t[kTermRotate] = worked_on * work.rotations;
  t[kTermMultiply] = worked_on * work.matrix_rows;
  t[kTermListedRow] = work.listed_rows;
  t[kTermPass] = 1;
  return t;
}

Terms rates_of(const CostModel& cost) {
  static_assert(sizeof cost.steps == (kTermMultiply - kTermSweep + 1) * sizeof(double));
  const TrafficRates& traffic = cost.traffic;
  const double byte_s = 1 / cost.bandwidth;
  Terms rates = {byte_s,
                 traffic.run_byte_s,
                 traffic.small_byte_s,
                 traffic.small_run_byte_s,
                 traffic.turned_byte_s,
                 cost.wide_bandwidth > 0 ? 1 / cost.wide_bandwidth : byte_s,
                 traffic.moved_byte_s,
                 traffic.saved_byte_s};
  std::ranges::copy(list_of(cost.steps), &rates[kTermSweep]);
  rates[kTermListedRow] = traffic.listed_row_s;
  rates[kTermPass] = cost.pass_overhead_s;
  return rates;
}

double pass_seconds(const Plan& plan, const Pass& pass, const CostModel& cost) {
  const Terms terms = terms_of(plan, pass, cost.block_bits, cost.threads), rates = rates_of(cost);
  // what is saved of a pass is never all of it, whatever rates are fitted
  return std::max(std::inner_product(terms.begin(), terms.end(), rates.begin(), 0.0),
                  cost.pass_overhead_s);
}

}  // namespace tilewave::statevec::cpu
