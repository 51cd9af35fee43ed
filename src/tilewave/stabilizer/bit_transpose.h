// Transposing bits between the engines' rows (one row an output bit, one bit a shot) and the
// shot-major rows of files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::stabilizer {

/// rows: num_bits rows of row_words u64 (bit s of a row: shot s). out: num_shots rows of out_stride
/// bytes, bit b at byte b / 8; the bytes behind ceil(num_bits / 8) are left alone.
void transpose_rows(const std::uint64_t* rows, std::size_t num_bits, std::size_t row_words,
                    std::size_t num_shots, std::uint8_t* out, std::size_t out_stride);

}  // namespace tilewave::stabilizer
