#include "tilewave/statevec/plan/pass_rows.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::detail {

namespace {

/// How many matrices of a pass have each wire among their targets.
std::vector<int> matrices_on(const WirePass& pass, const Lowered& lowered, int num_wires) {
  std::vector<int> count(static_cast<std::size_t>(num_wires));
  for (const std::uint32_t k : pass.actions) {
    const Action& a = lowered.actions[k];
    if (a.kind != ActionKind::kMatrix) continue;
    for (int t = 0; t < a.num_targets; ++t) ++count[a.targets[t]];
  }
  return count;
}

}  // namespace

void choose_rows(std::vector<WirePass>& passes, const Lowered& lowered, int num_wires,
                 const CostModel& cost) {
  if (cost.factored_share == 1) return;
  for (std::size_t k = 1; k < passes.size(); ++k) {
    WirePass& pass = passes[k];
    const std::vector<int> count = matrices_on(pass, lowered, num_wires);
    if (std::ranges::all_of(count, [](int c) { return c == 0; })) continue;
    std::vector<int> shared;
    for_each_bit(pass.active & passes[k - 1].active, [&](int w) { shared.push_back(w); });
    std::ranges::stable_sort(
        shared, {}, [&](int w) { return std::pair(count[w], !(passes[k - 1].row >> w & 1)); });
    const int row = std::popcount(pass.row);
    pass.row = 0;
    for (int r = 0; r < row; ++r) pass.row |= bit(shared[r]);
  }
}

}  // namespace tilewave::statevec::detail
