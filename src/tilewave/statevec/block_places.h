// A BlockMap (state.h) as a thread reads it: the e-th amplitude that is not known to be zero, and
// its address in the larger memory.
#pragma once

#include <cstdint>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/host_device.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec {

struct BlockPlaces {
  static constexpr int kMostBits = 48;
  int num_zeros = 0, num_moved = 0, block_bits = 0;
  std::uint64_t kept = 0;  ///< index bits that are the same bit of the address
  std::uint64_t address = 0;
  std::uint8_t zeros[kMostBits] = {};  ///< index bits known to be zero, ascending
  std::uint8_t from[kMostBits] = {}, to[kMostBits] = {};

  TW_HD std::uint64_t index(std::uint64_t e) const {
    for (int k = 0; k < num_zeros; ++k) {
      const std::uint64_t low = e & ((std::uint64_t{1} << zeros[k]) - 1);
      e = ((e ^ low) << 1) | low;
    }
    return e;
  }
  TW_HD std::uint64_t address_of(std::uint64_t i) const {
    std::uint64_t a = i & kept;
    for (int k = 0; k < num_moved; ++k) a |= (i >> from[k] & 1) << to[k];
    return a ^ address;
  }
};

inline BlockPlaces block_places(const BlockMap& map, int num_qubits, std::uint64_t known_zero) {
  TW_CHECK(num_qubits <= BlockPlaces::kMostBits, "more qubits than a kernel counts");
  BlockPlaces places;
  places.address = map.address;
  places.block_bits = map.block_qubits;
  for (int p = 0; p < num_qubits; ++p) {
    const auto to = static_cast<std::uint8_t>(map.address_bit[static_cast<std::size_t>(p)]);
    if (known_zero >> p & 1) {
      places.zeros[places.num_zeros++] = static_cast<std::uint8_t>(p);
    } else if (to == p) {
      places.kept |= bit(p);
    } else {
      places.from[places.num_moved] = static_cast<std::uint8_t>(p);
      places.to[places.num_moved++] = to;
    }
  }
  return places;
}

}  // namespace tilewave::statevec
