// The tile pass on a CUDA device: executes a tile program (tile/format.h) on every tile of a state,
// in place.
//
// One block of 2^(K-R) threads holds a tile of 2^K amplitudes in registers, 2^R a thread, and walks
// the program once. Tiles start in ascending order. Shared memory: the tile (exchanges, and where
// it arrives if loads_through_shared()), the factors and angles of this tile, the chunk of the
// program. The word of every operation is a parameter, the same for all threads; one jump leads to
// its code (tile/apply.h). Bytes moved: the state read once and written once. Barriers: two a tile,
// one an exchange.
//
// A tile of 2^(K+1) amplitudes lies in the two blocks of a cluster, which run the same program on
// neighbouring tile numbers; a crossing moves half of the amplitudes through the network between
// multiprocessors, with two barriers of the cluster.
#pragma once

#include "tilewave/statevec/cuda/tile_kernel.h"
#include "tilewave/statevec/cuda/tile_machine.cuh"
#include "tilewave/statevec/tile/apply.h"

namespace tilewave::statevec::cuda {

using tile::ListedOp;

static_assert(offsetof(tile::PassFrame, first_ops) % sizeof(ListedOp) == 0, "read as a whole");

/// The address of a part of the kernel's parameters among them.
__device__ __forceinline__ std::uint32_t param_address(const void* p) {
  std::uint64_t at;
  asm("cvta.to.param.u64 %0, %1;" : "=l"(at) : "l"(p));
  return static_cast<std::uint32_t>(at);
}
__device__ __forceinline__ std::uint64_t param_at(std::uint32_t address) {
  std::uint64_t x;
  asm volatile("{\n.reg .u64 at;\ncvt.u64.u32 at, %1;\nld.param.u64 %0, [at];\n}"
               : "=l"(x)
               : "r"(address));
  return x;
}

/// An operation beyond those in the parameters.
template <class T>
__device__ __forceinline__ ListedOp far_op(const PassArguments<T>& args, std::uint32_t k) {
  const uint2 op = __ldg(tile::table<uint2>(args.tables, args.frame.far_ops) + k);
  return {{tile::same_in_warp(op.x)}, tile::same_in_warp(op.y)};
}

/// Reads each operation of the program, and jumps to its code.
template <class T, int K, int RB, int BlockBits, tile::OpSet Set>
struct Interpreter {
  static constexpr bool kIsKnown = false;
  const PassArguments<T>& args;

  __device__ __forceinline__ const Complex<T>* first_place(const std::byte* shared,
                                                           std::uint32_t here, int j) const {
    return reinterpret_cast<const Complex<T>*>(
        shared + (here ^ columns<RB>(args.frame.first_column, static_cast<std::uint32_t>(j))));
  }

  __device__ __forceinline__ void operator()(Complex<T> (&a)[1 << RB], std::uint32_t&,
                                             const std::byte* window,
                                             const tile::PhaseContext<T>& context,
                                             std::uint32_t tile_number,
                                             const Machine<T, K, RB, BlockBits>& machine) const {
    const PassFrame& f = args.frame;
    // Where a pass takes as long as its instructions, the next operation is read while one runs. In
    // double precision and with matrices there are no registers for it.
    constexpr bool kAhead = sizeof(T) == 4 && Set == tile::OpSet::kLean;
    constexpr std::uint32_t kEach = sizeof(ListedOp);
    [[maybe_unused]] std::uint32_t last = 0;
    tile::NextOp next;
    if constexpr (kAhead) {
      const std::uint32_t first = param_address(f.first_ops);
      last = first + kEach * (tile::kInlineOps - 1);
      next.at = first + kEach * f.first_op;
      next.op = param_at(next.at);
    }
#pragma unroll 1
    for (std::uint32_t k = f.first_op;; ++k) {
      ListedOp now;
      if constexpr (kAhead) {
        now = {{static_cast<std::uint32_t>(next.op)}, static_cast<std::uint32_t>(next.op >> 32)};
        next.at = min(next.at + kEach, last);
      } else if (k < tile::kInlineOps) {
        now = f.first_ops[k];
      }
      if (k >= tile::kInlineOps) {
        if (k == f.end_op) break;
        now = far_op(args, k - tile::kInlineOps);
      }
      tile::apply_op<RB, Set, kAhead, T>(a, now, window, context, tile_number, machine, next);
    }
  }
};

template <class T, int K, int RB, int MinBlocks, tile::OpSet Set>
__global__ void __launch_bounds__(1 << (K - RB), MinBlocks)
    tile_pass_kernel(const __grid_constant__ PassArguments<T> args) {
  run_tile_pass<T, K, RB, 0>(args.frame, args, Interpreter<T, K, RB, 0, Set>{args});
}

/// The same on tiles of two blocks; empty in code for devices without clusters.
template <class T, int K, int RB, int MinBlocks, tile::OpSet Set>
__global__ void TW_CLUSTER_OF(2) __launch_bounds__(1 << (K - RB), MinBlocks)
    wide_tile_pass_kernel(const __grid_constant__ PassArguments<T> args) {
  if constexpr (kHasClusters)
    run_tile_pass<T, K, RB, 1>(args.frame, args, Interpreter<T, K, RB, 1, Set>{args});
}

}  // namespace tilewave::statevec::cuda
