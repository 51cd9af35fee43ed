// A pass is written as a program in several ways, and the one predicted to be cheapest is taken.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/emitter.h"
#include "tilewave/statevec/tile/jit_source.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

ChunkLimits chunk_limits(const Shape& shape) {
  // 3 x (64 KiB of tile, these, 384 bytes of sums, 1 KiB that the driver takes) in 228 KiB
  const std::size_t amplitude = amplitude_bytes(shape.precision);
  return loads_through_shared(shape.block_qubits(), amplitude) ? ChunkLimits{6976, 24, 4, 9280}
                                                               : ChunkLimits{};
}

namespace {

TilePass best_of(const Plan& plan, std::size_t pass, const Shape& shape, const ChunkLimits& limits,
                 int tries, bool compiled, bool butterflies) {
  TW_CHECK(pass < plan.passes.size(), "no such pass");
  TW_CHECK(plan.precision == shape.precision, "plan and shape differ in precision");
  const Pass& chosen = plan.passes[pass];
  constexpr int kManySlots = 7;
  constexpr double kTurnedMargin = 1.03;  // as good as predictions are
  const bool has_flips = std::any_of(chosen.actions.begin(), chosen.actions.end(),
                                     [](const Action& a) { return a.kind == ActionKind::kFlip; });
  const bool has_lifts = std::any_of(chosen.actions.begin(), chosen.actions.end(),
                                     [](const Action& a) { return a.kind == ActionKind::kLift; });
  TilePass best;
  double best_cost = 0;
  bool any = false, best_turned = false, too_long = false;
  std::vector<std::int32_t> costly;
  const auto attempt = [&](detail::EmitChoice choice) {
    choice.compiled = compiled;
    choice.butterflies = butterflies;
    detail::Emitter emitter(plan, chosen, shape, limits, choice);
    TilePass written = emitter.run();
    double cost = emitter.cost();
    if (written.frame.num_chunks > 1 && written.frame.max_general == 0) {
      ChunkLimits longer = limits;
      longer.chunk_bytes = limits.plain_chunk_bytes;
      detail::Emitter again(plan, chosen, shape, longer, choice);
      written = again.run();
      cost = again.cost();
    }
    cost *= choice.turned ? kTurnedMargin : 1;
    if (!any || cost < best_cost) {
      best = std::move(written);
      best.cost_ms = cost;
      best_cost = cost;
      best_turned = choice.turned;
    }
    any = true;
    too_long = emitter.is_too_long();
    costly = emitter.costly_folds();
    return emitter.flushed_all();
  };
  const auto both_ways = [&](detail::EmitChoice choice) {
    const bool flushed_all = attempt(choice);
    if (too_long) {
      choice.compact = true;
      attempt(choice);
    }
    if (!flushed_all) return;
    choice.flush_all_slots = detail::EmitChoice{}.flush_all_slots;
    attempt(choice);
  };
  const auto with_folds = [&](std::uint32_t seed, bool through_shared, bool tables, bool turned) {
    // Those that cost more folded than apart leave the exchanges, while that gains anything.
    std::vector<std::int32_t> apart;
    for (bool again = true; again;) {
      const bool is_first = apart.empty();
      const double before = best_cost;
      both_ways({kManySlots, true, turned, seed, through_shared, tables, false, apart});
      again = !costly.empty() && (is_first || best_cost < before);
      apart.insert(apart.end(), costly.begin(), costly.end());
    }
    if (has_flips) both_ways({kManySlots, false, turned, seed, through_shared, tables});
  };
  // How the tile arrives, where there is a choice, with phases written before lifts or signs that
  // wait beside them, then without tables, then with noise.
  const bool always = loads_through_shared(shape);
  std::vector<bool> arrivals = {true};
  if (!always) arrivals = {false, true};
  const int num_arrivals = static_cast<int>(arrivals.size());
  for (int k = 0; k < tries; ++k) {
    if (k < num_arrivals) {
      with_folds(0, arrivals[static_cast<std::size_t>(k)], true, false);
      if (has_lifts) with_folds(0, arrivals[static_cast<std::size_t>(k)], true, true);
    } else if (k == num_arrivals) {
      with_folds(0, best.frame.through_shared, false, best_turned);
    } else {
      with_folds(static_cast<std::uint32_t>(k), always || k % 2, true, best_turned);
    }
  }
  return best;
}

}  // namespace

TilePass lower_pass(const Plan& plan, std::size_t pass, const Shape& shape,
                    const ChunkLimits& limits, int tries, bool compiled) {
  if (!compiled) return best_of(plan, pass, shape, limits, tries, false, false);
  // A phase and the lift behind it at once are fewer multiply-adds, but code of their own: where
  // operations share code, the lift would be a jump.
  TilePass best = best_of(plan, pass, shape, limits, tries, true, true);
  const int steps = jit_steps(best);
  if (steps == 1) return best;
  TilePass apart = best_of(plan, pass, shape, limits, tries, true, false);
  const int steps_apart = jit_steps(apart);
  const double jump = costs_for(shape.precision, true).code_step;
  const bool is_cheaper = apart.cost_ms + jump * steps_apart < best.cost_ms + jump * steps;
  return steps_apart && (!steps || is_cheaper) ? apart : best;
}

double try_s(const Pass& pass) {
  constexpr double kOfAnAction = 4e-6;  // of one core of a small server
  return kOfAnAction * static_cast<double>(20 + pass.actions.size());
}

int tries_within(const Pass& pass, double seconds) {
  return static_cast<int>(std::clamp(seconds / try_s(pass), 1.0, double{kManyTries}));
}

}  // namespace tilewave::statevec::tile
