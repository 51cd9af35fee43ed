// Passes whose program is larger than the memory kept for programs: two passes with half of the
// actions each, again and again until all fit. Such a program has thousands of operations, beside
// which one more walk over the state is little.
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

namespace {

/// The first `count` actions of a pass, in place, or the others and its store.
Pass part_of(const Pass& whole, std::size_t count, bool first) {
  Pass part = whole;
  const auto middle = part.actions.begin() + static_cast<std::ptrdiff_t>(count);
  double scale = 1;  // of the lifts of the first part
  for (auto a = part.actions.begin(); a != middle; ++a) {
    if (a->kind == ActionKind::kLift) scale /= std::sqrt(1 + a->m[0] * a->m[0]);
  }
  std::uint64_t active = 0;
  for (int p : whole.active) active |= bit(p);
  const std::uint64_t known_between = whole.known_zero_before & ~active;
  if (first) {
    part.actions.erase(middle, part.actions.end());
    part.dest = part.active;
    part.store_flips = 0;
    part.known_zero_after = known_between;
    part.scale = scale;
  } else {
    part.actions.erase(part.actions.begin(), middle);
    part.known_zero_before = known_between;
    part.scale = whole.scale / scale;
  }
  return part;
}

/// A single action of many terms as two.
std::vector<Action> halves(const Action& a) {
  Action low = a, high = a;
  low.count = a.count / 2;
  high.first += low.count;
  high.count -= low.count;
  return {low, high};
}

}  // namespace

std::vector<TilePass> lower_within(const Plan& plan, std::size_t pass, const Shape& shape,
                                   std::size_t max_bytes, const ChunkLimits& limits,
                                   const Tries& tries, bool compiled, const WriterCosts* costs) {
  std::vector<TilePass> out;
  out.push_back(lower_pass(plan, pass, shape, limits, tries, compiled, costs));
  if (out[0].code.size() + out[0].tables.size() <= max_bytes) return out;
  Plan parts = plan;
  Pass whole = plan.passes[pass];
  if (whole.actions.size() == 1) {
    TW_CHECK(whole.actions[0].kind == ActionKind::kPhase && whole.actions[0].count > 1,
             "the program of one action is larger than its memory");
    whole.actions = halves(whole.actions[0]);
  }
  const std::size_t middle = whole.actions.size() / 2;
  parts.passes = {part_of(whole, middle, true), part_of(whole, middle, false)};
  out.clear();
  for (std::size_t k = 0; k < 2; ++k) {
    for (TilePass& part :
         lower_within(parts, k, shape, max_bytes, limits, tries, compiled, costs)) {
      out.push_back(std::move(part));
    }
  }
  return out;
}

}  // namespace tilewave::statevec::tile
