// Bits as the frame kernel leaves them, [bit][unit of 32 shots]: counted as they are, or transposed
// to rows of shots.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tilewave::stabilizer {

/// `bits` has `pitch` units a row, of which num_units are worked on; both are multiples of 32.
struct BitRows {
  const std::uint32_t* bits;
  std::uint64_t num_rows, num_units, pitch;
  const std::uint32_t* flips;  // bit r: row r is inverted; or null
};

/// Rows of a bit each, eight shots a byte, `stride` bytes apart, with `done` shots written before.
struct BitRowsOut {
  std::uint8_t* rows;
  std::uint64_t stride, done;
};

/// Packed rows of shots without gaps, `stride` bytes each; shot s of what they are made from is row
/// s + offset. They begin at a whole word.
struct PackedOut {
  std::uint8_t* rows;
  std::uint64_t stride;
  std::int64_t offset;
};

/// Adds the ones of every row to its count.
void count_bit_rows(const BitRows& rows, unsigned long long* counts, cudaStream_t stream);
/// Shot s to out[s * stride_words ...]; bits behind the last row are 0.
void transpose_bit_rows(const BitRows& rows, std::uint32_t* out, std::uint64_t stride_words,
                        cudaStream_t stream);
/// Shots [from, to) of rows [first, first + num_bits) to `out`.
void pack_bit_rows(const BitRows& rows, std::uint64_t first, std::uint64_t num_bits,
                   std::uint64_t from, std::uint64_t to, const PackedOut& out, cudaStream_t stream);
/// Shots [from, from + count) of rows [first, first + num_rows) to `out`, zeros behind the last.
void copy_bit_rows(const BitRows& rows, std::uint64_t first, std::uint64_t num_rows,
                   std::uint64_t from, std::uint64_t count, const BitRowsOut& out,
                   cudaStream_t stream);

}  // namespace tilewave::stabilizer
