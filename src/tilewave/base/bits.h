// Bit arithmetic on basis-state indices. Bit k of an index is qubit k (or physical position k).
#pragma once

#include <bit>
#include <cstdint>

#include "tilewave/base/host_device.h"

namespace tilewave {

/// 2^k as a 64-bit index.
TW_HD constexpr std::uint64_t bit(int k) { return std::uint64_t{1} << k; }

/// The lowest k bits set; k in [0, 64].
TW_HD constexpr std::uint64_t low_mask(int k) {
  return k >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << k) - 1;
}

/// Scatters the low bits of `value` to the set positions of `mask`, lowest first (pdep).
TW_HD constexpr std::uint64_t deposit_bits(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t out = 0;
  for (; mask; mask &= mask - 1, value >>= 1) {
    if (value & 1) out |= mask & (~mask + 1);
  }
  return out;
}

/// Gathers the bits of `value` at the set positions of `mask` to the low end (pext).
TW_HD constexpr std::uint64_t extract_bits(std::uint64_t value, std::uint64_t mask) {
  std::uint64_t out = 0;
  for (int k = 0; mask; mask &= mask - 1, ++k) {
    if (value & mask & (~mask + 1)) out |= std::uint64_t{1} << k;
  }
  return out;
}

/// Calls f(k) for every set bit k of `mask`, lowest first.
template <class F>
constexpr void for_each_bit(std::uint64_t mask, F f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

}  // namespace tilewave
