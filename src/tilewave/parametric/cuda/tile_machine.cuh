// What the threads of a block do with a tile that lies in their registers: the instructions of
// plan/stages.h, forward on one state, backward on two with the derivatives they read. A template on
// the number type, on the bits of the tile and of the registers, so that amplitudes have fixed
// registers; everything else is data.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/parametric/cuda/amplitude.cuh"
#include "tilewave/parametric/plan/stages.h"

namespace tilewave::parametric::device {

/// The arrays of a StageProgram on the device.
template <class T>
struct ProgramView {
  const StagePass* passes;
  const StageOp* ops;
  const Exchange* exchanges;
  const ExchangeCondition* conditions;
  const StagePhases* phases;
  const StageTerm* terms;
  const StageMatrix* matrices;
  const Amplitude<T>* entries;
  const StageRead* reads;
};

/// Row r of the product of a matrix, or of its inverse, and the state: `amplitude(row)` is the state's.
template <class T, class F>
__device__ Amplitude<T> matrix_row(const StageMatrix& m, const Amplitude<T>* entries, bool inverse,
                                   std::uint32_t r, F amplitude) {
  const std::uint32_t dim = 1u << m.num_bits;
  std::uint32_t index = 0, rest = r;
  for (std::uint32_t b = 0; b < m.num_bits; ++b) {
    index |= (r >> m.bits[b] & 1) << b;
    rest &= ~(1u << m.bits[b]);
  }
  Amplitude<T> sum = {0, 0};
  for (std::uint32_t j = 0; j < dim; ++j) {
    std::uint32_t from = rest;
    for (std::uint32_t b = 0; b < m.num_bits; ++b) from |= (j >> b & 1) << m.bits[b];
    Amplitude<T> entry = entries[m.first + (inverse ? j * dim + index : index * dim + j)];
    if (inverse) entry.im = -entry.im;
    const Amplitude<T> product = times(entry, amplitude(from));
    sum.re += product.re;
    sum.im += product.im;
  }
  return sum;
}

// kRow bits of a tile, of which kReg choose the register.
template <class T, int kRow, int kReg, bool kBack>
struct Tile {
  static constexpr int kThreadBits = kRow - kReg;
  static constexpr int kThreads = 1 << kThreadBits;
  static constexpr int kHeld = 1 << kReg;
  static constexpr int kStates = kBack ? 2 : 1;
  static constexpr int kBankBits = sizeof(T) == 8 ? 3 : 4;
  using A = Amplitude<T>;

  A psi[kHeld];
  A lam[kBack ? kHeld : 1];
  A* shared;                           // room for one tile
  const A *op_factors, *term_factors;  // cosine and sine of the angle of each of the pass
  const A* table;                      // products of them, [table][thread]
  double* sums;                        // of the warp: one for each derivative of the pass
  double* accumulators;                // [accumulator][thread]
  const std::uint32_t* addresses;  // [exchange of the pass][thread]: of `from`, and of `to` << 16
  std::uint32_t first_exchange, num_kept;
  std::uint64_t outer;  // wires that choose the tile

  // ---- derivatives ----
  __device__ void add_read(std::int32_t read, T value) {
    value = sum_of_warp(value);
    if ((threadIdx.x & 31) == 0) sums[read] += static_cast<double>(value);
  }
  __device__ void accumulate(std::int32_t accumulator, T value) {
    accumulators[accumulator * kThreads + threadIdx.x] += static_cast<double>(value);
  }
  // ---- rotations and flips ----
  template <int kBit, bool kRead, bool kControls>
  __device__ void rotate_bit(const StageOp& op, T c, T s, T& sum) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k & 1 << kBit) continue;
      if (kControls && (k & op.registers) != op.register_value) continue;
      const int j = k | 1 << kBit;
      if constexpr (kBack) {
        if constexpr (kRead)
          sum += lam[j].re * psi[k].re + lam[j].im * psi[k].im - lam[k].re * psi[j].re -
                 lam[k].im * psi[j].im;
        turn(lam[k], lam[j], c, s);
      }
      turn(psi[k], psi[j], c, s);
    }
  }
  __device__ static void turn(A& x, A& y, T c, T s) {
    const A first = {c * x.re - s * y.re, c * x.im - s * y.im};
    y = {c * y.re + s * x.re, c * y.im + s * x.im};
    x = first;
  }
  __device__ bool is_on(const StageOp& op) const {
    return (threadIdx.x & op.thread) == op.thread_value && (outer & op.outer) == op.outer_value;
  }
  template <bool kRead, bool kControls>
  __device__ void rotate_any(const StageOp& op, T c, T s, T& sum) {
    switch (op.bit) {
      case 0:
        return rotate_bit<0, kRead, kControls>(op, c, s, sum);
      case 1:
        return rotate_bit<1, kRead, kControls>(op, c, s, sum);
      case 2:
        return rotate_bit<2, kRead, kControls>(op, c, s, sum);
      default:
        return rotate_bit<kReg - 1, kRead, kControls>(op, c, s, sum);
    }
  }
  __device__ void rotate(const StageOp& op, A factor) {
    T c = factor.re, s = kBack ? -factor.im : factor.im, sum = 0;
    const bool is_plain = !(op.registers | op.thread) && !op.outer;
    const bool on = is_plain || is_on(op);
    if (!on) c = 1, s = 0;
    if (op.registers) {
      rotate_any<kBack, true>(op, c, s, sum);
    } else {
      rotate_any<kBack, false>(op, c, s, sum);
    }
    if constexpr (kBack) {
      if (!on) sum = 0;
      if (op.accumulator >= 0) {
        accumulate(op.accumulator, sum);
      } else if (op.read >= 0) {
        add_read(op.read, sum);
      }
    }
  }

  template <int kBit>
  __device__ void flip_bit(const StageOp& op) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (k & 1 << kBit) continue;
      if ((k & op.registers) != op.register_value) continue;
      const int j = k | 1 << kBit;
      A x = psi[k];
      psi[k] = psi[j], psi[j] = x;
      if constexpr (kBack) {
        x = lam[k];
        lam[k] = lam[j], lam[j] = x;
      }
    }
  }
  __device__ void flip(const StageOp& op) {
    if (!is_on(op)) return;
    switch (op.bit) {
      case 0:
        return flip_bit<0>(op);
      case 1:
        return flip_bit<1>(op);
      case 2:
        return flip_bit<2>(op);
      default:
        return flip_bit<kReg - 1>(op);
    }
  }

  // ---- phases ----
  __device__ void phases(const StagePhases& all, const StageTerm* terms, std::uint32_t first_term) {
    [[maybe_unused]] T w[kBack ? kHeld : 1];
    if constexpr (kBack) {
      // the derivative by the angle of a term: -2 sum of Im(conj(lam) psi) where its bits are 1
      if (all.reads) {
#pragma unroll
        for (int k = 0; k < kHeld; ++k)
          w[k] = T(2) * (lam[k].im * psi[k].re - lam[k].re * psi[k].im);
        add_supersets<kReg>(w);
      }
    }
#pragma unroll
    for (int m = 0; m < kHeld; ++m) {
      const std::uint32_t first = all.first[m], end = all.first[m + 1];
      if (first == end) continue;
      A f = {1, 0};
      std::uint32_t tabled = first;
      if (all.table[m] >= 0) {
        f = table[all.table[m] * kThreads + threadIdx.x];
        if (kBack) f.im = -f.im;
        tabled = all.tabled[m];
      }
      std::uint32_t waits = first;  // reads from here on are added up now
      if constexpr (kBack) {
        if (all.accumulator[m] >= 0) {
          accumulate(all.accumulator[m], w[m]);
          waits = all.tabled[m];
        }
      }
      for (std::uint32_t k = kBack && all.reads && waits < tabled ? waits : tabled; k < end; ++k) {
        const StageTerm& t = terms[k - first_term];
        const bool on = (threadIdx.x & t.thread) == t.thread && (outer & t.outer) == t.outer;
        if (k >= tabled) {
          A factor = term_factors[k - first_term];
          if (kBack) factor.im = -factor.im;
          const A next = times(f, factor);
          if (on) f = next;
        }
        if constexpr (kBack) {
          if (k >= waits && t.read >= 0) add_read(t.read, on ? w[m] : T(0));
        }
      }
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        if ((k & m) != m) continue;
        psi[k] = times(psi[k], f);
        if constexpr (kBack) lam[k] = times(lam[k], f);
      }
    }
  }

  // ---- through shared memory ----
  // Slots to addresses: the thread's part, and a column each for the register's bits.
  __device__ static std::uint32_t of_thread(const std::uint16_t* columns) {
    std::uint32_t at = 0;
#pragma unroll
    for (int b = 0; b < kThreadBits; ++b) {
      if (threadIdx.x >> b & 1) at ^= columns[kReg + b];
    }
    return at;
  }
  __device__ static std::uint32_t of_register(const std::uint16_t* columns, int k) {
    std::uint32_t at = 0;
#pragma unroll
    for (int b = 0; b < kReg; ++b) {
      if (k >> b & 1) at ^= columns[b];
    }
    return at;
  }

  __device__ void move(A* state, const std::uint16_t* to, std::uint32_t write,
                       const std::uint16_t* from, std::uint32_t read) {
    __syncthreads();  // what was there has been read
#pragma unroll
    for (int k = 0; k < kHeld; ++k) shared[write ^ of_register(to, k)] = state[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) state[k] = shared[read ^ of_register(from, k)];
  }

  __device__ static std::uint32_t addresses_of(const Exchange& e) {
    return (of_thread(e.from) ^ e.plus) | of_thread(e.to) << 16;
  }
  __device__ void exchange(const Exchange& e, std::uint32_t index, std::uint32_t num_conditions,
                           const ExchangeCondition* conditions) {
    const std::uint32_t own = index - first_exchange;
    const std::uint32_t at =
        own < num_kept ? addresses[own * kThreads + threadIdx.x] : addresses_of(e);
    std::uint32_t plus = 0;
    for (std::uint32_t k = 0; k < num_conditions; ++k) {
      const ExchangeCondition& c = conditions[e.first_condition + k];
      if ((outer & c.outer) == c.outer_value) plus ^= c.plus;
    }
    const std::uint32_t before = (at & 0xffff) ^ plus, after = at >> 16;
    if constexpr (kBack) {
      move(psi, e.to, after, e.from, before);
      move(lam, e.to, after, e.from, before);
    } else {
      move(psi, e.from, before, e.to, after);
    }
  }

  // `rows`: the bit of the row in each slot, for the layout at hand.
  __device__ void matrix(A* state, const StageOp& op, const StageMatrix& m, const A* entries,
                         const std::uint16_t* rows) {
    const std::uint32_t row = of_thread(rows);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      shared[swizzle(row ^ of_register(rows, k), kBankBits)] = state[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const std::uint32_t r = row ^ of_register(rows, k);
      if ((r & m.row) != m.row_value || (outer & op.outer) != op.outer_value) continue;
      state[k] = matrix_row<T>(m, entries, kBack, r, [&](std::uint32_t from) {
        return shared[swizzle(from, kBankBits)];
      });
    }
  }

  // ---- a pass ----
  // `ops`, `phases_of`, `terms`: those of the pass, wherever they are.
  __device__ void run(const ProgramView<T>& p, const StagePass& pass, const StageOp* ops,
                      const StagePhases* phases_of, const StageTerm* terms) {
    const std::uint16_t* rows = p.exchanges[0].rows;  // of the layout at hand
    for (std::uint32_t n = 0; n < pass.num_ops; ++n) {
      const std::uint32_t at = kBack ? pass.num_ops - 1 - n : n;
      const StageOp& op = ops[at];
      switch (op.kind) {
        case StageOpKind::kExchange: {
          const Exchange& e = p.exchanges[op.index];
          exchange(e, op.index, op.thread, p.conditions);
          rows = kBack ? e.rows_before : e.rows;
          break;
        }
        case StageOpKind::kRotate:
          rotate(op, op_factors[at]);
          break;
        case StageOpKind::kFlip:
          flip(op);
          break;
        case StageOpKind::kPhases:
          phases(phases_of[op.index - pass.first_phases], terms, pass.first_term);
          break;
        case StageOpKind::kMatrix:
          matrix(psi, op, p.matrices[op.index], p.entries, rows);
          if constexpr (kBack) matrix(lam, op, p.matrices[op.index], p.entries, rows);
          break;
      }
    }
  }
};

}  // namespace tilewave::parametric::device
