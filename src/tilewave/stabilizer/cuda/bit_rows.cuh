// Bits as the frame kernel leaves them, [bit][unit of 32 shots]: counted as they are, or transposed
// to rows of shots.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tilewave::stabilizer {

struct BitRows {
  const std::uint32_t* bits;
  std::uint64_t num_rows, num_units;  // units: a multiple of 32
  const std::uint32_t* flips;         // bit r: row r is inverted; or null
};

/// Adds the ones of every row to its count.
void count_bit_rows(const BitRows& rows, unsigned long long* counts, cudaStream_t stream);
/// Shot s to out[s * stride_words ...]; bits behind the last row are 0.
void transpose_bit_rows(const BitRows& rows, std::uint32_t* out, std::uint64_t stride_words,
                        cudaStream_t stream);

}  // namespace tilewave::stabilizer
