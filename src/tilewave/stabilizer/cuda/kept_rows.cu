#include "tilewave/stabilizer/cuda/kept_rows.cuh"

#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_scan.cuh>

#include "tilewave/base/error.h"

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
  ones = __reduce_add_sync(0xFFFFFFFFu, ones);
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
__device__ std::uint32_t bits_at(const std::uint32_t* row, std::uint64_t bit, std::uint64_t end) {
  if (bit >= end) return 0;
  const std::uint64_t w = bit / 32;
  const auto shift = static_cast<std::uint32_t>(bit % 32);
  std::uint32_t v = row[w] >> shift;
  if (shift && 32 * (w + 1) < end) v |= row[w + 1] << (32 - shift);
  const std::uint64_t left = end - bit;
  return left < 32 ? v & ((1u << left) - 1) : v;
}

// Thread t: the bytes of the aligned word t of the output, those before the first one by thread 0.
template <bool kBytes>
__global__ void __launch_bounds__(kThreads)
    cut(ShotRows rows, std::uint64_t first, std::uint64_t end, std::uint64_t row_bytes,
        std::uint8_t* out, std::uint32_t lead, std::uint64_t num_bytes) {
  const std::uint64_t t = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t begin = t == 0 ? 0 : lead + 4 * (t - 1);
  if (begin >= num_bytes) return;
  const std::uint64_t stop = min(num_bytes, lead + 4 * t);
  std::uint64_t s = begin / row_bytes, k = begin - s * row_bytes;
  const std::uint32_t* row = rows.words + s * rows.stride_words;
  std::uint32_t word = 0;
  for (std::uint64_t at = begin; at < stop; ++at) {
    const std::uint32_t byte = kBytes ? (row[(first + k) / 32] >> ((first + k) % 32)) & 1
                                      : bits_at(row, first + 8 * k, end) & 255;
    if (++k == row_bytes) k = 0, row += rows.stride_words;
    if (stop - begin == 4) {
      word |= byte << 8 * (at - begin);
    } else {
      out[at] = static_cast<std::uint8_t>(byte);
    }
  }
  if (stop - begin == 4) *reinterpret_cast<std::uint32_t*>(out + begin) = word;
}

// A block: 32 bits of 1,024 shots. Warp w transposes the square of shots 32 w ..; then the words of
// one bit leave together.
__global__ void __launch_bounds__(1024) turn(ShotRows rows, std::uint64_t first, std::uint64_t end,
                                             std::uint8_t* out, std::uint64_t out_stride) {
  __shared__ std::uint32_t tile[32][33];
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint64_t s = (std::uint64_t{blockIdx.x} * 32 + warp) * 32 + lane;
  const std::uint64_t bit = first + std::uint64_t{blockIdx.y} * 32;
  std::uint32_t v = s < rows.count ? bits_at(rows.words + s * rows.stride_words, bit, end) : 0;
  std::uint32_t mask = 0x0000FFFFu;
#pragma unroll
  for (int width = 16; width; width >>= 1, mask ^= mask << width) {
    const std::uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, v, width);
    v = lane & static_cast<std::uint32_t>(width) ? (v & ~mask) | ((other >> width) & mask)
                                                 : (v & mask) | ((other << width) & ~mask);
  }
  tile[lane][warp] = v;
  __syncthreads();
  if (bit + warp >= end) return;
  const std::uint64_t at = (std::uint64_t{blockIdx.x} * 32 + lane) * 4;  // in the bit's row
  std::uint8_t* const row = out + (bit + warp - first) * out_stride;
  const std::uint32_t word = tile[warp][lane];
  if (out_stride % 4 == 0) {
    if (at < out_stride) *reinterpret_cast<std::uint32_t*>(row + at) = word;
    return;
  }
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    if (at + k < out_stride) row[at + k] = static_cast<std::uint8_t>(word >> 8 * k);
  }
}

__global__ void __launch_bounds__(kThreads)
    count_of_shots(ShotRows rows, std::uint64_t first, std::uint64_t end, std::int64_t* counts) {
  const std::uint64_t s = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (s >= rows.count) return;
  const std::uint32_t* row = rows.words + s * rows.stride_words;
  std::int64_t ones = 0;
  for (std::uint64_t bit = first; bit < end; bit += 32) ones += __popc(bits_at(row, bit, end));
  counts[s] = ones;
}

__global__ void __launch_bounds__(kThreads)
    write_ones(ShotRows rows, std::uint64_t first, std::uint64_t end, const std::int64_t* offsets,
               std::uint32_t* ones) {
  const std::uint64_t s = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (s >= rows.count) return;
  const std::uint32_t* row = rows.words + s * rows.stride_words;
  std::uint32_t* to = ones + offsets[s];
  for (std::uint64_t bit = first; bit < end; bit += 32) {
    for (std::uint32_t left = bits_at(row, bit, end); left; left &= left - 1)
      *to++ = static_cast<std::uint32_t>(bit - first) +
              static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
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
  const auto lead = static_cast<std::uint32_t>((0 - reinterpret_cast<std::uintptr_t>(out)) & 3);
  const auto kernel = bytes ? cut<true> : cut<false>;
  kernel<<<blocks_for(num_bytes / 4 + 2), kThreads, 0, stream>>>(rows, first, first + num_bits,
                                                                 row_bytes, out, lead, num_bytes);
  check_start();
}

void turn_rows(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits, std::uint8_t* out,
               std::uint64_t out_stride, cudaStream_t stream) {
  if (rows.count == 0 || num_bits == 0) return;
  constexpr std::uint64_t kMostAcross = 32768;  // of a grid's second side
  for (std::uint64_t done = 0; done < num_bits; done += 32 * kMostAcross) {
    const std::uint64_t now = std::min(num_bits - done, 32 * kMostAcross);
    const dim3 grid(static_cast<unsigned>((rows.count + 1023) / 1024),
                    static_cast<unsigned>((now + 31) / 32));
    turn<<<grid, 1024, 0, stream>>>(rows, first + done, first + done + now, out + done * out_stride,
                                    out_stride);
    check_start();
  }
}

void list_offsets(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
                  std::int64_t* offsets, cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(offsets, 0, sizeof *offsets, stream), "clear a sum");
  if (rows.count == 0) return;
  count_of_shots<<<blocks_for(rows.count), kThreads, 0, stream>>>(rows, first, first + num_bits,
                                                                  offsets + 1);
  check_start();
  const auto scan = [&](void* scratch, std::size_t& bytes) {
    check_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, offsets + 1, offsets + 1,
                                             static_cast<std::int64_t>(rows.count), stream),
               "adding up ones");
  };
  std::size_t bytes = 0;
  scan(nullptr, bytes);
  const DeviceBuffer<std::uint8_t> scratch(bytes);  // its end waits for the device
  scan(scratch.get(), bytes);
}

void list_ones(const ShotRows& rows, std::uint64_t first, std::uint64_t num_bits,
               const std::int64_t* offsets, std::uint32_t* ones, cudaStream_t stream) {
  if (rows.count == 0) return;
  write_ones<<<blocks_for(rows.count), kThreads, 0, stream>>>(rows, first, first + num_bits,
                                                              offsets, ones);
  check_start();
}

}  // namespace tilewave::stabilizer
