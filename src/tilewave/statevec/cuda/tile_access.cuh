// How a thread reaches its amplitudes: addresses from columns, loads, stores and copies to shared
// memory.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "tilewave/statevec/tile/format.h"

namespace tilewave::statevec::cuda {

/// Of a tile in shared memory; 32 banks of 4 bytes.
inline constexpr std::uint32_t kTileAlignment = 128;

/// XOR of the columns of the 1 bits of `index`.
template <int Count, class I>
__device__ __forceinline__ I columns(const I* column, std::uint32_t index) {
  I sum = 0;
#pragma unroll
  for (int b = 0; b < Count; ++b) sum ^= (I{0} - static_cast<I>(index >> b & 1)) & column[b];
  return sum;
}

/// sum ^= column where index & mask is not zero.
__device__ __forceinline__ void add_column(std::uint32_t& sum, std::uint32_t column,
                                           std::uint32_t index, std::uint32_t mask) {
  asm("{\n.reg .pred p;\n.reg .b32 x;\nand.b32 x, %2, %3;\nsetp.ne.u32 p, x, 0;\n"
      "@p xor.b32 %0, %0, %1;\n}"
      : "+r"(sum)
      : "r"(column), "r"(index), "r"(mask));
}
__device__ __forceinline__ void add_column(std::uint64_t& sum, std::uint64_t column,
                                           std::uint32_t index, std::uint32_t mask) {
  asm("{\n.reg .pred p;\n.reg .b32 x;\nand.b32 x, %2, %3;\nsetp.ne.u32 p, x, 0;\n"
      "@p xor.b64 %0, %0, %1;\n}"
      : "+l"(sum)
      : "l"(column), "r"(index), "r"(mask));
}

/// columns() of the bits of a thread, which the compiler does not know. Under predicates where it
/// does not know the columns either and a pass takes as long as its instructions: half as many of
/// them as with masks.
template <bool predicated, int Count, class I>
__device__ __forceinline__ I thread_columns(const I* column, std::uint32_t thread) {
  if constexpr (!predicated) {
    return columns<Count>(column, thread);
  } else {
    I sum = 0;
#pragma unroll
    for (int b = 0; b < Count; ++b) add_column(sum, column[b], thread, 1u << b);
    return sum;
  }
}

template <class T>
__device__ __forceinline__ Complex<T> load_amplitude(const std::byte* p) {
  if constexpr (sizeof(T) == 8) {
    const double2 v = *reinterpret_cast<const double2*>(p);
    return {v.x, v.y};
  } else {
    const float2 v = *reinterpret_cast<const float2*>(p);
    return {v.x, v.y};
  }
}

template <class T>
__device__ __forceinline__ void store_amplitude(std::byte* p, Complex<T> a) {
  if constexpr (sizeof(T) == 8) {
    *reinterpret_cast<double2*>(p) = make_double2(a.re, a.im);
  } else {
    *reinterpret_cast<float2*>(p) = make_float2(a.re, a.im);
  }
}

/// Memory to shared memory without a register, 16 bytes past the first-level cache; zeros where
/// `zero`. Devices before sm_80 copy through registers.
template <int Bytes = 16>
__device__ __forceinline__ void copy_async(std::byte* shared, const std::byte* from,
                                           bool zero = false) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  using Unit = std::conditional_t<Bytes == 16, uint4, uint2>;
  static_assert(sizeof(Unit) == Bytes);
  *reinterpret_cast<Unit*>(shared) = zero ? Unit{} : *reinterpret_cast<const Unit*>(from);
#else
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int read = zero ? 0 : Bytes;
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(read),
                 "n"(Bytes)
                 : "memory");
  }
#endif
}
/// Waits for the copies of this thread.
__device__ __forceinline__ void wait_for_copies() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Calls f(j, p + offset of amplitude j) for every amplitude of a thread: one addition each.
template <int B, int J, class P, class F>
__device__ __forceinline__ void for_each_amplitude(P* p, const std::uint64_t* column, const F& f) {
  if constexpr (B < 0) {
    f(std::integral_constant<int, J>{}, p);
  } else {
    for_each_amplitude<B - 1, J>(p, column, f);
    for_each_amplitude<B - 1, (J | 1 << B)>(p + column[B], column, f);
  }
}

/// Calls f(j, address of amplitude j) for every amplitude of a thread: one XOR each.
template <int B, int J, class F>
__device__ __forceinline__ void for_each_address(std::uint32_t address, const std::uint32_t* column,
                                                 const F& f) {
  if constexpr (B < 0) {
    f(std::integral_constant<int, J>{}, address);
  } else {
    for_each_address<B - 1, J>(address, column, f);
    for_each_address<B - 1, (J | 1 << B)>(address ^ column[B], column, f);
  }
}

/// The value of x, not to be computed with before this point (see TW_LABEL).
__device__ __forceinline__ std::uint32_t from_here(std::uint32_t x) {
  std::uint32_t same;
  asm volatile("mov.u32 %0, %1;" : "=r"(same) : "r"(x));
  return same;
}

__device__ __forceinline__ const std::byte* from_here(const std::byte* p) {
  const std::byte* same;
  asm volatile("mov.u64 %0, %1;" : "=l"(same) : "l"(p));
  return same;
}

}  // namespace tilewave::statevec::cuda
