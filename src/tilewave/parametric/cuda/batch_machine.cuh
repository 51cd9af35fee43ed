// What a team of 2^(kRow - kReg) threads does with the state of a set of values that lies in its
// registers, 2^kReg amplitudes in each thread: the operations of plan/batch_program.h, forward on one
// state, backward on two with derivatives. All teams of a block run the same operations at the same
// time, so that a team of up to a warp needs no barrier of the block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/parametric/cuda/amplitude.cuh"
#include "tilewave/parametric/cuda/batch_views.cuh"
#include "tilewave/parametric/cuda/string_sums.cuh"
#include "tilewave/parametric/plan/batch_program.h"

namespace tilewave::parametric::device {

template <class T, int kRow, int kReg, bool kBack, bool kFar>
struct Team : TeamShape<T, kRow, kReg> {
  using Shape = TeamShape<T, kRow, kReg>;
  using Shape::kHeld, Shape::kLaneBits, Shape::kThreadBits, Shape::kThreads, Shape::sync;
  using A = Amplitude<T>;

  A psi[kHeld];
  A lam[kBack ? kHeld : 1];
  TeamSlots<T, kFar> slots;
  std::uint32_t thread;  // of the team

  __device__ __forceinline__ A& place(std::uint32_t at) const {
    return *reinterpret_cast<A*>(batch_memory +
                                 (Shape::kAligned ? slots.tile ^ at : slots.tile + at));
  }
  __device__ __forceinline__ A factor(std::uint32_t slot) const {
    A f = slots.factor(slot);
    if (kBack) f.im = -f.im;
    return f;
  }

  // ---- derivatives ----
  /// Sums over the lanes of `v`, which are a power of two many, those of the slots from `slot` on. At
  /// each step two of them become one, of which half of the lanes have the first and half the second.
  template <int kMany>
  __device__ __forceinline__ void add_reads(T (&v)[kMany], std::uint32_t slot,
                                            std::uint32_t count) const {
    std::uint32_t own = 0;
    int left = kMany;
#pragma unroll
    for (int l = 0; l < kLaneBits; ++l) {
      if (left > 1) {
        left /= 2;
        const bool high = thread >> l & 1;
        if (high) own += static_cast<std::uint32_t>(left);
#pragma unroll
        for (int i = 0; i < kMany / 2; ++i) {
          if (i >= left) continue;
          const T keep = high ? v[i + left] : v[i], send = high ? v[i] : v[i + left];
          v[i] = keep + __shfl_xor_sync(0xffffffffu, send, 1 << l);
        }
      } else {
        v[0] += __shfl_xor_sync(0xffffffffu, v[0], 1 << l);
      }
    }
    // several lanes have the same where there are more lanes than sums
    constexpr int kFolds = kMany < kThreads ? kMany : kThreads;
    if (kFolds < kThreads && (thread & 31 & ~(kFolds - 1))) return;
#pragma unroll
    for (int i = 0; i < kMany; ++i) {
      if (i < left && own + i < count) slots.sum(slot + own + i) = static_cast<double>(v[i]);
    }
  }
  __device__ __forceinline__ void add_read(std::uint32_t slot, T value) const {
    value = Shape::sum_of_lanes(value);
    if ((thread & 31) == 0) slots.sum(slot) = static_cast<double>(value);
  }

  // ---- rotations and flips ----
  __device__ __forceinline__ static void turn(A& x, A& y, A f) {
    const A first = {f.re * x.re - f.im * y.re, f.re * x.im - f.im * y.im};
    y = {f.re * y.re + f.im * x.re, f.re * y.im + f.im * x.im};
    x = first;
  }
  // The same, but for the sign of both, by three shears, of which none needs a copy: f is tan(a/2) and
  // sin a of an angle with |a| <= pi/2 that differs from the rotation's by a multiple of pi.
  __device__ __forceinline__ static void shear(T& x, T& y, A f) {
    x -= f.re * y;
    y += f.im * x;
    x -= f.re * y;
  }
  template <bool kControls>
  __device__ __forceinline__ static void rotate_pair(A& x, A& y, A f) {
    if constexpr (kControls) {
      turn(x, y, f);
    } else {
      shear(x.re, y.re, f);
      shear(x.im, y.im, f);
    }
  }
  /// The derivative by the angle, where amplitudes have the register's bits `value` in `mask`.
  template <int kBit, bool kControls>
  __device__ __forceinline__ T rotate_bit(A f, std::uint32_t mask = 0, std::uint32_t value = 0) {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k & 1 << kBit) continue;
      if (kControls && (k & mask) != value) continue;
      const int j = k | 1 << kBit;
      if constexpr (kBack) {
        sum += lam[j].re * psi[k].re + lam[j].im * psi[k].im - lam[k].re * psi[j].re -
               lam[k].im * psi[j].im;
        rotate_pair<kControls>(lam[k], lam[j], f);
      }
      rotate_pair<kControls>(psi[k], psi[j], f);
    }
    return sum;
  }
  template <int kBit>
  __device__ __forceinline__ void rotations_from(const DeviceBatchOp& op, const A (&f)[kReg],
                                                 T (&sums_of)[kMostRegisterBits]) {
    if constexpr (kBit < kReg) {
      if (op.bits() >> kBit & 1) sums_of[kBit] = rotate_bit<kBit, false>(f[kBit]);
      rotations_from<kBit + 1>(op, f, sums_of);
    }
  }
  __device__ __forceinline__ void rotations(const DeviceBatchOp& op) {
    A f[kReg];
#pragma unroll
    for (int b = 0; b < kReg; ++b) {
      f[b] = factor(op.slot + b);
      if (kBack) f[b].re = -f[b].re;
    }
    T v[kMostRegisterBits] = {};
    rotations_from<0>(op, f, v);
    if (kBack && op.reads()) add_reads(v, op.slot, kReg);
  }
  __device__ __forceinline__ bool is_on(const DeviceBatchOp& op) const {
    return (thread & op.threads & 0xffff) == op.threads >> 16;
  }
  template <int kBit>
  __device__ __forceinline__ T rotate_any(const DeviceBatchOp& op, A f) {
    if constexpr (kBit < kReg) {
      if (op.bits() == kBit) return rotate_bit<kBit, true>(f, op.registers(), op.register_value());
      return rotate_any<kBit + 1>(op, f);
    }
    return 0;
  }
  __device__ void rotate(const DeviceBatchOp& op) {
    const bool on = is_on(op);
    const A f = on ? factor(op.slot) : A{1, 0};
    const T sum = rotate_any<0>(op, f);
    if (kBack && op.reads()) add_read(op.slot, on ? sum : T(0));
  }
  template <int kBit>
  __device__ void flip_bit(const DeviceBatchOp& op) {
    if constexpr (kBit < kReg) {
      if (op.bits() != kBit) return flip_bit<kBit + 1>(op);
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        if (k & 1 << kBit) continue;
        if ((k & op.registers()) != op.register_value()) continue;
        const int j = k | 1 << kBit;
        A x = psi[k];
        psi[k] = psi[j], psi[j] = x;
        if constexpr (kBack) {
          x = lam[k];
          lam[k] = lam[j], lam[j] = x;
        }
      }
    }
  }

  // ---- phases ----
  // The derivative by the angle of a term: -2 sum of Im(conj(lam) psi) where its bits are 1.
  __device__ __forceinline__ void overlaps(T (&w)[kHeld]) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) w[k] = T(2) * (lam[k].im * psi[k].re - lam[k].re * psi[k].im);
  }
  __device__ __forceinline__ void multiply(int k, A f) {
    psi[k] = times(psi[k], f);
    if constexpr (kBack) lam[k] = times(lam[k], f);
  }
  // Amplitudes whose register has the bits of kAt above those below kBits: `p` is the factor so far.
  template <int kBits, int kAt>
  __device__ __forceinline__ void spread(A p, const A (&f)[kReg]) {
    if constexpr (kBits == 0) {
      multiply(kAt, p);
    } else {
      spread<kBits - 1, kAt>(p, f);
      spread<kBits - 1, kAt | 1 << (kBits - 1)>(times(p, f[kBits - 1]), f);
    }
  }
  __device__ __forceinline__ void single_phases(const DeviceBatchOp& op) {
    if (kBack && op.reads()) {
      T w[kHeld], v[next_power_of_two(kRow)] = {};
      overlaps(w);
#pragma unroll
      for (int b = kReg - 1; b >= 0; --b) {  // the bits above are summed over
#pragma unroll
        for (int k = 0; k < kHeld / 2; ++k) {
          if (k >> b) continue;
          v[b] += w[k | 1 << b];
          w[k] += w[k | 1 << b];
        }
      }
#pragma unroll
      for (int b = 0; b < kThreadBits; ++b) v[kReg + b] = thread >> b & 1 ? w[0] : T(0);
      add_reads(v, op.slot, kRow);
    }
    A p = {1, 0};
#pragma unroll
    for (int b = 0; b < kThreadBits; ++b) {
      A f = factor(op.slot + kReg + b);
      if (!(thread >> b & 1)) f = {1, 0};
      p = b ? times(p, f) : f;
    }
    A f[kReg];
#pragma unroll
    for (int b = 0; b < kReg; ++b) f[b] = factor(op.slot + b);
    spread<kReg, 0>(p, f);
  }

  // Products of classes wait in the tile, each thread's at its own place.
  __device__ __forceinline__ A& own_place(int m) const {
    return place((static_cast<std::uint32_t>(m) * kThreads + thread) *
                 static_cast<std::uint32_t>(sizeof(A)));
  }
  template <int m>
  __device__ __forceinline__ void multiply_class(std::uint32_t present) {
    if constexpr (m < kHeld) {
      if (present >> m & 1) {
        const A p = own_place(m);
#pragma unroll
        for (int k = 0; k < kHeld; ++k) {
          if ((k & m) == m) multiply(k, p);
        }
      }
      multiply_class<m + 1>(present);
    }
  }
  __device__ __forceinline__ void class_phases(const DeviceBatchOp& op, const BatchPhases& all,
                                               const std::uint16_t* slot_threads) {
    const std::uint32_t present = all.present;
    sync();  // what was in the tile has been read
    if (kBack && op.reads()) {
      T w[kHeld];
      overlaps(w);
      add_supersets<kReg>(w);
#pragma unroll
      for (int m = 0; m < kHeld; ++m) own_place(m) = {w[m], 0};
    }
#pragma unroll 1
    for (std::uint32_t left = present; left; left &= left - 1) {
      const int m = __ffs(static_cast<int>(left)) - 1;
      const T own = kBack && op.reads() ? own_place(m).re : T(0);
      A p = {1, 0};
      for (std::uint32_t k = op.slot + all.first[m]; k < op.slot + all.first[m + 1]; ++k) {
        const std::uint32_t mask = slot_threads[k];
        const bool on = (thread & mask) == mask;
        A next = factor(k);
        if (!on) next = {1, 0};
        p = times(p, next);
        if (kBack && op.reads()) add_read(k, on ? own : T(0));
      }
      own_place(m) = p;
    }
    multiply_class<0>(present);
  }

  // ---- through shared memory ----
  __device__ __forceinline__ static std::uint32_t of_register(
      const std::uint32_t (&columns)[kMostRegisterBits / 2], int k) {
    std::uint32_t at = 0;
#pragma unroll
    for (int b = 0; b < kReg; ++b) at ^= k >> b & 1 ? columns[b / 2] >> 16 * (b % 2) & 0xffff : 0;
    return at;
  }
  __device__ __forceinline__ void move(A (&state)[kHeld],
                                       const std::uint32_t (&from)[kMostRegisterBits / 2],
                                       std::uint32_t own_from,
                                       const std::uint32_t (&to)[kMostRegisterBits / 2],
                                       std::uint32_t own_to) const {
    sync();  // what was there has been read
#pragma unroll
    for (int k = 0; k < kHeld; ++k) place(own_from ^ of_register(from, k)) = state[k];
    sync();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) state[k] = place(own_to ^ of_register(to, k));
  }
  __device__ __forceinline__ void exchange(const DeviceBatchOp& op,
                                           const std::uint32_t* addresses) {
    const std::uint32_t at = addresses[op.index * kThreads + thread];
    if constexpr (kBack) {
      move(psi, op.to, at >> 16, op.from, at & 0xffff);
      move(lam, op.to, at >> 16, op.from, at & 0xffff);
    } else {
      move(psi, op.from, at & 0xffff, op.to, at >> 16);
    }
  }

  __device__ void matrix(A (&state)[kHeld], const BatchMatrix& all, const A* entries) const {
    const StageMatrix& m = all.matrix;
    const auto row_of = [&](int k) {
      std::uint32_t r = 0;
#pragma unroll 1
      for (int b = 0; b < kRow; ++b) {
        const bool is_one = b < kReg ? k >> b & 1 : thread >> (b - kReg) & 1;
        r ^= is_one ? all.rows[b] : 0;
      }
      return r;
    };
    const auto at = [](std::uint32_t row) {
      return swizzle(row, Shape::kBankBits) * static_cast<std::uint32_t>(sizeof(A));
    };
    sync();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) place(at(row_of(k))) = state[k];
    sync();
    A out[kHeld];
#pragma unroll 1  // rare: it is the code that must be small
    for (int k = 0; k < kHeld; ++k) {
      const std::uint32_t r = row_of(k);
      out[k] = place(at(r));
      if ((r & m.row) != m.row_value) continue;
      out[k] =
          matrix_row<T>(m, entries, kBack, r, [&](std::uint32_t from) { return place(at(from)); });
    }
#pragma unroll
    for (int k = 0; k < kHeld; ++k) state[k] = out[k];
  }

  __device__ __forceinline__ void run(const BatchView<T>& p) {
    if (!p.num_ops) return;
    const DeviceBatchOp* next = kBack ? p.ops + p.num_ops - 1 : p.ops;
    DeviceBatchOp op = *next;
#pragma unroll 1
    for (std::uint32_t left = p.num_ops; left; --left) {
      next += kBack ? -1 : 1;
      const DeviceBatchOp following = left > 1 ? *next : op;  // on its way meanwhile
      switch (op.kind()) {
        case BatchOpKind::kExchange:
          exchange(op, p.addresses);
          break;
        case BatchOpKind::kRotations:
          rotations(op);
          break;
        case BatchOpKind::kSinglePhases:
          single_phases(op);
          break;
        case BatchOpKind::kRotate:
          rotate(op);
          break;
        case BatchOpKind::kFlip:
          if (is_on(op)) flip_bit<0>(op);
          break;
        case BatchOpKind::kPhases:
          class_phases(op, p.phases[op.index], p.slot_threads);
          break;
        case BatchOpKind::kMatrix:
          matrix(psi, p.matrices[op.index], p.entries);
          if constexpr (kBack) matrix(lam, p.matrices[op.index], p.entries);
          break;
      }
      op = following;
    }
  }

  // ---- Pauli strings ----
  // d of each of the thread's amplitudes times the amplitude from elsewhere, of i times it.
  template <bool kImaginary, bool kLam>
  __device__ __forceinline__ void add_segment(const T (&d)[kHeld], std::uint32_t from, T factor,
                                              T& re, A* to) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      A v = place(from ^ swizzle(k << kThreadBits, Shape::kBankBits) *
                             static_cast<std::uint32_t>(sizeof(A)));
      if constexpr (kImaginary) v = {-v.im, v.re};
      re += d[k] * (psi[k].re * v.re + psi[k].im * v.im);
      if constexpr (kLam) {
        const T own = factor * d[k];
        to[k].re += own * v.re;
        to[k].im += own * v.im;
      }
    }
  }
  /// <psi|P|psi>, whose real parts are added to those of the warp from `sums` on, and P psi times the
  /// factor of each observable, to `to`, where kLam. psi[k] is the row thread + k kThreads.
  template <bool kLam>
  __device__ __forceinline__ void add_strings(const BatchStrings<T>& all, std::uint32_t sums, A* to,
                                              const double* factors) const {
    const auto at = [](std::uint32_t row) {
      return swizzle(row, Shape::kBankBits) * static_cast<std::uint32_t>(sizeof(A));
    };
    const std::uint32_t own = at(thread);
    sync();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) place(own ^ at(k << kThreadBits)) = psi[k];
    sync();
    T re = 0;
#pragma unroll 1
    for (std::uint32_t s = 0; s < all.num_segments; ++s) {
      const BatchSegment segment = all.segments[s];
      T d[kHeld] = {};
#pragma unroll 1
      for (std::uint32_t c = segment.first; c < segment.end; ++c) {
        const BatchClass of = all.classes[c];
        T sum = 0;
#pragma unroll 1
        for (std::uint32_t j = of.first; j < of.end; ++j) {
          const DeviceString<T> z = all.strings[j];
          sum += __popc(thread & z.row) & 1 ? -z.weight : z.weight;
        }
        // bit k: the parity of k & held
        const std::uint32_t odd = (of.held & 1 ? 0xaaaa : 0) ^ (of.held & 2 ? 0xcccc : 0) ^
                                  (of.held & 4 ? 0xf0f0 : 0) ^ (of.held & 8 ? 0xff00 : 0);
#pragma unroll
        for (int k = 0; k < kHeld; ++k) d[k] += odd >> k & 1 ? -sum : sum;
      }
      const T factor = kLam ? static_cast<T>(factors[segment.sum]) : T(1);
      const std::uint32_t from = own ^ at(segment.flip);
      if (segment.imaginary) {
        add_segment<true, kLam>(d, from, factor, re, to);
      } else {
        add_segment<false, kLam>(d, from, factor, re, to);
      }
      if (s + 1 < all.num_segments && all.segments[s + 1].sum == segment.sum) continue;
      re = Shape::sum_of_lanes(re);
      if ((thread & 31) == 0) slots.sum(sums + segment.sum) += static_cast<double>(re);
      re = 0;
    }
  }
};

}  // namespace tilewave::parametric::device
