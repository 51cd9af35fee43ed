// What the blocks of a cluster do together: a barrier, and writes to the shared memory of each
// other. Compiled for devices without clusters, too, where no kernel that needs them is started.
#pragma once

#include <cstdint>

#include "tilewave/base/complex.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define TW_CLUSTER_OF(BLOCKS) __cluster_dims__(BLOCKS, 1, 1)
#define TW_CLUSTER_ASM(...) asm volatile(__VA_ARGS__)
#else
#define TW_CLUSTER_OF(BLOCKS)
#define TW_CLUSTER_ASM(...) __trap()
#endif

namespace tilewave::statevec::cuda {

/// Whether this is code for devices with clusters.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
inline constexpr bool kHasClusters = true;
#else
inline constexpr bool kHasClusters = false;
#endif

/// Behind the wait, what threads of both blocks wrote or read before they arrived is done.
__device__ __forceinline__ void arrive_at_cluster() {
  TW_CLUSTER_ASM("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  TW_CLUSTER_ASM("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void synchronize_cluster() {
  arrive_at_cluster();
  wait_for_cluster();
}

/// The same place of the shared memory of block `block` of the cluster.
__device__ __forceinline__ std::uint32_t in_block(std::uint32_t shared, std::uint32_t block) {
  std::uint32_t there = 0;
  TW_CLUSTER_ASM("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(block));
  return there;
}

__device__ __forceinline__ void send(std::uint32_t there, Complex<double> a) {
  TW_CLUSTER_ASM("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(there), "d"(a.re), "d"(a.im)
                 : "memory");
}

}  // namespace tilewave::statevec::cuda
