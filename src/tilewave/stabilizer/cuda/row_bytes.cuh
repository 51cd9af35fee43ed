// Packed rows of shots without gaps, which begin at any byte: where their words lie in those of memory. A row is
// held shifted by 8 times the byte of a word at which it begins; then a word of it is a word of memory, and
// only the first and the last, which it shares with its neighbours, are stored as bytes.
#pragma once

#include <cstdint>

#include "tilewave/base/host_device.h"

namespace tilewave::stabilizer {

/// By how many bits rows are shifted at most.
constexpr std::uint32_t kMostShift = 24;
/// The same of rows that are so many bytes apart.
TW_HD std::uint32_t most_shift_of(std::uint64_t stride) {
  return stride % 4 == 0 ? 0 : stride % 2 == 0 ? 16 : kMostShift;
}

/// Which bytes of a word of an array belong to a row, and which bits of them to its part.
struct RowBytes {
  std::uint32_t begin, end, mask;
};
/// Of word `word` from the one on in which a row of `num_bits` bits begins, at its byte `skew`.
TW_HD RowBytes row_bytes_of(std::uint32_t word, std::uint32_t skew, std::uint32_t num_bits) {
  const std::uint32_t begin = word == 0 ? skew : 0;
  const std::uint32_t end_bit = num_bits + 8 * skew, first_bit = 32 * word;
  if (end_bit <= first_bit) return {0, 0, 0};
  const std::uint32_t bits = end_bit - first_bit;
  return {begin, bits >= 32 ? 4 : (bits + 7) / 8, bits >= 32 ? ~0u : (1u << bits) - 1};
}

/// The bits of a word that belong to a row, to the word of memory `to`; bytes beside them are other threads'.
__device__ inline void store_bytes(std::uint32_t* to, std::uint32_t v, const RowBytes& b) {
  v &= b.mask;
  if (b.begin == 0 && b.end == 4) {
    *to = v;
  } else if (((b.begin | b.end) & 1) == 0) {
    if (b.begin < b.end)
      reinterpret_cast<std::uint16_t*>(to)[b.begin / 2] =
          static_cast<std::uint16_t>(v >> 8 * b.begin);
  } else {
    for (std::uint32_t k = b.begin; k < b.end; ++k)
      reinterpret_cast<std::uint8_t*>(to)[k] = static_cast<std::uint8_t>(v >> 8 * k);
  }
}

}  // namespace tilewave::stabilizer
