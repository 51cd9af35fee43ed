#include "tilewave/statevec/plan/dependence_graph.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/interrupt.h"

namespace tilewave::statevec::detail {

std::size_t number_of_movers(const std::vector<Need>& needs) {
  return static_cast<std::size_t>(
      std::count_if(needs.begin(), needs.end(), [](const Need& a) { return a.x != 0; }));
}

DependenceGraph DependenceGraph::of(const std::vector<Need>& needs) {
  const std::size_t movers = number_of_movers(needs);
  std::vector<std::uint64_t> targets;
  std::vector<float> weight;
  std::vector<std::vector<std::uint16_t>> before, after, on_wire(64);
  std::array<int, 64> changer;  // the last action that changes a wire
  changer.fill(-1);
  std::array<std::vector<int>, 64> before_change;     // what the next one waits for besides
  std::vector<std::vector<std::uint64_t>> ancestors;  // bit sets
  std::vector<int> waits_for;
  const auto add_to = [](std::vector<int>& list, int m) {
    if (m >= 0 && std::find(list.begin(), list.end(), m) == list.end()) list.push_back(m);
  };
  InterruptCounter now_and_then(1024);
  for (const Need& need : needs) {
    now_and_then.step();
    waits_for.clear();
    for_each_bit(need.x | need.z, [&](int w) { add_to(waits_for, changer[w]); });
    if (!need.x) {
      for_each_bit(need.z, [&](int w) {
        for (int m : waits_for) add_to(before_change[w], m);
      });
      continue;
    }
    for_each_bit(need.x, [&](int w) {
      for (int m : before_change[w]) add_to(waits_for, m);
    });
    const int self = static_cast<int>(targets.size());
    targets.push_back(need.x);
    weight.push_back(need.weight);
    // only those that no other of them waits for
    std::sort(waits_for.begin(), waits_for.end(), std::greater<>());
    auto& earlier = ancestors.emplace_back((movers + 63) / 64);
    before.emplace_back();
    after.emplace_back();
    for (int m : waits_for) {
      if (earlier[m / 64] >> m % 64 & 1) continue;
      for (std::size_t k = 0; k <= static_cast<std::size_t>(m) / 64; ++k) {
        earlier[k] |= ancestors[m][k];
      }
      earlier[m / 64] |= std::uint64_t{1} << m % 64;
      before[self].push_back(static_cast<std::uint16_t>(m));
      after[m].push_back(static_cast<std::uint16_t>(self));
    }
    for_each_bit(need.x, [&](int w) {
      changer[w] = self;
      before_change[w].clear();
      on_wire[w].push_back(static_cast<std::uint16_t>(self));
    });
    for_each_bit(need.z & ~need.x, [&](int w) { before_change[w].push_back(self); });
  }
  const float total = std::accumulate(weight.begin(), weight.end(), 0.0f);
  return {std::move(targets), std::move(weight), total,
          Lists(before),      Lists(after),      Lists(on_wire)};
}

}  // namespace tilewave::statevec::detail
