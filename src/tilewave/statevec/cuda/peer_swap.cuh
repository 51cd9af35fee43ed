// The kernel of an exchange between devices that reach each other's memory, in one process or in
// several of one host. It needs no buffer: a thread loads an amplitude of its own device and the
// peer's that changes places with it, and stores both. Each of two devices works on half of their
// pairs, and a device deals with all its peers at the same time. Every link carries each amplitude
// once in each direction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/complex.h"
#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/statevec/cuda/exchange_tuning.h"
#include "tilewave/statevec/cuda/holes.cuh"
#include "tilewave/statevec/distributed/transport.h"

namespace tilewave::statevec::cuda {

enum class SwapWay : std::uint8_t { kBoth, kOut, kIn };

// V: 16 bytes, or one amplitude where runs are shorter. Elements [begin, end) of a part.
template <class V, SwapWay way>
__global__ void __launch_bounds__(kExchangeThreads)
    swap_kernel(V* mine, V* theirs, Holes holes, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  std::uint64_t e = begin + static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; e + (kExchangeInFlight - 1) * stride < end; e += kExchangeInFlight * stride) {
    std::uint64_t at[kExchangeInFlight];
    V a[kExchangeInFlight], b[kExchangeInFlight];
#pragma unroll
    for (int k = 0; k < kExchangeInFlight; ++k) {
      at[k] = holes.spread(e + static_cast<std::uint64_t>(k) * stride);
      if (way != SwapWay::kOut) b[k] = theirs[at[k]];
      if (way != SwapWay::kIn) a[k] = mine[at[k]];
    }
#pragma unroll
    for (int k = 0; k < kExchangeInFlight; ++k) {
      if (way != SwapWay::kIn) theirs[at[k]] = a[k];
      if (way != SwapWay::kOut) mine[at[k]] = b[k];
    }
  }
  for (; e < end; e += stride) {
    const std::uint64_t at = holes.spread(e);
    V a{}, b{};
    if (way != SwapWay::kOut) b = theirs[at];
    if (way != SwapWay::kIn) a = mine[at];
    if (way != SwapWay::kIn) theirs[at] = a;
    if (way != SwapWay::kOut) mine[at] = b;
  }
}

/// Parts that change places between two devices, as one of them works on them.
struct SwapJob {
  void* mine = nullptr;    // where the part begins
  void* theirs = nullptr;  // the same on the peer
  Holes holes;             // over elements of V
  std::uint64_t begin = 0, end = 0;
  SwapWay way = SwapWay::kBoth;
  int blocks = 1;
};

template <class V>
void start_swap_of(const SwapJob& job, const runtime::cuda::Stream& stream) {
  const auto kernel = job.way == SwapWay::kBoth  ? swap_kernel<V, SwapWay::kBoth>
                      : job.way == SwapWay::kOut ? swap_kernel<V, SwapWay::kOut>
                                                 : swap_kernel<V, SwapWay::kIn>;
  runtime::cuda::launch(kernel, dim3(static_cast<unsigned>(job.blocks)), dim3(kExchangeThreads), 0,
                        stream, static_cast<V*>(job.mine), static_cast<V*>(job.theirs), job.holes,
                        job.begin, job.end);
}

/// This device's half of the elements [0, count), with at most so many blocks.
inline void start_half_swap(SwapJob job, std::uint64_t count, std::size_t element_bytes,
                            bool first_half, int blocks, const runtime::cuda::Stream& stream) {
  job.begin = first_half ? 0 : count / 2;
  job.end = first_half ? count / 2 : count;
  if (job.begin == job.end) return;
  const std::uint64_t needed = (job.end - job.begin + kExchangeThreads - 1) / kExchangeThreads;
  job.blocks = static_cast<int>(std::min<std::uint64_t>(needed, static_cast<unsigned>(blocks)));
  if (element_bytes == 16) {
    start_swap_of<float4>(job, stream);
  } else {
    start_swap_of<float2>(job, stream);
  }
}

/// One rank's share of an exchange, for the indices whose bits `slice.mask` have the value; a
/// stream for each peer. `memory`: the amplitudes of every rank it deals with, as this device
/// reaches them; the rank's own device is current.
struct SwapSlice {
  std::uint64_t mask = 0, value = 0;
};
template <class T>
void start_peer_swap(const distributed::ShardSwap& swap, int rank,
                     const std::vector<Complex<T>*>& memory, SwapSlice slice, int blocks,
                     const std::vector<std::unique_ptr<runtime::cuda::Stream>>& streams) {
  const Part part = part_of(swap, slice.mask, sizeof(T));
  for (std::uint64_t d = 1; d < bit(swap.num_bits()); ++d) {
    const int peer = swap.partner(rank, d);
    const std::uint64_t theirs = swap.value(peer), mine = swap.value(rank);
    const bool there = swap.holds(rank, theirs), back = swap.holds(peer, mine);
    if (!there && !back) continue;
    SwapJob job;
    job.mine = memory[static_cast<std::size_t>(rank)] + part_begin(swap, theirs, slice.value);
    job.theirs = memory[static_cast<std::size_t>(peer)] + part_begin(swap, mine, slice.value);
    job.holes = part.holes;
    job.way = there && back ? SwapWay::kBoth : there ? SwapWay::kOut : SwapWay::kIn;
    start_half_swap(job, part.count, part.element_bytes, rank < peer, blocks, *streams[d - 1]);
  }
}

}  // namespace tilewave::statevec::cuda
