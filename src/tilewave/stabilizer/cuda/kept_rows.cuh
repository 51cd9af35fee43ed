// Rows of those shots that are kept, one behind the other, and in the layouts of decoders.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/stabilizer/cuda/bit_rows.cuh"
#include "tilewave/stabilizer/cuda/device_buffer.cuh"

namespace tilewave::stabilizer {

/// Rows of shots, `stride_words` words of 32 bits apart.
struct ShotRows {
  const std::uint32_t* words;
  std::uint64_t count, stride_words;
};

/// Bit s % 32 of kept[s / 32]: shot s is in [from, to) and has no bit of `mask` (of `mask_words`
/// words) set; the rows of others become zeros. The number of shots is a multiple of 32.
void flag_kept_rows(std::uint32_t* rows, std::uint64_t num_shots, std::uint64_t stride_words,
                    const std::uint32_t* mask, std::uint32_t mask_words, std::uint64_t from,
                    std::uint64_t to, std::uint32_t* kept, cudaStream_t stream);
/// Adds the ones of `num_words` words to `sum`.
void count_kept_rows(const std::uint32_t* kept, std::uint64_t num_words, unsigned long long* sum,
                     cudaStream_t stream);

/// Where kept rows go.
class RowOffsets {
 public:
  /// Sums up the ones of so many words on a stream.
  void start(const std::uint32_t* kept, std::uint64_t num_words, cudaStream_t stream);
  /// All of them; waits for the stream.
  std::uint64_t total(cudaStream_t stream);
  /// Those before each word.
  const std::uint32_t* sums() const { return sums_.get(); }

 private:
  DeviceBuffer<std::uint32_t> sums_;
  DeviceBuffer<std::uint8_t> scratch_;
  std::uint64_t num_words_ = 0;
};
/// Copies the kept ones of rows to out.
void close_rows(const ShotRows& rows, const std::uint32_t* kept, const std::uint32_t* sums,
                std::uint32_t* out, cudaStream_t stream);

/// Bits [first, first + num_bits) of rows as bytes without gaps: eight bits a byte, or one where
/// `bytes`.
void cut_rows(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits, bool bytes,
              std::uint8_t* out, cudaStream_t stream);
/// The same bits as rows, eight shots a byte; zeros behind the last.
void turn_rows(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
               const BitRowsOut& out, cudaStream_t stream);
/// How many of the bits are set in each shot.
void count_ones(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
                std::int64_t* counts, cudaStream_t stream);
/// From these in offsets[1 ..] how many are set in all shots before each, of num_rows + 1 numbers.
/// `scratch`: device memory of list_scratch_bytes(num_rows).
void sum_offsets(std::uint64_t num_rows, std::int64_t* offsets, void* scratch, cudaStream_t stream);
std::size_t list_scratch_bytes(std::uint64_t num_rows);
/// Which bits are set, shot after shot.
void list_ones(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
               const std::int64_t* offsets, std::uint32_t* ones, cudaStream_t stream);

}  // namespace tilewave::stabilizer
