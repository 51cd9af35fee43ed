// Sums in a fixed order: a pairwise tree.
#pragma once

#include <bit>
#include <cstddef>

namespace tilewave::statevec::cpu {

inline double tree_sum(const double* v, std::size_t count) {
  if (count == 0) return 0;
  if (count == 1) return v[0];
  const std::size_t half = std::bit_ceil(count) / 2;
  return tree_sum(v, half) + tree_sum(v + half, count - half);
}

}  // namespace tilewave::statevec::cpu
