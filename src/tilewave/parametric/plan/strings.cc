// See strings.h.
#include "tilewave/parametric/plan/strings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::parametric {

Strings make_strings(const std::vector<circuit::PauliSum>& observables,
                     const std::vector<int>& wire_of_qubit) {
  const std::uint64_t qubits = low_mask(static_cast<int>(wire_of_qubit.size()));
  const auto on_wires = [&](std::uint64_t mask) {
    std::uint64_t wires = 0;
    for_each_bit(mask, [&](int q) { wires |= bit(wire_of_qubit[static_cast<std::size_t>(q)]); });
    return wires;
  };
  Strings out;
  out.num_observables = static_cast<std::uint32_t>(observables.size());
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> known;
  for (std::size_t m = 0; m < observables.size(); ++m) {
    for (const circuit::PauliTerm& term : observables[m]) {
      if ((term.x | term.z) & ~qubits)
        fail(ExitCode::kInput, "observable ", m, " acts on a qubit that the circuit does not have");
      if (!std::isfinite(term.coefficient))
        fail(ExitCode::kInput, "observable ", m, ": a coefficient is not a finite number");
      const auto key = std::pair(on_wires(term.x), on_wires(term.z));
      const auto [found, is_new] =
          known.try_emplace(key, static_cast<std::uint32_t>(out.strings.size()));
      if (is_new) out.strings.push_back({1, key.first, key.second});
      out.shares.push_back({static_cast<std::uint32_t>(m), found->second, term.coefficient});
    }
  }
  return out;
}

std::vector<StringSweep> make_sweeps(const Strings& strings, const Passes& passes, int kept) {
  // strings by what they flip
  std::vector<std::uint32_t> order(strings.strings.size());
  std::iota(order.begin(), order.end(), 0);
  const auto flips_of = [&](std::uint32_t j) { return strings.strings[j].x; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return flips_of(a) < flips_of(b); });
  struct Same {
    std::uint64_t flips;
    std::size_t first, end;  // in `order`
  };
  std::vector<Same> left;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (left.empty() || left.back().flips != flips_of(order[k]))
      left.push_back({flips_of(order[k]), k, k});
    left.back().end = k + 1;
  }
  const std::uint64_t lanes = low_mask(passes.lane_bits), wires = low_mask(passes.num_wires);
  std::vector<StringSweep> sweeps;
  while (!left.empty()) {
    StringSweep sweep;
    sweep.active = low_mask(passes.lane_bits + kept) & wires & ~lanes;
    // wires of a tile: first those of the strings that need the fewest more
    const auto room = [&] { return passes.row_bits - std::popcount(sweep.active); };
    const auto more = [&](std::uint64_t flips) {
      return std::popcount(flips & ~sweep.active & ~lanes);
    };
    std::uint64_t chosen = left.front().flips;
    for (std::uint64_t rest = chosen & wires & ~lanes & ~sweep.active; rest && room() > 0;
         rest &= rest - 1)
      sweep.active |= rest & (~rest + 1);
    sweep.flip_outer = chosen & ~lanes & ~sweep.active;
    if (sweep.flip_outer == 0) {
      for (;;) {
        std::uint64_t next = 0;
        for (const auto& [flips, first, end] : left) {
          if (more(flips) == 0 || more(flips) > room() || (flips & ~wires)) continue;
          if (next == 0 || more(flips) < more(next)) next = flips;
        }
        if (next == 0) break;
        sweep.active |= next & ~lanes;
      }
    }
    for (int w = passes.lane_bits; room() > 0; ++w) sweep.active |= bit(w) & wires;
    std::vector<Same> rest;
    for (const Same& same : left) {
      if ((same.flips & ~lanes & ~sweep.active) != sweep.flip_outer) {
        rest.push_back(same);
        continue;
      }
      SweepGroup group{place_bits(same.flips, sweep.active, passes.lane_bits), sweep.z.size(),
                       same.end - same.first};
      for (std::size_t k = same.first; k < same.end; ++k) {
        const std::uint32_t j = order[k];
        const circuit::PauliTerm& s = strings.strings[j];
        sweep.z.push_back(place_bits(s.z, sweep.active, passes.lane_bits));
        sweep.y.push_back(static_cast<std::uint8_t>(std::popcount(s.x & s.z) & 3));
        sweep.string.push_back(j);
      }
      sweep.groups.push_back(group);
    }
    left = std::move(rest);
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

}  // namespace tilewave::parametric
