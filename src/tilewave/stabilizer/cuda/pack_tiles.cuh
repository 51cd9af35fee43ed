// From bits as the frame kernel leaves them, [bit][unit of 32 shots], to packed rows of shots without gaps. A
// block makes some words of the rows of 256 shots: warps read 32 bytes of a bit at a time, transpose squares
// of 32 bits of 32 shots in registers, and keep each row shifted to where it begins in a word of the
// output, so that it leaves in whole words but for its ends.
#pragma once

#include <cstdint>

#include "tilewave/stabilizer/cuda/bit_square.cuh"
#include "tilewave/stabilizer/cuda/row_bytes.cuh"

namespace tilewave::stabilizer {

constexpr std::uint32_t kPackUnits = 8, kPackThreads = 32 * kPackUnits;
constexpr std::uint32_t kPackWords = 32;  // of a tile, at most
constexpr std::uint32_t kPackStep = 8;    // words that are read at a time
// Between units of a step: four bits of eight of them are stored together, to 32 banks.
constexpr std::uint32_t kPackPitch = 36;
constexpr std::uint32_t kPackStageWords = kPackStep * kPackUnits * kPackPitch;

/// Shots [from, to) of units of `bits`, rows of `num_bits` bits from `first` on; shot s is row s + offset
/// of the output, which begins at a whole word.
struct PackView {
  const std::uint32_t* bits;
  const std::uint32_t* flips;  // bit r: bits[r] is inverted; or null
  std::uint64_t pitch, first, from, to;
  std::uint8_t* out;
  std::uint64_t stride;
  std::int64_t offset;
  std::uint32_t num_bits = 0;
  // Of a row that begins inside a word; of a tile; tiles of a row.
  std::uint32_t words = 0, tile_words = 0, tiles = 0;
};

TW_HD PackView with_tiles(PackView v) {
  v.words = (v.num_bits + most_shift_of(v.stride) + 31) / 32;
  v.tiles = (v.words + kPackWords - 1) / kPackWords;
  v.tile_words = (v.words + v.tiles - 1) / v.tiles;
  return v;
}
/// Shared memory of a block; odd rows, so that shots beside each other are in other banks.
TW_HD std::uint32_t pack_row_words(const PackView& v) { return v.tile_words | 1; }
TW_HD std::uint32_t pack_shared_words(const PackView& v) {
  return kPackStageWords + kPackThreads * pack_row_words(v);
}
TW_HD std::uint64_t pack_blocks(const PackView& v) {
  return ((v.to + kPackThreads - 1) / kPackThreads - v.from / kPackThreads) * v.tiles;
}

/// Block `block` of pack_blocks().
__device__ inline void pack_tile(const PackView& v, std::uint64_t block, std::uint32_t* shared) {
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint64_t first_shot = (v.from / kPackThreads + block / v.tiles) * kPackThreads;
  const std::uint32_t begin = static_cast<std::uint32_t>(block % v.tiles) * v.tile_words;
  const std::uint32_t end = begin + v.tile_words < v.words ? begin + v.tile_words : v.words;
  const std::uint32_t row_words = pack_row_words(v);
  std::uint32_t* const stage = shared;
  std::uint32_t* const rows = shared + kPackStageWords;
  // Byte of the output at which the first shot's row begins; it lies before it where shots are not wanted.
  const std::int64_t first_byte =
      (static_cast<std::int64_t>(first_shot) + v.offset) * static_cast<std::int64_t>(v.stride);
  const auto skew_of = [&](std::uint32_t shot) {
    return (static_cast<std::uint32_t>(first_byte) + shot * static_cast<std::uint32_t>(v.stride)) &
           3;
  };

  // Warp w: word w of a step, four bits of eight units at a time.
  std::uint32_t read[kPackStep];
  const auto read_step = [&](std::uint32_t word) {
    word += warp;
    const std::uint32_t* const from = v.bits + (first_shot / 32 + lane % kPackUnits);
#pragma unroll
    for (std::uint32_t k = 0; k < kPackStep; ++k) {
      const std::uint32_t b = 32 * word + 4 * k + lane / kPackUnits;
      const std::uint64_t bit = v.first + b;
      read[k] = 0;
      if (word >= end || b >= v.num_bits) continue;
      read[k] = from[bit * v.pitch];
      if (v.flips && (v.flips[bit / 32] >> (bit % 32) & 1)) read[k] = ~read[k];
    }
  };
  const std::uint32_t shift = 8 * skew_of(threadIdx.x);
  std::uint32_t before = 0;  // the word before, of this thread's shot
  std::uint32_t word = begin == 0 ? 0 : begin - 1;
  read_step(word);
  for (; word < end; word += kPackStep) {
#pragma unroll
    for (std::uint32_t k = 0; k < kPackStep; ++k)
      stage[(warp * kPackUnits + lane % kPackUnits) * kPackPitch + 4 * k + lane / kPackUnits] =
          read[k];
    __syncthreads();
    if (word + kPackStep < end) read_step(word + kPackStep);
    std::uint32_t own[kPackStep];
#pragma unroll
    for (std::uint32_t k = 0; k < kPackStep; ++k)
      own[k] = transposed(stage[(k * kPackUnits + warp) * kPackPitch + lane]);
#pragma unroll
    for (std::uint32_t k = 0; k < kPackStep; ++k) {
      if (word + k >= begin && word + k < end)
        rows[threadIdx.x * row_words + (word + k - begin)] = __funnelshift_l(before, own[k], shift);
      before = own[k];
    }
    __syncthreads();
  }

  // The words of all rows, one behind the other.
  const std::uint32_t count = end - begin;
  const std::uint32_t rows_on = kPackThreads / count, words_on = kPackThreads % count;
  std::uint32_t shot = threadIdx.x / count, k = threadIdx.x % count;
  while (shot < kPackThreads) {
    const std::uint64_t s = first_shot + shot;
    if (s >= v.from && s < v.to) {
      const std::int64_t byte = first_byte + static_cast<std::int64_t>(shot * v.stride);
      auto* const to =
          reinterpret_cast<std::uint32_t*>(v.out + (byte & ~std::int64_t{3})) + (begin + k);
      store_bytes(to, rows[shot * row_words + k],
                  row_bytes_of(begin + k, static_cast<std::uint32_t>(byte) & 3, v.num_bits));
    }
    shot += rows_on, k += words_on;
    if (k >= count) k -= count, ++shot;
  }
}

}  // namespace tilewave::stabilizer
