// Kernels of observations: reductions over the amplitudes without moving them. Sums are double, in
// an order fixed by the launch (never by atomics), so the same state gives the same bytes. All read
// the state once.
#pragma once

#include <cuda_runtime.h>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/statevec/tile/format.h"

namespace tilewave::statevec::cuda {

constexpr int kReduceThreads = 256;

/// Sum over a block, in thread order by a fixed tree; the result is in thread 0.
__device__ __forceinline__ double block_sum(double v) {
  __shared__ double warp_sum[kReduceThreads / 32];
#pragma unroll
  for (int step = 16; step; step >>= 1) v += __shfl_down_sync(0xffffffffu, v, step);
  __syncthreads();  // the array may still be read from the call before
  if ((threadIdx.x & 31) == 0) warp_sum[threadIdx.x >> 5] = v;
  __syncthreads();
  double total = 0;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int w = 0; w < kReduceThreads / 32; ++w) total += warp_sum[w];
  }
  return total;
}

template <class T>
__device__ __forceinline__ double probability(Complex<T> z) {
  const double re = z.re, im = z.im;
  return re * re + im * im;
}

/// partial[block] of sum |a|^2.
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    norm_kernel(const Complex<T>* state, std::uint64_t count, double* partial) {
  double sum = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kReduceThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{kReduceThreads}) {
    sum += probability(state[i]);
  }
  const double total = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

/// partial[block] of a sum of values.
template <class V>
__global__ void __launch_bounds__(kReduceThreads)
    sum_kernel(const V* values, std::uint64_t count, double* partial) {
  double sum = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kReduceThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{kReduceThreads}) {
    sum += values[i];
  }
  const double total = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

/// Of the sums that a pass left for every tile, `each` a tile: partial[block][k] of sum k, and from
/// kFirstTileBit on the first sums of the tiles whose number has a bit.
constexpr int kFirstTileBit = 1 + tile::kMaxTileQubits, kTileBits = 24;
constexpr int kTileSums = kFirstTileBit + kTileBits;
template <class V>
__global__ void __launch_bounds__(kReduceThreads)
    sum_tiles_kernel(const V* sums, std::uint64_t num_tiles, int each, V* partial) {
  V total[kTileSums] = {};
  for (std::uint64_t t = blockIdx.x * std::uint64_t{kReduceThreads} + threadIdx.x; t < num_tiles;
       t += gridDim.x * std::uint64_t{kReduceThreads}) {
    const V* const own = sums + t * static_cast<unsigned>(each);
#pragma unroll
    for (int k = 0; k < kFirstTileBit; ++k) total[k] += k < each ? own[k] : V{0};
#pragma unroll
    for (int b = 0; b < kTileBits; ++b) total[kFirstTileBit + b] += t >> b & 1 ? own[0] : V{0};
  }
  V* const out = partial + std::uint64_t{blockIdx.x} * kTileSums;
#pragma unroll
  for (int k = 0; k < kTileSums; ++k) {
    const V of_block = block_sum(total[k]);
    if (threadIdx.x == 0) out[k] = of_block;
  }
}

/// A chunk is 2^(8 + kStepBits) amplitudes: thread bits are positions 0-7, step bits follow, chunk
/// bits last.
constexpr int kStepBits = 4, kThreadBits = 8, kChunkBits = kThreadBits + kStepBits;
constexpr int kHighBits = 24;
constexpr int kMarginalSums = 1 + kThreadBits + kStepBits + kHighBits;

/// partial[block][0] = sum of all, [1 + p] = sum where position p is 1.
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    marginal_kernel(const Complex<T>* state, std::uint64_t count, double* partial) {
  double all = 0, step_ones[kStepBits] = {}, high_ones[kHighBits] = {};
  const std::uint64_t chunks = (count + (1u << kChunkBits) - 1) >> kChunkBits;
  for (std::uint64_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    double sum = 0;
#pragma unroll
    for (int s = 0; s < 1 << kStepBits; ++s) {
      const std::uint64_t i =
          c << kChunkBits | static_cast<unsigned>(s) << kThreadBits | threadIdx.x;
      const double p = i < count ? probability(state[i]) : 0.0;
      sum += p;
#pragma unroll
      for (int b = 0; b < kStepBits; ++b) {
        if (s >> b & 1) step_ones[b] += p;
      }
    }
    all += sum;
#pragma unroll
    for (int b = 0; b < kHighBits; ++b) high_ones[b] += c >> b & 1 ? sum : 0.0;
  }
  double* out = partial + static_cast<std::uint64_t>(blockIdx.x) * kMarginalSums;
  const auto put = [&](int index, double v) {
    const double total = block_sum(v);
    if (threadIdx.x == 0) out[index] = total;
  };
  put(0, all);
#pragma unroll
  for (int b = 0; b < kThreadBits; ++b) put(1 + b, threadIdx.x >> b & 1 ? all : 0.0);
#pragma unroll
  for (int b = 0; b < kStepBits; ++b) put(1 + kThreadBits + b, step_ones[b]);
#pragma unroll
  for (int b = 0; b < kHighBits; ++b) put(1 + kChunkBits + b, high_ones[b]);
}

/// Joint probabilities: a warp holds the positions 0-4 in its lanes, fixes the chosen positions
/// above and walks a slice of the rest; partial[slice][outcome of this part, by position order].
struct JointShape {
  std::uint64_t chosen, rest;  ///< positions 5 and up
  std::uint32_t chosen_lanes;  ///< positions 0-4 among the chosen
  std::uint32_t num_slices, slice_size;
  std::uint32_t first_outcome, num_outcomes;  ///< of this part; a power of two of them
};
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    joint_kernel(const Complex<T>* state, std::uint64_t count, JointShape shape, double* partial) {
  const std::uint64_t warp = (blockIdx.x * std::uint64_t{kReduceThreads} + threadIdx.x) >> 5;
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t lanes_outcome = static_cast<std::uint32_t>(__popc(shape.chosen_lanes));
  const std::uint64_t slice = warp % shape.num_slices, high = warp / shape.num_slices;
  if (high << lanes_outcome >= shape.num_outcomes) return;
  const std::uint64_t base =
      deposit_bits(high + (shape.first_outcome >> lanes_outcome), shape.chosen) | lane;
  double sum = 0;
  for (std::uint64_t r = 0; r < shape.slice_size; ++r) {
    const std::uint64_t i = base | deposit_bits(slice * shape.slice_size + r, shape.rest);
    if (i < count) sum += probability(state[i]);
  }
  for (std::uint32_t b = 0; b < 5; ++b) {
    const double other = __shfl_xor_sync(0xffffffffu, sum, 1 << b);
    if (!(shape.chosen_lanes >> b & 1)) sum += other;
  }
  if ((lane & ~shape.chosen_lanes) == 0) {
    const std::uint64_t outcome = high << lanes_outcome | extract_bits(lane, shape.chosen_lanes);
    partial[slice * shape.num_outcomes + outcome] = sum;
  }
}
template <class V>
__global__ void __launch_bounds__(kReduceThreads)
    sum_slices_kernel(const V* partial, std::uint32_t num_slices, std::uint32_t count, V* out) {
  const std::uint32_t o = blockIdx.x * kReduceThreads + threadIdx.x;
  if (o >= count) return;
  V sum = 0;
  for (std::uint32_t s = 0; s < num_slices; ++s) sum += partial[std::uint64_t{s} * count + o];
  out[o] = sum;
}

template <class T>
__global__ void gather_kernel(const Complex<T>* state, const std::uint64_t* index,
                              std::uint64_t count, Complex<T>* out) {
  const std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  if (i < count) out[i] = state[index[i]];
}

/// Sums of 2^12 amplitudes each, for sampling.
constexpr int kSampleBits = 12;
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    chunk_sum_kernel(const Complex<T>* state, std::uint64_t count, std::uint64_t chunks,
                     double* sums) {
  for (std::uint64_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    double sum = 0;
#pragma unroll 4
    for (std::uint32_t k = threadIdx.x; k < 1u << kSampleBits; k += kReduceThreads) {
      const std::uint64_t i = c << kSampleBits | k;
      if (i < count) sum += probability(state[i]);
    }
    const double total = block_sum(sum);
    if (threadIdx.x == 0) sums[c] = total;
  }
}

/// Shots that fall into one chunk: [first, first + count) of the sorted targets (already times the
/// norm).
struct SampleRun {
  std::uint64_t chunk;
  double before;  ///< running sum before the chunk
  std::uint32_t first, count;
};
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    sample_kernel(const Complex<T>* state, std::uint64_t amplitudes, const SampleRun* runs,
                  const double* target, std::uint64_t* out) {
  constexpr int kOwn = (1 << kSampleBits) / kReduceThreads;
  __shared__ double running[1 << kSampleBits];
  __shared__ double thread_sum[kReduceThreads];
  __shared__ std::uint32_t last_possible;
  const SampleRun run = runs[blockIdx.x];
  const std::uint64_t base = run.chunk << kSampleBits;
  if (threadIdx.x == 0) last_possible = 0;
  for (std::uint32_t k = threadIdx.x; k < 1u << kSampleBits; k += kReduceThreads) {
    running[k] = base + k < amplitudes ? probability(state[base + k]) : 0.0;
  }
  __syncthreads();
  double own[kOwn], sum = 0;
  std::uint32_t possible = 0;
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    const double p = running[threadIdx.x * kOwn + k];
    if (p > 0) possible = threadIdx.x * kOwn + k;
    sum += p;
    own[k] = sum;
  }
  atomicMax(&last_possible, possible);
  thread_sum[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 1; step < kReduceThreads; step <<= 1) {  // inclusive scan
    const double add =
        threadIdx.x >= static_cast<unsigned>(step) ? thread_sum[threadIdx.x - step] : 0;
    __syncthreads();
    thread_sum[threadIdx.x] += add;
    __syncthreads();
  }
  const double before = run.before + (threadIdx.x ? thread_sum[threadIdx.x - 1] : 0.0);
#pragma unroll
  for (int k = 0; k < kOwn; ++k) running[threadIdx.x * kOwn + k] = before + own[k];
  __syncthreads();
  for (std::uint32_t s = threadIdx.x; s < run.count; s += kReduceThreads) {
    const double want = target[run.first + s];
    std::uint32_t low = 0, high = 1u << kSampleBits;  // first running sum above the target
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (running[middle] > want) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    out[run.first + s] = base + (low > last_possible ? last_possible : low);
  }
}

/// Up to kStringsAPass Pauli strings of one flip mask.
constexpr int kStringsAPass = 16;
constexpr unsigned kStringSlices = 64;
struct StringGroup {
  std::uint64_t flip;          ///< positions
  std::uint32_t first, count;  ///< strings
};
struct StringMask {
  std::uint64_t z;  ///< positions; bit 63: the imaginary part counts
};
/// partial[string][slice] of sum over i of (-1)^{|i & z|} Re or Im (conj a_i a_{i ^ flip}). Pairs
/// are seen once.
template <class T>
__global__ void __launch_bounds__(kReduceThreads)
    string_kernel(const Complex<T>* state, int num_qubits, const StringGroup* groups,
                  const StringMask* strings, double* partial) {
  const StringGroup group = groups[blockIdx.y];
  double sum[kStringsAPass] = {};
  std::uint64_t z[kStringsAPass];
#pragma unroll
  for (int k = 0; k < kStringsAPass; ++k) z[k] = k < group.count ? strings[group.first + k].z : 0;
  const int top = group.flip ? 63 - __clzll(static_cast<long long>(group.flip)) : 63;
  const std::uint64_t pairs = (std::uint64_t{1} << num_qubits) >> (group.flip ? 1 : 0);
  const std::uint64_t low = low_mask(top);
  for (std::uint64_t r = blockIdx.x * std::uint64_t{kReduceThreads} + threadIdx.x; r < pairs;
       r += gridDim.x * std::uint64_t{kReduceThreads}) {
    const std::uint64_t i = (r & ~low) << 1 | (r & low);
    const Complex<T> a = state[i], b = state[i ^ group.flip];
    const double re = static_cast<double>(a.re) * b.re + static_cast<double>(a.im) * b.im;
    const double im = static_cast<double>(a.re) * b.im - static_cast<double>(a.im) * b.re;
#pragma unroll
    for (int k = 0; k < kStringsAPass; ++k) {
      if (k < group.count) {
        const double v = z[k] >> 63 ? im : re;
        sum[k] += __popcll(i & z[k]) & 1 ? -v : v;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kStringsAPass; ++k) {
    if (k < group.count) {
      const double total = block_sum(sum[k]);
      if (threadIdx.x == 0) {
        partial[static_cast<std::uint64_t>(group.first + k) * gridDim.x + blockIdx.x] = total;
      }
    }
  }
}

/// Keeps the half of position p that holds `from`, times scale, at the place where bit p is 0.
template <class T>
__global__ void collapse_kernel(Complex<T>* state, std::uint64_t free, std::uint64_t count,
                                std::uint64_t from, T scale) {
  for (std::uint64_t k = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; k < count;
       k += gridDim.x * std::uint64_t{blockDim.x}) {
    const std::uint64_t i = deposit_bits(k, free);
    const Complex<T> z = state[i | from];
    state[i] = {z.re * scale, z.im * scale};
  }
}

template <class T>
__global__ void clear_kernel(Complex<T>* state, std::uint64_t count, std::uint64_t zero) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{blockDim.x}) {
    if (i & zero) state[i] = {0, 0};
  }
}

/// a_x = low[x mod 2^12] middle[(x >> 12) mod 2^12] high[x >> 24].
template <class T>
__global__ void product_kernel(Complex<T>* state, std::uint64_t count, const Complex<double>* low,
                               const Complex<double>* middle, const Complex<double>* high) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{blockDim.x}) {
    const Complex<double> z = low[i & 4095] * (middle[i >> 12 & 4095] * high[i >> 24]);
    state[i] = {static_cast<T>(z.re), static_cast<T>(z.im)};
  }
}

}  // namespace tilewave::statevec::cuda
