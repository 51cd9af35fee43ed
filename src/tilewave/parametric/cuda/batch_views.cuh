// What a team of threads works on (batch_machine.cuh): a program and strings on the device, the shape of
// a team, and its numbers for each slot of the program.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/parametric/cuda/amplitude.cuh"
#include "tilewave/parametric/cuda/string_sums.cuh"
#include "tilewave/parametric/plan/batch_program.h"

namespace tilewave::parametric::device {

extern __shared__ __align__(16) unsigned char batch_memory[];

/// A BatchOp in words, so that the next one is on its way without being taken apart.
struct alignas(16) DeviceBatchOp {
  std::uint32_t what;     // kind, bits, registers, register_value, a byte each
  std::uint32_t threads;  // thread, and thread_value << 16
  std::uint32_t index, slot;
  // Of an exchange: addresses in bytes of the set's own tile for bits of the register, two in a word (see
  // Exchange); of others the first word says whether derivatives are asked for.
  std::uint32_t from[kMostRegisterBits / 2], to[kMostRegisterBits / 2];

  __device__ __forceinline__ BatchOpKind kind() const {
    return static_cast<BatchOpKind>(what & 0xff);
  }
  __device__ __forceinline__ std::uint32_t bits() const { return what >> 8 & 0xff; }
  __device__ __forceinline__ std::uint32_t registers() const { return what >> 16 & 0xff; }
  __device__ __forceinline__ std::uint32_t register_value() const { return what >> 24; }
  __device__ __forceinline__ bool reads() const { return from[0]; }
};
static_assert(sizeof(DeviceBatchOp) == 32);

/// The arrays of a BatchProgram on the device.
template <class T>
struct BatchView {
  const DeviceBatchOp* ops;        ///< one more than there are
  const std::uint32_t* addresses;  ///< [exchange][thread]: of `from`, and of `to` << 16
  const BatchPhases* phases;
  const std::uint16_t* slot_threads;  ///< BatchSlot::thread
  const BatchMatrix* matrices;
  const Amplitude<T>* entries;
  std::uint32_t num_ops;
};

/// Strings with one mask of X and Y, of one observable, all real or all imaginary.
struct BatchSegment {
  std::uint32_t flip, sum;   ///< as of StringSegment
  std::uint32_t first, end;  ///< in the classes
  std::uint32_t imaginary;
};
/// Strings with the same Z and Y among the register's bits, which are `held`.
struct BatchClass {
  std::uint32_t held, first, end;  ///< in the strings
};
template <class T>
struct BatchStrings {
  const BatchSegment* segments;
  const BatchClass* classes;
  const DeviceString<T>* strings;
  std::uint32_t num_segments;
};

constexpr int next_power_of_two(int n) { return n <= 1 ? 1 : 2 * next_power_of_two((n + 1) / 2); }

template <class T, int kRow, int kReg>
struct TeamShape {
  static constexpr int kThreadBits = kRow - kReg, kThreads = 1 << kThreadBits;
  static constexpr int kHeld = 1 << kReg;
  static constexpr int kLaneBits = kThreadBits < 5 ? kThreadBits : 5;  // of a warp
  static constexpr int kWarps = kThreads < 32 ? 1 : kThreads / 32;
  static constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;
  // Teams of few threads begin at different banks.
  static constexpr std::size_t kTileBytes =
      (sizeof(Amplitude<T>) << kRow) + (kThreads < 8 ? kThreads * sizeof(Amplitude<T>) : 0);
  // Other tiles begin at multiples of their size: an exclusive or makes addresses of offsets.
  static constexpr bool kAligned = kThreads >= 8;

  /// Waits for the other threads of the team.
  __device__ __forceinline__ static void sync() {
    if constexpr (kThreads <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  /// Whether it is so in an odd number of the team's lanes of this warp.
  __device__ __forceinline__ static bool parity_of_lanes(bool v) {
    const std::uint32_t lanes = __ballot_sync(0xffffffffu, v);
    constexpr std::uint32_t kLanes = (kLaneBits == 5 ? 0u : 1u << (1 << kLaneBits)) - 1;
    return __popc(lanes >> (threadIdx.x & 31 & ~((1 << kLaneBits) - 1)) & kLanes) & 1;
  }
  __device__ __forceinline__ static T sum_of_lanes(T v) {
#pragma unroll
    for (int l = 0; l < kLaneBits; ++l) v += __shfl_xor_sync(0xffffffffu, v, 1 << l);
    return v;
  }
};

/// Where a team has a number of each slot beside its tile: in shared memory, or elsewhere.
template <class T, bool kFar>
struct TeamSlots {
  std::uint32_t tile;       // offset of its tile
  std::uint32_t own;        // offset of the slots' factors
  std::uint32_t own_sums;   // offset of the warp's derivatives
  unsigned char* far_base;  // what offsets of slots are of, where they are elsewhere

  __device__ __forceinline__ Amplitude<T>& factor(std::uint32_t slot) const {
    return *reinterpret_cast<Amplitude<T>*>((kFar ? far_base : batch_memory) + own +
                                            slot *
                                                static_cast<std::uint32_t>(sizeof(Amplitude<T>)));
  }
  __device__ __forceinline__ double& sum(std::uint32_t k) const {
    return *reinterpret_cast<double*>((kFar ? far_base : batch_memory) + own_sums +
                                      k * static_cast<std::uint32_t>(sizeof(double)));
  }
};

}  // namespace tilewave::parametric::device
