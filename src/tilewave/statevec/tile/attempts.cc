// A pass is written as a program in several ways, and the one predicted to be cheapest is taken.
#include <algorithm>
#include <cstdint>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/emitter.h"
#include "tilewave/statevec/tile/jit_source.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

ChunkLimits chunk_limits(const Shape& shape) {
  // 3 x (64 KiB of tile, these, 384 bytes of sums, 1 KiB that the driver takes) in 228 KiB
  const std::size_t amplitude = amplitude_bytes(shape.precision);
  return within_block(loads_through_shared(shape.block_qubits(), amplitude)
                          ? ChunkLimits{6976, 24, 4}
                          : ChunkLimits{},
                      shape);
}

ChunkLimits within_block(ChunkLimits limits, const Shape& shape) {
  PassFrame longest;
  longest.max_linear = limits.num_linear;
  longest.max_general = limits.num_general;
  const auto taken = static_cast<std::uint32_t>(block_bytes(longest, shape) + sum_bytes(shape));
  TW_CHECK(taken + kLeastChunkBytes <= shape.shared_bytes, "a tile of this shape fits no block");
  const std::uint32_t room = (shape.shared_bytes - taken) / 16 * 16;
  limits.chunk_bytes = std::min(limits.chunk_bytes, room);
  return limits;
}

namespace {

TilePass best_of(const Plan& plan, std::size_t pass, const Shape& shape, const ChunkLimits& limits,
                 const Tries& tries, bool compiled, const OpCosts& costs) {
  TW_CHECK(pass < plan.passes.size(), "no such pass");
  TW_CHECK(plan.precision == shape.precision, "plan and shape differ in precision");
  const Pass& chosen = plan.passes[pass];
  const bool has_flips = std::any_of(chosen.actions.begin(), chosen.actions.end(),
                                     [](const Action& a) { return a.kind == ActionKind::kFlip; });
  TilePass best;
  bool any = false;
  const auto attempt = [&](const Way& way) {
    detail::Emitter emitter(plan, chosen, shape, limits, costs, {way, compiled});
    TilePass written = emitter.run();
    if (any && emitter.cost() >= best.cost_ms) return;
    best = std::move(written);
    best.cost_ms = emitter.cost();
    best.way = way;
    any = true;
  };
  const auto with_folds = [&](std::uint32_t seed, bool through_shared, bool tables) {
    attempt({true, seed, through_shared, tables});
    if (has_flips) attempt({false, seed, through_shared, tables});
  };
  // How the tile arrives, where there is a choice, then without tables, then with noise.
  const bool always = loads_through_shared(shape);
  if (tries.way) {
    Way way = *tries.way;
    way.through_shared |= always;
    attempt(way);
    return best;
  }
  const int num_arrivals = always ? 1 : 2;
  for (int k = 0; k < tries.count && !(any && tries.ends && tries.ends()); ++k) {
    if (k < num_arrivals) {
      with_folds(0, always || k == 1, true);
    } else if (k == num_arrivals && !compiled) {
      with_folds(0, best.frame.through_shared, false);
    } else {
      with_folds(static_cast<std::uint32_t>(k), always || k % 2, true);
    }
  }
  return best;
}

}  // namespace

TilePass lower_pass(const Plan& plan, std::size_t pass, const Shape& shape,
                    const ChunkLimits& limits, const Tries& tries, bool compiled,
                    const WriterCosts* costs) {
  const WriterCosts& by = costs ? *costs : shipped_costs(shape.precision);
  if (!compiled) return best_of(plan, pass, shape, limits, tries, false, by.interpreted);
  TilePass written = best_of(plan, pass, shape, limits, tries, true, by.compiled);
  written.paid.code_step = jit_steps(written);
  return written;
}

double try_s(const Pass& pass) {
  constexpr double kOfAnAction = 4e-6;  // of one core of a small server
  return kOfAnAction * static_cast<double>(20 + pass.actions.size());
}

int tries_within(const Pass& pass, double seconds) {
  return static_cast<int>(std::clamp(seconds / try_s(pass), 1.0, double{kManyTries}));
}

}  // namespace tilewave::statevec::tile
