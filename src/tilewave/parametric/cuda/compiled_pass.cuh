// A pass of functions of parameters compiled for one program (plan/pass_source.h writes the sources):
// what the interpreter of tile_machine.cuh finds out operation by operation the compiler knows, and
// factors of angles are an argument, which multiply-adds read without a register. The next tile, or a
// part of it, is on its way to shared memory (cp.async) while this one is worked on.
//
// Rotations are lifted: x' = c (x - t y), y' = c (y + t x) with t = s / c, or x' = s (k x - y),
// y' = s (k y + x) with k = c / s where s is larger, take half the arithmetic without the factor in
// front. That is the same for all amplitudes: a pass makes up for the product of all at its end, and
// derivatives, which are of two states, for the square of what has come together before them.
//
// Derivatives: each is one number a thread and tile, to be summed over the threads of a warp. Two of
// them are folded into one, which half of the lanes have of the first and half of the second; two of
// those again, and after five steps each lane has one of 32 derivatives: one shuffle for each, where
// every sum by itself takes five.
//
// Compiled by NVRTC: no more of the standard library than jit_std.cuh has.
#pragma once

#include <cstdint>

#include "tilewave/parametric/cuda/amplitude.cuh"
#include "tilewave/parametric/plan/stage_read.h"

namespace tilewave::parametric::device {

/// What every pass takes.
template <class T>
struct CompiledArguments {
  Amplitude<T>*psi, *lam;
  const Amplitude<T>* table;                  // products of phases, [table][thread]
  double* sums;                               // [block][derivative]
  Amplitude<T>* start;                        // where the amplitude of |0...0> goes, or null
  const StageRead* accumulated;               // derivatives that threads add up
  std::uint64_t outer, shard, stride, count;  // as Tiles (pass_kernels.cuh)
  std::uint64_t load_zeros, store_zeros;
  bool stores;
};

/// What belongs to the values of a set, and the derivative of each slot. Written by fill_numbers()
/// (plan/pass_source.h).
template <class T, int kFactors, int kLifts, int kWeights, int kReads>
struct CompiledNumbers {
  Amplitude<T> factor[kFactors];  // one more than there are of each, so that no array is empty
  T lift[kLifts];
  T weight[kWeights];
  T scale;                                 // of the pass
  std::uint32_t form[(kLifts + 31) / 32];  // bit l: the lift multiplies what stays
  std::uint16_t read[kReads];
};

/// From one layout to another: addresses in bytes, see Exchange (plan/stages.h).
struct CompiledExchange {
  std::uint32_t from[16], to[16], plus;
};

/// The wire of each bit of the row.
struct CompiledWires {
  std::uint8_t of[16];
};

/// Numbers of threads summed over warps and tiles, slot by slot in a fixed order.
template <class T, int kCount>
struct WarpSums {
  T waits[5];
  double total[(kCount + 31) / 32 + 1] = {};

  template <int kSlot>
  __device__ __forceinline__ void add(T v) {
    fold<kSlot, 0>(v);
    if constexpr (kSlot + 1 == kCount && kCount % 32) finish<0, false>(T(0));
  }

 private:
  template <int kLevel>
  __device__ __forceinline__ static T merge(T first, T second) {
    const bool high = threadIdx.x >> kLevel & 1;
    const T keep = high ? second : first, send = high ? first : second;
    return keep + __shfl_xor_sync(0xffffffffu, send, 1 << kLevel);
  }
  template <int kSlot, int kLevel>
  __device__ __forceinline__ void fold(T v) {
    if constexpr (kLevel == 5) {
      total[kSlot / 32] += static_cast<double>(v);
    } else if constexpr (kSlot >> kLevel & 1) {
      fold<kSlot, kLevel + 1>(merge<kLevel>(waits[kLevel], v));
    } else {
      waits[kLevel] = v;
    }
  }
  // What waits when there is nothing more to come.
  template <int kLevel, bool kHas>
  __device__ __forceinline__ void finish(T v) {
    if constexpr (kLevel == 5) {
      total[kCount / 32] += static_cast<double>(v);
    } else if constexpr (kCount >> kLevel & 1) {
      if constexpr (kHas) {
        finish<kLevel + 1, true>(merge<kLevel>(waits[kLevel], v));
      } else {
        finish<kLevel + 1, true>(waits[kLevel] +
                                 __shfl_xor_sync(0xffffffffu, waits[kLevel], 1 << kLevel));
      }
    } else if constexpr (kHas) {
      finish<kLevel + 1, true>(v + __shfl_xor_sync(0xffffffffu, v, 1 << kLevel));
    } else {
      finish<kLevel + 1, false>(v);
    }
  }
};

extern __shared__ __align__(16) unsigned char compiled_memory[];

/// `P`: the program, see pass_source.cc.
template <class P>
struct CompiledPass {
  using T = typename P::Number;
  using A = Amplitude<T>;
  using Numbers = CompiledNumbers<T, P::kNumFactors + 1, P::kNumLifts + 1, P::kNumWeights + 1,
                                  P::kNumReads + 1>;
  static constexpr int kReg = P::kReg, kHeld = 1 << kReg, kThreadBits = P::kRow - kReg;
  static constexpr int kThreads = 1 << kThreadBits;
  static constexpr std::uint32_t kTileBytes = sizeof(A) << P::kRow;
  static constexpr std::uint32_t kAheadBytes = P::kAhead * kThreads * sizeof(A);
  static constexpr std::uint32_t kAddressBytes = P::kNumKept * kThreads * 4;

  const CompiledArguments<T>& a;
  const Numbers& numbers;
  A psi[kHeld], lam[P::kBack ? kHeld : 1];
  WarpSums<T, P::kNumReads> sums;
  std::uint64_t outer = 0;

  __device__ CompiledPass(const CompiledArguments<T>& arguments, const Numbers& n)
      : a(arguments), numbers(n) {}

  // ---- factors, derivatives ----
  template <int kIndex>
  __device__ __forceinline__ A factor() const {
    const A f = numbers.factor[kIndex];
    return P::kBack ? A{f.re, -f.im} : f;
  }
  template <int kIndex>
  __device__ __forceinline__ A table() const {
    const A f = a.table[kIndex * kThreads + threadIdx.x];
    return P::kBack ? A{f.re, -f.im} : f;
  }
  template <std::uint32_t kThread, std::uint32_t kThreadValue, std::uint64_t kOuter,
            std::uint64_t kOuterValue>
  __device__ __forceinline__ bool is_on() const {
    return (threadIdx.x & kThread) == kThreadValue && (outer & kOuter) == kOuterValue;
  }
  __device__ __forceinline__ static A when(bool on, A f) { return on ? f : A{1, 0}; }
  template <int kSlot>
  __device__ __forceinline__ void read(T value) {
    sums.template add<kSlot>(value);
  }
  __device__ __forceinline__ static double* accumulators() {
    return reinterpret_cast<double*>(compiled_memory + kTileBytes + kAheadBytes + kAddressBytes);
  }
  template <int kIndex>
  __device__ __forceinline__ void accumulate(T value) {
    accumulators()[kIndex * kThreads + threadIdx.x] += static_cast<double>(value);
  }

  // ---- rotations and flips ----
  __device__ __forceinline__ static void turn(A& x, A& y, T c, T s) {
    const A first = {c * x.re - s * y.re, c * x.im - s * y.im};
    y = {c * y.re + s * x.re, c * y.im + s * x.im};
    x = first;
  }
  /// Returns the derivative's number, backward.
  template <int kBit, std::uint32_t kOn, std::uint32_t kValue>
  __device__ __forceinline__ T rotate(A f, bool on) {
    const T c = on ? f.re : T(1), s = on ? f.im : T(0);
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k & 1 << kBit || (k & kOn) != kValue) continue;
      const int j = k | 1 << kBit;
      if constexpr (P::kBack) {
        sum += lam[j].re * psi[k].re + lam[j].im * psi[k].im - lam[k].re * psi[j].re -
               lam[k].im * psi[j].im;
        turn(lam[k], lam[j], c, s);
      }
      turn(psi[k], psi[j], c, s);
    }
    return on ? sum : T(0);
  }
  template <int kBit, int kIndex>
  __device__ __forceinline__ T lift() {
    const T t = P::kBack ? -numbers.lift[kIndex] : numbers.lift[kIndex];
    T sum = 0;
    if constexpr (P::kBack) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        if (k & 1 << kBit) continue;
        const int j = k | 1 << kBit;
        sum += lam[j].re * psi[k].re + lam[j].im * psi[k].im - lam[k].re * psi[j].re -
               lam[k].im * psi[j].im;
      }
    }
    if (numbers.form[kIndex / 32] >> kIndex % 32 & 1) {
      lift_pairs<kBit, true>(t);
    } else {
      lift_pairs<kBit, false>(t);
    }
    return sum;
  }
  template <int kBit, bool kStays>
  __device__ __forceinline__ void lift_pairs(T t) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k & 1 << kBit) continue;
      const int j = k | 1 << kBit;
      lift_pair<kStays>(psi[k], psi[j], t);
      if constexpr (P::kBack) lift_pair<kStays>(lam[k], lam[j], t);
    }
  }
  template <bool kStays>
  __device__ __forceinline__ static void lift_pair(A& x, A& y, T t) {
    const A first = x;
    if constexpr (kStays) {
      x = {t * first.re - y.re, t * first.im - y.im};
      y = {t * y.re + first.re, t * y.im + first.im};
    } else {
      x = {first.re - t * y.re, first.im - t * y.im};
      y = {y.re + t * first.re, y.im + t * first.im};
    }
  }
  /// A derivative's number by the square of the factors that the states lack.
  template <int kIndex>
  __device__ __forceinline__ T weigh(T value) const {
    return value * numbers.weight[kIndex];
  }
  __device__ __forceinline__ void rescale() {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      psi[k].re *= numbers.scale, psi[k].im *= numbers.scale;
      if constexpr (P::kBack) lam[k].re *= numbers.scale, lam[k].im *= numbers.scale;
    }
  }
  template <int kBit, std::uint32_t kOn, std::uint32_t kValue>
  __device__ __forceinline__ void flip(bool on) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k & 1 << kBit || (k & kOn) != kValue) continue;
      swap(psi[k], psi[k | 1 << kBit], on);
      if constexpr (P::kBack) swap(lam[k], lam[k | 1 << kBit], on);
    }
  }
  __device__ __forceinline__ static void swap(A& x, A& y, bool on) {
    const A first = x;
    x = on ? y : x;
    y = on ? first : y;
  }

  // ---- phases ----
  /// w[m]: the derivative by an angle of amplitudes whose register has all bits of m; the weight has
  /// its factor 2.
  template <int kWeight>
  __device__ __forceinline__ void overlaps(T (&w)[kHeld]) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      w[k] = weigh<kWeight>(lam[k].im * psi[k].re - lam[k].re * psi[k].im);
    add_supersets<kReg>(w);
  }
  /// Multiplies amplitudes with the factors of the classes in `kPresent` that they belong to.
  template <std::uint32_t kPresent>
  __device__ __forceinline__ void multiply(A (&f)[kHeld]) {
    std::uint32_t have = kPresent;  // constants, once the loops are unrolled
#pragma unroll
    for (int b = 0; b < kReg; ++b) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const int j = k ^ 1 << b;
        if (!(k >> b & 1) || !(have >> j & 1)) continue;
        f[k] = have >> k & 1 ? times(f[k], f[j]) : f[j];
        have |= 1u << k;
      }
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (!(have >> k & 1)) continue;
      psi[k] = times(psi[k], f[k]);
      if constexpr (P::kBack) lam[k] = times(lam[k], f[k]);
    }
  }

  // ---- through shared memory ----
  __device__ __forceinline__ static std::uint32_t of_thread(const std::uint32_t (&columns)[16]) {
    std::uint32_t at = 0;
#pragma unroll
    for (int b = 0; b < kThreadBits; ++b) at ^= threadIdx.x >> b & 1 ? columns[kReg + b] : 0;
    return at;
  }
  __device__ __forceinline__ static constexpr std::uint32_t of_register(
      const std::uint32_t (&columns)[16], int k) {
    std::uint32_t at = 0;
    for (int b = 0; b < kReg; ++b) at ^= k >> b & 1 ? columns[b] : 0;
    return at;
  }
  __device__ __forceinline__ static std::uint32_t* kept_addresses() {
    return reinterpret_cast<std::uint32_t*>(compiled_memory + kTileBytes + kAheadBytes);
  }
  template <int kIndex>
  __device__ __forceinline__ static std::uint32_t addresses() {
    constexpr CompiledExchange e = P::kExchanges[kIndex];
    return (of_thread(e.from) ^ e.plus) | of_thread(e.to) << 16;
  }
  template <int kIndex>
  __device__ __forceinline__ static void keep_addresses() {
    if constexpr (kIndex < P::kNumKept) {
      kept_addresses()[kIndex * kThreads + threadIdx.x] = addresses<kIndex>();
      keep_addresses<kIndex + 1>();
    }
  }
  __device__ __forceinline__ static A& slot(std::uint32_t at) {
    return *reinterpret_cast<A*>(compiled_memory + at);
  }
  template <int kIndex>
  __device__ __forceinline__ void move(A (&state)[kHeld], std::uint32_t before,
                                       std::uint32_t after) {
    constexpr CompiledExchange e = P::kExchanges[kIndex];
    __syncthreads();  // what was there has been read
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      slot(P::kBack ? after ^ of_register(e.to, k) : before ^ of_register(e.from, k)) = state[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      state[k] = slot(P::kBack ? before ^ of_register(e.from, k) : after ^ of_register(e.to, k));
  }
  template <int kIndex>
  __device__ __forceinline__ void exchange(std::uint32_t plus) {
    std::uint32_t at;
    if constexpr (kIndex < P::kNumKept) {
      at = kept_addresses()[kIndex * kThreads + threadIdx.x];
    } else {
      at = addresses<kIndex>();
    }
    const std::uint32_t before = (at & 0xffff) ^ plus, after = at >> 16;
    move<kIndex>(psi, before, after);
    if constexpr (P::kBack) move<kIndex>(lam, before, after);
  }

  // ---- the state ----
  __device__ static std::uint64_t own_place() {
    constexpr CompiledWires wires = P::kWires;
    std::uint64_t own = 0;
#pragma unroll
    for (int b = 0; b < kThreadBits; ++b)
      own |= threadIdx.x >> b & 1 ? std::uint64_t{1} << wires.of[b] : 0;
    return own;
  }
  __device__ static constexpr std::uint64_t register_place(int k) {
    constexpr CompiledWires wires = P::kWires;
    std::uint64_t place = 0;
    for (int b = 0; b < kReg; ++b)
      place |= k >> b & 1 ? std::uint64_t{1} << wires.of[kThreadBits + b] : 0;
    return place;
  }
  __device__ static std::uint64_t deposit(std::uint64_t value, std::uint64_t mask) {
    std::uint64_t out = 0;
    for (; mask; mask &= mask - 1, value >>= 1) {
      if (value & 1) out |= mask & (~mask + 1);
    }
    return out;
  }
  __device__ __forceinline__ static void copy_ahead(std::uint32_t to, const A* from, bool zero) {
    const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(compiled_memory)) + to;
    const int bytes = zero ? 0 : static_cast<int>(sizeof(A));
    if constexpr (sizeof(A) == 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                   "r"(bytes)
                   : "memory");
    } else {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared), "l"(from),
                   "r"(bytes)
                   : "memory");
    }
  }
  /// Amplitude number i of the thread in the two states: 2 k + 0 in psi, 2 k + 1 in lam, backward.
  static constexpr int kStates = P::kBack ? 2 : 1;
  __device__ __forceinline__ A& amplitude(int i) {
    return i % kStates ? lam[i / kStates] : psi[i / kStates];
  }
  __device__ __forceinline__ const A* source(int i, std::uint64_t base) const {
    return (i % kStates ? a.lam : a.psi) + base + register_place(i / kStates);
  }
  __device__ __forceinline__ bool is_zero(int i, std::uint64_t base) const {
    return (base | register_place(i / kStates)) & a.load_zeros;
  }
  __device__ __forceinline__ static std::uint32_t waiting(int i) {
    return kTileBytes + (i * kThreads + threadIdx.x) * sizeof(A);
  }
  __device__ __forceinline__ void fetch(std::uint64_t base) const {
#pragma unroll
    for (int i = 0; i < P::kAhead; ++i) copy_ahead(waiting(i), source(i, base), is_zero(i, base));
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  __device__ __forceinline__ void load(std::uint64_t base) {
#pragma unroll
    for (int i = P::kAhead; i < kStates * kHeld; ++i)
      amplitude(i) = is_zero(i, base) ? A{0, 0} : *source(i, base);
    if constexpr (P::kAhead > 0) {
      asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
      for (int i = 0; i < P::kAhead; ++i) amplitude(i) = slot(waiting(i));  // its own
    }
  }
  __device__ __forceinline__ void store(std::uint64_t base) const {
    if (!a.stores || base & a.store_zeros) return;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (register_place(k) & a.store_zeros) continue;
      a.psi[base + register_place(k)] = psi[k];
      if constexpr (P::kBack) a.lam[base + register_place(k)] = lam[k];
    }
  }

  __device__ void run() {
    keep_addresses<0>();
    for (int k = 0; k < P::kNumAccumulators; ++k) accumulators()[k * kThreads + threadIdx.x] = 0;
    const std::uint64_t own = own_place();
    outer = deposit(blockIdx.x, a.outer) | a.shard;
    if constexpr (P::kAhead > 0) fetch(outer | own);
#pragma unroll 1
    for (std::uint64_t n = blockIdx.x; n < a.count; n += gridDim.x) {
      const std::uint64_t base = outer | own;
      const std::uint64_t next = (((outer | ~a.outer) + a.stride) & a.outer) | a.shard;
      load(base);
      if constexpr (P::kAhead > 0) {
        if (n + gridDim.x < a.count) fetch(next | own);
      }
      P::run(*this);
      if (P::kBack && a.start && outer == 0 && threadIdx.x == 0) *a.start = psi[0];
      store(base);
      outer = next;
    }
    if constexpr (P::kBack) write_sums();
  }

  __device__ void write_sums() {
    constexpr int kWarps = kThreads / 32;
    auto* const of_warps = reinterpret_cast<double*>(compiled_memory);  // [warp][slot]
    double* const out = a.sums + std::uint64_t{blockIdx.x} * P::kNumAll;
    __syncthreads();
#pragma unroll
    for (int g = 0; g < (P::kNumReads + 31) / 32; ++g) {
      const std::uint32_t at = g * 32 + (threadIdx.x & 31);
      if (at < P::kNumReads) of_warps[threadIdx.x / 32 * P::kNumReads + at] = sums.total[g];
    }
    __syncthreads();
    for (std::uint32_t r = threadIdx.x; r < P::kNumReads; r += kThreads) {
      double sum = 0;
      for (int w = 0; w < kWarps; ++w) sum += of_warps[w * P::kNumReads + r];
      out[numbers.read[r]] = sum;
    }
    for (std::uint32_t k = threadIdx.x / 32; k < P::kNumAccumulated; k += kWarps) {
      const StageRead read = a.accumulated[k];
      double sum = 0;
      for (std::uint32_t t = threadIdx.x & 31; t < kThreads; t += 32) {
        if ((t & read.thread) == read.thread)
          sum += accumulators()[read.accumulator * kThreads + t];
      }
      sum = sum_of_warp(sum);
      if ((threadIdx.x & 31) == 0) out[read.read] = sum;
    }
  }
};

}  // namespace tilewave::parametric::device
