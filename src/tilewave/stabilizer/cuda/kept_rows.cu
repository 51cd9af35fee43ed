#include "tilewave/stabilizer/cuda/kept_rows.cuh"

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/lane_sums.cuh"
#include "tilewave/stabilizer/cuda/bit_square.cuh"
#include "tilewave/stabilizer/cuda/store_shots.cuh"

namespace tilewave::stabilizer {
namespace {

constexpr unsigned kThreads = 256;

unsigned blocks_for(std::uint64_t threads) {
  const std::uint64_t blocks = (threads + kThreads - 1) / kThreads;
  TW_CHECK(blocks < (std::uint64_t{1} << 31), "too many threads for one launch");
  return static_cast<unsigned>(blocks);
}
void check_start() { check_cuda(cudaGetLastError(), "start to keep rows"); }

__global__ void __launch_bounds__(kThreads)
    flag_rows(std::uint32_t* rows, std::uint64_t num_shots, std::uint64_t stride_words,
              const std::uint32_t* mask, std::uint32_t mask_words, std::uint64_t from,
              std::uint64_t to, std::uint32_t* kept) {
  const std::uint64_t s = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (s >= num_shots) return;  // whole warps
  std::uint32_t* row = rows + s * stride_words;
  bool keep = s >= from && s < to;
  for (std::uint32_t k = 0; keep && k < mask_words; ++k) keep = !(row[k] & mask[k]);
  for (std::uint64_t k = 0; !keep && k < stride_words; ++k) row[k] = 0;
  const std::uint32_t all = __ballot_sync(0xFFFFFFFFu, keep);
  if (threadIdx.x % 32 == 0) kept[s / 32] = all;
}

__global__ void __launch_bounds__(kThreads)
    sum_ones(const std::uint32_t* words, std::uint64_t num_words, unsigned long long* sum) {
  unsigned ones = 0;
  for (std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; k < num_words;
       k += std::uint64_t{gridDim.x} * kThreads)
    ones += static_cast<unsigned>(__popc(words[k]));
  ones = runtime::cuda::sum_of_lanes(ones);
  if (threadIdx.x % 32 == 0 && ones) atomicAdd(sum, static_cast<unsigned long long>(ones));
}

// A thread a word of a row.
__global__ void __launch_bounds__(kThreads)
    close(ShotRows rows, const std::uint32_t* kept, const std::uint32_t* sums, std::uint32_t* out) {
  const std::uint64_t at = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t s = at / rows.stride_words;
  if (s >= rows.count) return;
  const std::uint32_t flags = kept[s / 32], bit = 1u << (s % 32);
  if (!(flags & bit)) return;
  const std::uint64_t to = sums[s / 32] + static_cast<std::uint32_t>(__popc(flags & (bit - 1)));
  out[to * rows.stride_words + (at - s * rows.stride_words)] = rows.words[at];
}

/// 32 bits of a row from `bit` on; zeros from `end` on.
__device__ std::uint32_t bits_at(const std::uint32_t* row, std::uint32_t bit, std::uint32_t end) {
  if (bit >= end) return 0;
  const std::uint32_t w = bit / 32, shift = bit % 32;
  const std::uint32_t next = shift && w < (end - 1) / 32 ? row[w + 1] : 0;
  const std::uint32_t v = __funnelshift_r(row[w], next, shift);
  const std::uint32_t left = end - bit;
  return left < 32 ? v & ((1u << left) - 1) : v;
}

/// Where bytes of rows without gaps come from: byte `k` of the row at `row`.
struct CutPlace {
  const std::uint32_t* row;
  std::uint32_t k;
};
/// Which bits are cut, of rows `stride_words` apart.
struct CutBits {
  std::uint64_t stride_words;
  std::uint32_t first, end, row_bytes;
};

/// The bits of `count` bytes from a place on, over the ends of rows: of packed bytes 8 each, of others
/// one. All of them are of rows that are there.
template <bool kBytes>
__device__ std::uint32_t cut_bits(const CutBits& c, CutPlace at, std::uint32_t count) {
  constexpr std::uint32_t kEach = kBytes ? 1 : 8;
  std::uint32_t v = bits_at(at.row, c.first + kEach * at.k, c.end);
  for (std::uint32_t have = c.row_bytes - at.k; have < count; have += c.row_bytes) {
    at.row += c.stride_words;
    v |= bits_at(at.row, c.first, c.end) << kEach * have;
  }
  return v;
}
__device__ void advance(const CutBits& c, CutPlace* at, std::uint32_t count) {
  at->k += count;
  while (at->k >= c.row_bytes) at->k -= c.row_bytes, at->row += c.stride_words;
}
/// Bits 0 to 3 as bytes.
__device__ std::uint32_t as_bytes(std::uint32_t bits) {
  return (bits & 15) * 0x00204081u & 0x01010101u;
}

constexpr std::uint32_t kCutBytes = 16, kCutTurns = 4;  // of a thread: a store, stores

// Thread t of a block: the aligned 16 bytes t of the block's stretch of the output, then those a
// block further. Few registers: a block finds room beside one that makes the next shots.
template <bool kBytes>
__global__ void __launch_bounds__(kThreads, 4)
    cut(ShotRows rows, CutBits c, std::uint8_t* out, std::uint32_t skew, std::uint64_t num_bytes) {
  // Byte b of the output is byte b + skew from an aligned place on.
  const std::uint64_t start = std::uint64_t{blockIdx.x} * (kThreads * kCutBytes * kCutTurns);
  const std::uint64_t first_byte = start < skew ? 0 : start - skew;
  const std::uint64_t first_row = first_byte / c.row_bytes;
  const auto behind = static_cast<std::uint32_t>(first_byte - first_row * c.row_bytes);
  for (std::uint32_t turn = 0; turn < kCutTurns; ++turn) {
    const std::uint64_t at = start + kCutBytes * (turn * kThreads + threadIdx.x);
    const std::uint64_t begin = at < skew ? 0 : at - skew;
    if (begin >= num_bytes) return;
    const std::uint32_t offset = behind + static_cast<std::uint32_t>(begin - first_byte);
    const std::uint32_t row = offset / c.row_bytes;
    CutPlace place{rows.words + (first_row + row) * c.stride_words, offset - row * c.row_bytes};
    const std::uint64_t stop = min(at + kCutBytes - skew, num_bytes);
    if (stop - begin < kCutBytes) {  // at the ends of the output
      for (std::uint64_t b = begin; b < stop; ++b) {
        out[b] = static_cast<std::uint8_t>(cut_bits<kBytes>(c, place, 1) & (kBytes ? 1 : 255));
        advance(c, &place, 1);
      }
      continue;
    }
    uint4 v;
    if constexpr (kBytes) {
      const std::uint32_t bits = cut_bits<true>(c, place, kCutBytes);
      v = {as_bytes(bits), as_bytes(bits >> 4), as_bytes(bits >> 8), as_bytes(bits >> 12)};
    } else {
      v.x = cut_bits<false>(c, place, 4);
      advance(c, &place, 4);
      v.y = cut_bits<false>(c, place, 4);
      advance(c, &place, 4);
      v.z = cut_bits<false>(c, place, 4);
      advance(c, &place, 4);
      v.w = cut_bits<false>(c, place, 4);
    }
    *reinterpret_cast<uint4*>(out + begin) = v;
  }
}

constexpr std::uint32_t kTurnUnits = 8;              // of 32 shots, of a warp
constexpr std::uint32_t kTurnWords = kThreads / 32;  // of a block, a warp each

// Warp w of a block: 32 bits of 256 shots of the output, squares of which are transposed in registers;
// lane k then has 32 bytes of bit k. The block's warps read neighbouring words of the rows.
__global__ void __launch_bounds__(kThreads, 4)
    turn(ShotRows rows, std::uint32_t first, std::uint32_t end, BitRowsOut out,
         std::uint32_t tiles) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t word = blockIdx.x % tiles * kTurnWords + threadIdx.x / 32;
  const std::uint64_t bit = first + 32 * word;
  if (bit >= end) return;  // whole warps
  // Words of the output, the first of which may have shots already.
  const std::uint64_t first_word = out.done / 32;
  const std::uint64_t at = first_word + std::uint64_t{blockIdx.x / tiles} * kTurnUnits;
  const std::uint64_t all = out.done + rows.count;
  std::uint32_t v[kTurnUnits];
#pragma unroll
  for (std::uint32_t u = 0; u < kTurnUnits; ++u) {
    const std::uint64_t s = 32 * (at + u) + lane;
    v[u] = s >= out.done && s < all ? bits_at(rows.words + (s - out.done) * rows.stride_words,
                                              static_cast<std::uint32_t>(bit), end)
                                    : 0;
  }
#pragma unroll
  for (std::uint32_t u = 0; u < kTurnUnits; ++u) v[u] = transposed(v[u]);
  if (bit + lane >= end) return;
  const std::uint64_t line = 32 * word + lane;
  const auto before = at == first_word ? static_cast<std::uint32_t>(out.done % 32) : 0;
  if (!before && at % 4 == 0 && out.stride % 16 == 0 && 32 * (at + kTurnUnits) <= all) {
    auto* const to = reinterpret_cast<uint4*>(out.rows + line * out.stride + 4 * at);
    to[0] = {v[0], v[1], v[2], v[3]};
    to[1] = {v[4], v[5], v[6], v[7]};
    return;
  }
#pragma unroll
  for (std::uint32_t u = 0; u < kTurnUnits; ++u) {
    if (32 * (at + u) < all) store_shots(out, line, at + u, v[u], u == 0 ? before : 0);
  }
}

// Eight threads a row, which read its words together.
constexpr std::uint32_t kListLanes = 8;

__global__ void __launch_bounds__(kThreads)
    count_of_shots(ShotRows rows, std::uint32_t first, std::uint32_t end, std::int64_t* counts) {
  const std::uint64_t t = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t s = t / kListLanes;
  std::int32_t ones = 0;
  if (s < rows.count) {
    const std::uint32_t* row = rows.words + s * rows.stride_words;
    for (std::uint32_t bit = first + 32 * (t % kListLanes); bit < end; bit += 32 * kListLanes)
      ones += __popc(bits_at(row, bit, end));
  }
#pragma unroll
  for (int apart = kListLanes / 2; apart > 0; apart /= 2)
    ones += __shfl_xor_sync(0xFFFFFFFFu, ones, apart);
  if (s < rows.count && t % kListLanes == 0) counts[s] = ones;
}

__global__ void __launch_bounds__(kThreads)
    write_ones(ShotRows rows, std::uint32_t first, std::uint32_t end, const std::int64_t* offsets,
               std::uint32_t* ones) {
  const std::uint64_t t = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t s = t / kListLanes;
  const std::uint32_t lane = t % kListLanes;
  const bool is_there = s < rows.count;
  const std::uint32_t* row = rows.words + s * rows.stride_words;
  std::uint32_t* to = is_there ? ones + offsets[s] : ones;
  for (std::uint32_t at = first; at < end; at += 32 * kListLanes) {  // the same in all threads
    const std::uint32_t bit = at + 32 * lane;
    std::uint32_t left = is_there ? bits_at(row, bit, end) : 0;
    const std::uint32_t own = static_cast<std::uint32_t>(__popc(left));
    std::uint32_t upto = own;  // the ones of this word and those before it
#pragma unroll
    for (std::uint32_t apart = 1; apart < kListLanes; apart *= 2) {
      const std::uint32_t before = __shfl_up_sync(0xFFFFFFFFu, upto, apart, kListLanes);
      if (lane >= apart) upto += before;
    }
    std::uint32_t* next = to + (upto - own);
    for (; left; left &= left - 1)
      *next++ = bit - first + static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
    to += __shfl_sync(0xFFFFFFFFu, upto, kListLanes - 1, kListLanes);
  }
}

struct Ones {
  __device__ std::uint32_t operator()(std::uint32_t word) const {
    return static_cast<std::uint32_t>(__popc(word));
  }
};

}  // namespace

void flag_kept_rows(std::uint32_t* rows, std::uint64_t num_shots, std::uint64_t stride_words,
                    const std::uint32_t* mask, std::uint32_t mask_words, std::uint64_t from,
                    std::uint64_t to, std::uint32_t* kept, cudaStream_t stream) {
  flag_rows<<<blocks_for(num_shots), kThreads, 0, stream>>>(rows, num_shots, stride_words, mask,
                                                            mask_words, from, to, kept);
  check_start();
}

void count_kept_rows(const std::uint32_t* kept, std::uint64_t num_words, unsigned long long* sum,
                     cudaStream_t stream) {
  const unsigned blocks = std::min(1024u, blocks_for(num_words));
  sum_ones<<<blocks, kThreads, 0, stream>>>(kept, num_words, sum);
  check_start();
}

void RowOffsets::start(const std::uint32_t* kept, std::uint64_t num_words, cudaStream_t stream) {
  if (sums_.count() < num_words + 1) sums_ = DeviceBuffer<std::uint32_t>(num_words + 1);
  num_words_ = num_words;
  const auto ones = thrust::make_transform_iterator(kept, Ones{});
  const auto scan = [&](void* scratch, std::size_t& bytes) {
    check_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, ones, sums_.get() + 1,
                                             static_cast<std::int64_t>(num_words), stream),
               "adding up kept rows");
  };
  std::size_t bytes = 0;
  scan(nullptr, bytes);
  if (scratch_.count() < bytes) scratch_ = DeviceBuffer<std::uint8_t>(bytes);
  check_cuda(cudaMemsetAsync(sums_.get(), 0, sizeof(std::uint32_t), stream), "clear a sum");
  scan(scratch_.get(), bytes);
}

std::uint64_t RowOffsets::total(cudaStream_t stream) {
  std::uint32_t all = 0;
  check_cuda(
      cudaMemcpyAsync(&all, sums_.get() + num_words_, sizeof all, cudaMemcpyDeviceToHost, stream),
      "copying a sum");
  check_cuda(cudaStreamSynchronize(stream), "finish the shots on the device");
  return all;
}

void close_rows(const ShotRows& rows, const std::uint32_t* kept, const std::uint32_t* sums,
                std::uint32_t* out, cudaStream_t stream) {
  close<<<blocks_for(rows.count * rows.stride_words), kThreads, 0, stream>>>(rows, kept, sums, out);
  check_start();
}

void cut_rows(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits, bool bytes,
              std::uint8_t* out, cudaStream_t stream) {
  const std::uint64_t row_bytes = bytes ? num_bits : (num_bits + 7) / 8;
  const std::uint64_t num_bytes = rows.count * row_bytes;
  if (num_bytes == 0) return;
  const CutBits c{rows.stride_words, static_cast<std::uint32_t>(first),
                  static_cast<std::uint32_t>(first + num_bits),
                  static_cast<std::uint32_t>(row_bytes)};
  const auto skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(out) % kCutBytes);
  const auto kernel = bytes ? cut<true> : cut<false>;
  const std::uint64_t stores = (num_bytes + skew + kCutBytes - 1) / kCutBytes;
  kernel<<<blocks_for((stores + kCutTurns - 1) / kCutTurns), kThreads, 0, stream>>>(
      rows, c, out, skew, num_bytes);
  check_start();
}

void turn_rows(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
               const BitRowsOut& out, cudaStream_t stream) {
  if (rows.count == 0 || num_bits == 0) return;
  const std::uint64_t words = (out.done + rows.count + 31) / 32 - out.done / 32;
  const std::uint64_t tiles = (num_bits + 32 * kTurnWords - 1) / (32 * kTurnWords);
  const std::uint64_t blocks = (words + kTurnUnits - 1) / kTurnUnits * tiles;
  turn<<<blocks_for(blocks * kThreads), kThreads, 0, stream>>>(
      rows, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + num_bits), out,
      static_cast<std::uint32_t>(tiles));
  check_start();
}

std::size_t list_scratch_bytes(std::uint64_t num_rows) {
  std::size_t bytes = 0;
  std::int64_t* const none = nullptr;
  check_cuda(cub::DeviceScan::InclusiveSum(nullptr, bytes, none, none,
                                           static_cast<std::int64_t>(num_rows), nullptr),
             "adding up ones");
  return bytes;
}

void count_ones(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
                std::int64_t* counts, cudaStream_t stream) {
  if (rows.count == 0) return;
  count_of_shots<<<blocks_for(rows.count * kListLanes), kThreads, 0, stream>>>(
      rows, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + num_bits),
      counts);
  check_start();
}

void sum_offsets(std::uint64_t num_rows, std::int64_t* offsets, void* scratch,
                 cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(offsets, 0, sizeof *offsets, stream), "clear a sum");
  if (num_rows == 0) return;
  std::size_t bytes = list_scratch_bytes(num_rows);
  check_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, offsets + 1, offsets + 1,
                                           static_cast<std::int64_t>(num_rows), stream),
             "adding up ones");
}

void list_ones(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
               const std::int64_t* offsets, std::uint32_t* ones, cudaStream_t stream) {
  if (rows.count == 0) return;
  write_ones<<<blocks_for(rows.count * kListLanes), kThreads, 0, stream>>>(
      rows, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + num_bits),
      offsets, ones);
  check_start();
}

}  // namespace tilewave::stabilizer
