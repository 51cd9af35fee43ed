// A sweep over Pauli strings compiled for them (plan/pass_source.h writes the sources); what the
// sums are is in string_sums.cuh. Weights are an argument. The next tile is on its way to shared
// memory while this one is worked on; every thread adds up over all its tiles. Expectations are of
// Hermitian strings: their imaginary parts are 0.
//
// Compiled by NVRTC: no more of the standard library than jit_std.cuh has.
#pragma once

#include <cstdint>

#include "tilewave/parametric/cuda/compiled_pass.cuh"

namespace tilewave::parametric::device {

template <class T>
struct CompiledStringArguments {
  const Amplitude<T>* psi;
  Amplitude<T>* lam;
  double* sums;                               // [block][sum][Re, Im]
  std::uint64_t outer, shard, stride, count;  // as Tiles (pass_kernels.cuh)
  bool adds;                                  // to lam
};

template <class T, int kStrings>
struct CompiledWeights {
  T of[kStrings];
};

/// `P`: the strings, see pass_source.cc.
template <class P>
struct CompiledStrings {
  using T = typename P::Number;
  using A = Amplitude<T>;
  using Weights = CompiledWeights<T, P::kNumStrings>;
  static constexpr int kReg = P::kReg, kHeld = 1 << kReg, kThreadBits = P::kRow - kReg;
  static constexpr int kThreads = 1 << kThreadBits;
  static constexpr std::uint32_t kTileBytes = sizeof(A) << P::kRow;
  static constexpr std::uint32_t kStep = kThreads * sizeof(A);  // from one of a thread to the next

  const CompiledStringArguments<T>& a;
  const Weights& weights;
  A psi[kHeld], lam[P::kLam ? kHeld : 1];
  T found[P::kNumSums];
  std::uint64_t outer = 0;
  std::uint32_t tile = 0;  // where it is in shared memory

  __device__ CompiledStrings(const CompiledStringArguments<T>& arguments, const Weights& w)
      : a(arguments), weights(w) {}

  /// The weight of a string with Z or Y on these wires, with the sign for the thread's row.
  template <int kIndex, std::uint32_t kRow, std::uint64_t kOuter>
  __device__ __forceinline__ T signed_weight() const {
    const T w = weights.of[kIndex];
    if constexpr (kRow == 0 && kOuter == 0) return w;
    const int ones = __popc(threadIdx.x & kRow) + __popcll(outer & kOuter);
    return ones & 1 ? -w : w;
  }
  /// From sums by class, those that are `kPresent`, to the factor of every register.
  template <std::uint32_t kPresent>
  __device__ __forceinline__ static void transform(T (&d)[kHeld]) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (!(kPresent >> k & 1)) d[k] = 0;
    }
#pragma unroll
    for (int b = 0; b < kReg; ++b) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        if (k >> b & 1) continue;
        const T x = d[k], y = d[k | 1 << b];
        d[k] = x + y;
        d[k | 1 << b] = x - y;
      }
    }
  }
  /// Strings that flip `kFlip`, with the factor of every register, or d[0] of all.
  template <std::uint32_t kFlip, bool kImaginary, bool kUniform, int kSum>
  __device__ __forceinline__ void add(const T (&d)[kHeld]) {
    constexpr std::uint32_t kThread = kFlip & (kThreads - 1), kRegister = kFlip >> kThreadBits;
    const std::uint32_t from = tile + (threadIdx.x ^ kThread) * sizeof(A);
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      A v;
      if constexpr (kThread == 0) {
        v = psi[k ^ kRegister];
      } else {
        v = *reinterpret_cast<const A*>(compiled_memory + from + (k ^ kRegister) * kStep);
      }
      if constexpr (kImaginary) v = {-v.im, v.re};
      const T factor = kUniform ? d[0] : d[k];
      if constexpr (P::kLam) lam[k].re += factor * v.re, lam[k].im += factor * v.im;
      const T product = psi[k].re * v.re + psi[k].im * v.im;
      sum = kUniform ? sum + product : sum + factor * product;
    }
    found[kSum] += kUniform ? d[0] * sum : sum;
  }

  __device__ __forceinline__ void fetch(std::uint64_t base, std::uint32_t to) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      Places::copy_ahead(to + k * kStep + threadIdx.x * sizeof(A),
                         a.psi + base + Places::register_place(k), false);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  __device__ void run() {
    double total[P::kNumSums] = {};
    const std::uint64_t own = Places::own_place();
    outer = Places::deposit(blockIdx.x, a.outer) | a.shard;
    fetch(outer | own, 0);
#pragma unroll 1
    for (std::uint64_t n = blockIdx.x; n < a.count; n += gridDim.x) {
      const std::uint64_t base = outer | own;
      const std::uint64_t next = (((outer | ~a.outer) + a.stride) & a.outer) | a.shard;
      if constexpr (P::kLam) {
#pragma unroll
        for (int k = 0; k < kHeld; ++k)
          lam[k] = a.adds ? a.lam[base + Places::register_place(k)] : A{0, 0};
      }
      asm volatile("cp.async.wait_all;" ::: "memory");
      __syncthreads();  // the tile is there, and nobody reads the one before
      if (n + gridDim.x < a.count) fetch(next | own, kTileBytes - tile);
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
        psi[k] = *reinterpret_cast<const A*>(compiled_memory + tile + k * kStep +
                                             threadIdx.x * sizeof(A));
#pragma unroll
      for (int s = 0; s < P::kNumSums; ++s) found[s] = 0;
      P::run(*this);
#pragma unroll
      for (int s = 0; s < P::kNumSums; ++s) total[s] += static_cast<double>(found[s]);
      if constexpr (P::kLam) {
#pragma unroll
        for (int k = 0; k < kHeld; ++k) a.lam[base + Places::register_place(k)] = lam[k];
      }
      outer = next;
      tile = kTileBytes - tile;
    }
    auto* const of_warps = reinterpret_cast<double*>(compiled_memory);  // [warp][sum]
    __syncthreads();
#pragma unroll
    for (int s = 0; s < P::kNumSums; ++s) {
      const double sum = sum_of_warp(total[s]);
      if ((threadIdx.x & 31) == 0) of_warps[threadIdx.x / 32 * P::kNumSums + s] = sum;
    }
    __syncthreads();
    double* const out = a.sums + std::uint64_t{blockIdx.x} * 2 * P::kNumAll;
    for (int s = threadIdx.x; s < P::kNumAll; s += kThreads) {
      double sum = 0;
      for (int k = 0; k < P::kNumSums; ++k) {
        if (P::sum(k) != s) continue;
        for (int w = 0; w < kThreads / 32; ++w) sum += of_warps[w * P::kNumSums + k];
      }
      out[2 * s] = sum;
      out[2 * s + 1] = 0;
    }
  }

 private:
  struct Layout {  // what CompiledPass needs to know of a program
    using Number = T;
    static constexpr int kRow = P::kRow, kReg = P::kReg, kBack = 0, kAhead = 0, kNumFactors = 0,
                         kNumLifts = 0, kNumWeights = 0, kNumReads = 0, kNumKept = 0;
    static constexpr CompiledWires kWires = P::kWires;
  };
  using Places = CompiledPass<Layout>;
};

}  // namespace tilewave::parametric::device
