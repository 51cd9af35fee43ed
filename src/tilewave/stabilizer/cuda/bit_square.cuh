// Squares of 32 x 32 bits in the registers of a warp.
#pragma once

#include <cstdint>

namespace tilewave::stabilizer {

/// Lane k gives row k of a square and gets its column k: bit j is bit k of what lane j gave. All lanes of the
/// warp call it together.
__device__ __forceinline__ std::uint32_t transposed(std::uint32_t v) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t mask = 0x0000FFFFu;  // exchange blocks of 16, 8, .. rows and columns
#pragma unroll
  for (std::uint32_t width = 16; width; width >>= 1, mask ^= mask << width) {
    const std::uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, v, static_cast<int>(width));
    v = lane & width ? (v & ~mask) | ((other >> width) & mask)
                     : (v & mask) | ((other << width) & ~mask);
  }
  return v;
}

}  // namespace tilewave::stabilizer
