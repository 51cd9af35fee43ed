// Sums over the lanes of a warp.
#pragma once

#include <type_traits>

namespace tilewave::runtime::cuda {

/// Of whole numbers, over all 32 lanes, for each of them. One instruction from sm_80 on for 32 bits.
template <class V>
__device__ inline V sum_of_lanes(V v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_integral_v<V> && sizeof v == 4)
    return __reduce_add_sync(0xffffffffu, v);
  else
#endif
  {
    for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(0xffffffffu, v, apart);
    return v;
  }
}

}  // namespace tilewave::runtime::cuda
