// The amplitudes of a part that changes places in an exchange, as elements a kernel counts: which
// index bits are fixed (holes), and where the part begins.
#pragma once

#include <bit>
#include <cstdint>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/distributed/transport.h"

namespace tilewave::statevec::cuda {

constexpr int kMaxHoles = 48;

/// Spreads a number over the index bits that are no holes.
struct Holes {
  int count = 0;
  std::uint8_t at[kMaxHoles] = {};  // ascending

  __host__ __device__ std::uint64_t spread(std::uint64_t x) const {
    for (int k = 0; k < count; ++k) {
      const std::uint64_t low = x & ((std::uint64_t{1} << at[k]) - 1);
      x = ((x ^ low) << 1) | low;
    }
    return x;
  }
};

struct Part {
  Holes holes;              // over elements
  std::uint64_t count = 0;  // elements
  std::size_t element_bytes = 16;
};

/// Elements of 16 bytes, or one amplitude of FP32 where two do not lie together. `slice` are bits
/// that are fixed besides.
inline Part part_of(const distributed::ShardSwap& swap, std::uint64_t slice,
                    std::size_t real_bytes) {
  std::uint64_t mask = swap.known_zero | slice;
  for (const int p : swap.local_bits) mask |= bit(p);
  const bool paired = real_bytes == 4 && !(mask & 1);
  const int shift = paired ? 1 : 0;
  Part part;
  part.element_bytes = real_bytes == 8 || paired ? 16 : 8;
  for_each_bit(mask, [&](int p) {
    part.holes.at[part.holes.count++] = static_cast<std::uint8_t>(p - shift);
  });
  part.count = bit(swap.local_qubits - std::popcount(mask) - shift);
  return part;
}

/// Index of the first amplitude of part `part` where the slice's bits have the value.
inline std::uint64_t part_begin(const distributed::ShardSwap& swap, std::uint64_t part,
                                std::uint64_t value) {
  for (int j = 0; j < swap.num_bits(); ++j) value |= (part >> j & 1) << swap.local_bits[j];
  return value;
}

}  // namespace tilewave::statevec::cuda
