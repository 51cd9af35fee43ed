// See stretches.h.
#include "tilewave/parametric/plan/stretches.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/plan/waiting.h"

namespace tilewave::parametric {

Stretches make_stretches(const Actions& all, int process_bits, int kept) {
  const int local = all.num_wires - process_bits;
  std::vector<int> place(static_cast<std::size_t>(all.num_wires));  // of each wire
  std::iota(place.begin(), place.end(), 0);
  const auto placed = [&](std::uint64_t wires) {
    std::uint64_t places = 0;
    for_each_bit(wires, [&](int w) { places |= bit(place[static_cast<std::size_t>(w)]); });
    return places;
  };
  Stretches out;
  std::vector<std::uint32_t> left(all.actions.size());
  std::iota(left.begin(), left.end(), 0u);
  do {
    Stretch& stretch = out.list.emplace_back();
    stretch.actions.num_wires = local;
    stretch.actions.angles = all.angles;
    stretch.actions.parameters = all.parameters;
    if (out.list.size() == 1) stretch.actions.global_phase = all.global_phase;
    Waiting waiting;
    std::vector<std::uint32_t> rest;
    for (const std::uint32_t k : left) {
      Action a = all.actions[k];
      const Touch touch{a.moved, a.moved | a.mask};
      if ((placed(a.moved) & ~low_mask(local)) || !waiting.lets(touch)) {
        waiting.add(touch);
        rest.push_back(k);
        continue;
      }
      a.moved = placed(a.moved);
      a.mask = placed(a.mask);
      a.value = placed(a.value);
      if (a.kind == ActionKind::kMatrix) {
        FixedMatrix matrix = all.matrices[a.matrix];
        for (int& wire : matrix.wires) wire = place[static_cast<std::size_t>(wire)];
        a.matrix = static_cast<std::uint32_t>(stretch.actions.matrices.size());
        stretch.actions.matrices.push_back(std::move(matrix));
      }
      stretch.actions.actions.push_back(a);
    }
    left = std::move(rest);
    if (left.empty()) break;
    // the wires that are moved latest leave; those of the first action stay or come
    const std::uint64_t first = placed(all.actions[left.front()].moved) & ~low_mask(kept);
    if (std::popcount(first) > local - kept) {
      fail(ExitCode::kInput, "a gate changes ", std::popcount(first),
           " qubits that have to lie in a process, which can exchange ", local - kept,
           ": use fewer processes");
    }
    std::vector<std::size_t> next(place.size(), left.size());
    for (std::size_t j = left.size(); j-- > 0;)
      for_each_bit(all.actions[left[j]].moved,
                   [&](int w) { next[static_cast<std::size_t>(w)] = j; });
    std::vector<std::size_t> order(place.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t w) { return place[w] < kept; });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(next[a], place[a]) < std::pair(next[b], place[b]);
    });
    const auto processes = static_cast<std::ptrdiff_t>(process_bits);
    std::vector<std::size_t> leave, come;
    for (auto it = order.begin(); it != order.end(); ++it) {
      const bool stays = it < order.end() - processes;
      if (stays && place[*it] >= local) come.push_back(*it);
      if (!stays && place[*it] < local) leave.push_back(*it);
    }
    for (std::size_t k = 0; k < come.size(); ++k) {
      out.list.back().exchanges.emplace_back(place[leave[k]], place[come[k]]);
      std::swap(place[leave[k]], place[come[k]]);
    }
  } while (true);
  for (const int wire : all.wire_of_qubit)
    out.place_of_qubit.push_back(place[static_cast<std::size_t>(wire)]);
  return out;
}

}  // namespace tilewave::parametric
