// What all kernels of functions of parameters compute with. Compiled by NVRTC, too: no more of the
// standard library than jit_std.cuh has.
#pragma once

namespace tilewave::parametric::device {

template <class T>
struct alignas(2 * sizeof(T)) Amplitude {
  T re, im;
};

template <class T>
__device__ __forceinline__ Amplitude<T> times(Amplitude<T> a, Amplitude<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
__device__ __forceinline__ T sum_of_warp(T v) {
  for (int step = 16; step; step >>= 1) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

/// w[m] becomes the sum of all w[k] whose k has the bits of m.
template <int kBits, class T>
__device__ __forceinline__ void add_supersets(T (&w)[1 << kBits]) {
#pragma unroll
  for (int b = 0; b < kBits; ++b) {
#pragma unroll
    for (int k = 0; k < 1 << kBits; ++k) {
      if (!(k >> b & 1)) w[k] += w[k | 1 << b];
    }
  }
}

}  // namespace tilewave::parametric::device
