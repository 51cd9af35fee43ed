#include "tilewave/stabilizer/cuda/bit_rows.cuh"

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/lane_sums.cuh"
#include "tilewave/stabilizer/cuda/bit_square.cuh"
#include "tilewave/stabilizer/cuda/pack_tiles.cuh"
#include "tilewave/stabilizer/cuda/store_shots.cuh"

namespace tilewave::stabilizer {
namespace {

constexpr int kThreads = 256;

__device__ bool inverted(const BitRows& b, std::uint64_t row) {
  return b.flips && ((b.flips[row / 32] >> (row % 32)) & 1);
}

// A block a row; 4 bytes of memory a unit.
__global__ void __launch_bounds__(kThreads) count_ones(BitRows b, unsigned long long* counts) {
  const std::uint64_t row = blockIdx.x;
  const auto* from = reinterpret_cast<const uint4*>(b.bits + row * b.pitch);
  unsigned ones = 0;
  for (std::uint64_t k = threadIdx.x; k < b.num_units / 4; k += kThreads) {
    const uint4 v = from[k];
    ones += static_cast<unsigned>(__popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w));
  }
  ones = runtime::cuda::sum_of_lanes(ones);
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) atomicAdd(&sum, static_cast<unsigned long long>(ones));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(counts + row, inverted(b, row) ? b.num_units * 32 - sum : sum);
}

constexpr int kTileWords = 8;  // 256 bits of 32 units at a time

// Warp w: 32 bits of 32 units, each unit's square transposed in registers. The tile's rows of 32
// bytes a shot leave together. Padding keeps both sides free of bank conflicts.
__global__ void __launch_bounds__(32 * kTileWords, 4)
    transpose_tiles(BitRows b, std::uint32_t* out, std::uint64_t stride_words) {
  __shared__ std::uint32_t tile[kTileWords][32 * 33 + 4];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // The tiles of a row follow each other: their parts of a line of memory leave together.
  const auto tiles = static_cast<unsigned>((stride_words + kTileWords - 1) / kTileWords);
  const std::uint64_t first_unit = std::uint64_t{blockIdx.x / tiles} * 32;
  const std::uint64_t first_word = std::uint64_t{blockIdx.x % tiles} * kTileWords;
  std::uint32_t* const own = tile[warp];
  const std::uint64_t first_row = (first_word + warp) * 32;
  const bool is_used = first_word + warp < stride_words;  // the same in a warp
  const std::uint32_t* from = b.bits + first_row * b.pitch + first_unit + lane;
  const std::uint32_t inverse = b.flips && is_used ? b.flips[first_row / 32] : 0;
#pragma unroll 8  // so many reads under way
  for (std::uint32_t r = 0; is_used && r < 32; ++r, from += b.pitch) {
    std::uint32_t v = first_row + r < b.num_rows ? *from : 0;
    if ((inverse >> r) & 1) v = ~v;
    own[r * 33 + lane] = v;
  }
  __syncwarp();
  for (std::uint32_t unit = 0; is_used && unit < 32; ++unit) {
    own[lane * 33 + unit] = transposed(own[lane * 33 + unit]);
  }
  __syncthreads();
  const std::uint32_t word = threadIdx.x % kTileWords;
  if (first_word + word >= stride_words) return;
  for (std::uint32_t shot = threadIdx.x / kTileWords; shot < 1024; shot += 32)
    out[(first_unit * 32 + shot) * stride_words + first_word + word] =
        tile[word][shot % 32 * 33 + shot / 32];
}

__global__ void __launch_bounds__(kPackThreads, 4) pack_tiles(PackView v) {
  extern __shared__ std::uint32_t shared[];
  pack_tile(v, blockIdx.x, shared);
}

// Thread t of a row: 32 shots of the output, those of word `first_word` + t.
__global__ void __launch_bounds__(kThreads)
    copy_bits(BitRows b, std::uint64_t first, std::uint64_t from, std::uint64_t count,
              BitRowsOut out, std::uint64_t row_blocks) {
  const std::uint64_t line = blockIdx.x / row_blocks, row = first + line;
  const std::uint64_t t = blockIdx.x % row_blocks * kThreads + threadIdx.x;
  const std::uint64_t word = out.done / 32 + t;
  if (32 * word >= out.done + count) return;
  // Bits of `b` from `at` on go to the output's bits from `skip` on.
  const auto skip = t == 0 ? static_cast<std::uint32_t>(out.done % 32) : 0;
  const std::uint64_t at = from + 32 * word + skip - out.done, end = from + count;
  const std::uint32_t* const bits = b.bits + row * b.pitch;
  const auto shift = static_cast<std::uint32_t>(at % 32);
  const std::uint32_t next = shift && at / 32 + 1 < b.num_units ? bits[at / 32 + 1] : 0;
  std::uint32_t v = __funnelshift_r(bits[at / 32], next, shift);
  if (inverted(b, row)) v = ~v;
  if (end - at < 32) v &= (1u << (end - at)) - 1;
  store_shots(out, line, word, v << skip, skip);
}

}  // namespace

void pack_bit_rows(const BitRows& rows, std::uint64_t first, std::uint64_t num_bits,
                   std::uint64_t from, std::uint64_t to, const PackedOut& out,
                   cudaStream_t stream) {
  if (num_bits == 0 || from >= to) return;
  PackView v{rows.bits, rows.flips, rows.pitch, first, from, to, out.rows, out.stride, out.offset};
  v.num_bits = static_cast<std::uint32_t>(num_bits);
  v = with_tiles(v);
  TW_CHECK(pack_blocks(v) < std::uint64_t{1} << 31, "too many threads for one launch");
  pack_tiles<<<static_cast<unsigned>(pack_blocks(v)), kPackThreads,
               pack_shared_words(v) * sizeof(std::uint32_t), stream>>>(v);
}

void copy_bit_rows(const BitRows& rows, std::uint64_t first, std::uint64_t num_rows,
                   std::uint64_t from, std::uint64_t count, const BitRowsOut& out,
                   cudaStream_t stream) {
  if (num_rows == 0 || count == 0) return;
  const std::uint64_t words = (out.done + count + 31) / 32 - out.done / 32;
  const std::uint64_t row_blocks = (words + kThreads - 1) / kThreads;
  TW_CHECK(num_rows * row_blocks < std::uint64_t{1} << 31, "too many threads for one launch");
  copy_bits<<<static_cast<unsigned>(num_rows * row_blocks), kThreads, 0, stream>>>(
      rows, first, from, count, out, row_blocks);
}

void count_bit_rows(const BitRows& rows, unsigned long long* counts, cudaStream_t stream) {
  if (rows.num_rows == 0) return;
  count_ones<<<static_cast<unsigned>(rows.num_rows), kThreads, 0, stream>>>(rows, counts);
}

void transpose_bit_rows(const BitRows& rows, std::uint32_t* out, std::uint64_t stride_words,
                        cudaStream_t stream) {
  const std::uint64_t grid = rows.num_units / 32 * ((stride_words + kTileWords - 1) / kTileWords);
  transpose_tiles<<<static_cast<unsigned>(grid), 32 * kTileWords, 0, stream>>>(rows, out,
                                                                               stride_words);
}

}  // namespace tilewave::stabilizer
