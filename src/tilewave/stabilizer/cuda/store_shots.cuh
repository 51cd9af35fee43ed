// How 32 shots of a bit are stored in rows of a bit each, in which others may stand before them.
#pragma once

#include <cstdint>

#include "tilewave/stabilizer/cuda/bit_rows.cuh"

namespace tilewave::stabilizer {

/// Shots 32 word .. of row `line`, as far as the row goes; the lowest `before` of them are there
/// already.
__device__ inline void store_shots(const BitRowsOut& out, std::uint64_t line, std::uint64_t word,
                                   std::uint32_t shots, std::uint32_t before) {
  std::uint8_t* const row = out.rows + line * out.stride;
  const std::uint64_t at = 4 * word;
  if (out.stride % 4 == 0) {
    auto* const to = reinterpret_cast<std::uint32_t*>(row + at);
    *to = before ? (*to & ((1u << before) - 1)) | shots : shots;
    return;
  }
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (at + k >= out.stride || 8 * (k + 1) <= before) continue;
    const std::uint32_t byte = shots >> 8 * k & 255;
    row[at + k] = static_cast<std::uint8_t>(
        8 * k < before ? (row[at + k] & ((1u << (before - 8 * k)) - 1)) | byte : byte);
  }
}

}  // namespace tilewave::stabilizer
