// Where a physical index lives in memory. Rows of a tile lie at power-of-two strides and would fall
// on a few sets of the second-level cache, so the bits that choose the set within 128 KiB are
// summed (XOR) with the bits above: a linear map that is its own inverse and keeps runs of 256
// bytes together.
#pragma once

#include <cstdint>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::cpu {

template <class T>
struct Address {
  static constexpr int kRowBits =
      sizeof(T) == 8 ? 4 : 5;         ///< 2^kRowBits amplitudes stay together: 256 bytes
  static constexpr int kSetBits = 9;  ///< of rows in 128 KiB
  static constexpr int kTopBits = kRowBits + kSetBits;  ///< bits from here on are folded in

  /// Memory index of a physical index, and the reverse.
  static constexpr std::uint64_t of(std::uint64_t index) {
    std::uint64_t fold = 0;
    for (std::uint64_t high = index >> kTopBits; high; high >>= kSetBits)
      fold ^= high & low_mask(kSetBits);
    return index ^ (fold << kRowBits);
  }

  /// The mask m' with parity(m & index) = parity(m' & of(index)).
  static constexpr std::uint64_t transpose(std::uint64_t mask) {
    const std::uint64_t sets = mask >> kRowBits & low_mask(kSetBits);
    std::uint64_t spread = 0;
    for (int k = kTopBits; k < 64; k += kSetBits) spread |= sets << k;
    return mask ^ spread;
  }
};

}  // namespace tilewave::statevec::cpu
