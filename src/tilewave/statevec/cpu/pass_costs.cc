#include "tilewave/statevec/cpu/pass_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"
#include "tilewave/statevec/cpu/outline.h"
#include "tilewave/statevec/cpu/row_moves.h"

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
      work_.matrix_rows += share * rows * (is_real ? 0.5 : 1);
    }
  }

  void add_stage(const Stage& stage) {
    const std::uint32_t rows = stage.lifts.mask >> kLowBits;
    if (stage.has_inside()) {
      ++work_.sweeps;
      add_lifts(stage.lifts, low_mask(kLowBits), false);
      if (!stage.terms.empty()) add_phase_block(stage.terms);
    }
    // one lift on rows more than fits goes with those inside rows
    const int num_rows = std::popcount(rows);
    work_.sweeps += num_rows % kMostRowLifts == 1 && stage.has_inside()
                        ? num_rows / kMostRowLifts
                        : (num_rows + kMostRowLifts - 1) / kMostRowLifts;
    add_lifts(stage.lifts, std::uint64_t{rows} << kLowBits, true);
    for (const StageLink& link : stage.links) {
      add_lifts(link.lifts, low_mask(kLowBits), false);
      if (!link.terms.empty()) work_.phases += kLinkPhase;
    }
    for (const StageSweep& sweep : stage.sweeps) {
      ++work_.sweeps;
      work_.lifts += sweep.num_bits;
      work_.phases += kSweepPhase * !sweep.before.empty();
      for (const SplitTerms& after : sweep.after) work_.phases += kSweepPhase * !after.empty();
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
    work_.lifts += std::popcount(mask) * (alike ? kLightLift : 1);
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
    work_.phases += 1 + (has_scalars ? kScalarPhase : 0) +
                    (with_table ? std::ldexp(kProductPhase, -free_bits) : 0);
  }

  const Plan& plan_;
  BlockSlots slots_;
  PassWork work_;
};

// Of the time to move the tiles of a pass, by their size.
double share_of_tile(int bits, bool is_double) {
  const int small = is_double ? kSmallTileBits<double> : kSmallTileBits<float>,
            full = is_double ? kTileBitsDouble : kTileBitsSingle;
  const double away = static_cast<double>(std::abs(bits - small)) / (full - small);
  return kSmallTile + (1 - kSmallTile) * std::min(1.0, away);
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
            .listed_rows = std::ldexp(1, std::popcount(map->moved))};
  }
  return Counter(plan, left).run(make_outline(plan, left, block_bits));
}

double pass_seconds(const Plan& plan, const Pass& pass, const CostModel& cost) {
  const PassWork work = count_work(plan, pass, cost.block_bits);
  std::uint64_t active = 0;
  for (const int p : pass.active) active |= bit(p);
  const double loaded = std::ldexp(1, plan.num_qubits - std::popcount(pass.known_zero_before));
  const double worked =
      std::ldexp(1, plan.num_qubits - std::popcount(pass.known_zero_before & ~active));
  // lines are read to be written, those known to be zero too
  const double moved = 2 * ((1 - kLoadShare) * worked + kLoadShare * loaded);
  const double bytes = static_cast<double>(amplitude_bytes(plan.precision)) * moved;
  const bool is_double = plan.precision == Precision::kDouble;
  const double in_place = work.long_cycles ? 1 : kMoveShare;
  const double share =
      work.only_moves ? in_place : share_of_tile(static_cast<int>(pass.active.size()), is_double);
  const double memory_s = bytes / cost.bandwidth * share;
  const StepRates& r = cost.steps;
  const double each_s = work.sweeps * r.sweep_s + work.lifts * r.lift_s + work.phases * r.phase_s +
                        work.flips * r.flip_s + work.rotations * r.rotate_s +
                        work.matrix_rows * r.multiply_s;
  return memory_s + worked * each_s + work.listed_rows * kCycleRow_s + cost.pass_overhead_s;
}

}  // namespace tilewave::statevec::cpu
