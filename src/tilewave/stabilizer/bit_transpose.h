// Transposing bits between the engines' rows (one row an output bit, one bit a shot) and the
// shot-major rows of files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::stabilizer {

/// Transposes a 64 x 64 block in place: bit j of rows[i] becomes bit i of rows[j].
inline void transpose64(std::uint64_t* rows) {
  std::uint64_t mask = 0x00000000FFFFFFFFull;
  for (int width = 32; width; width >>= 1, mask ^= mask << width) {
    for (int i = 0; i < 64; i = ((i | width) + 1) & ~width) {
      const std::uint64_t swap = ((rows[i] >> width) ^ rows[i | width]) & mask;
      rows[i] ^= swap << width;
      rows[i | width] ^= swap;
    }
  }
}

/// rows: num_bits rows of row_words u64 (bit s of a row: shot s). out: num_shots rows of out_stride
/// bytes, bit b at byte b / 8; the bytes behind ceil(num_bits / 8) are left alone.
void transpose_rows(const std::uint64_t* rows, std::size_t num_bits, std::size_t row_words,
                    std::size_t num_shots, std::uint8_t* out, std::size_t out_stride);

}  // namespace tilewave::stabilizer
