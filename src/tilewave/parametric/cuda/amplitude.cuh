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

}  // namespace tilewave::parametric::device
