// What a team does with whole states of its set beside the circuit: the amplitudes that a set starts from
// or that a derivative is along, and, of the final state, its amplitudes, probabilities of chosen qubits
// or shots. Row thread + k kThreads of a state is register k of a thread (batch_machine.cuh). Amplitudes of
// the caller are in double precision, in the order of basis states: bit q of a number is qubit q.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/base/philox.h"
#include "tilewave/parametric/cuda/batch_machine.cuh"
#include "tilewave/parametric/cuda/device_batch.h"

namespace tilewave::parametric::device {

/// Pointers are null for what is not asked; of the results at most one is.
struct BatchStates {
  const double2* initial;  ///< [set][basis state]
  std::uint64_t
      initial_of;         ///< how far those of neighbouring sets are apart: 0 where they share one
  const double2* g;       ///< [set][basis state]
  double2* states;        ///< [set][basis state]
  double* probabilities;  ///< [set][outcome]
  std::uint64_t* shots;   ///< [set][shot]
  std::uint64_t num_shots, seed, first_set;
  std::uint32_t num_qubits, num_chosen;
  std::uint8_t wires[kMostBatchWires];   ///< of the qubits, at the end
  std::uint8_t chosen[kMostBatchWires];  ///< of the bits of an outcome

  __device__ __forceinline__ bool gives_results() const { return states || probabilities || shots; }
};

__device__ __forceinline__ std::uint32_t row_of(std::uint32_t number, const std::uint8_t* wires,
                                                std::uint32_t count) {
  std::uint32_t row = 0;
#pragma unroll 1
  for (std::uint32_t q = 0; q < count; ++q) row |= (number >> q & 1) << wires[q];
  return row;
}

/// The basis state of a row.
__device__ __forceinline__ std::uint32_t number_of(std::uint32_t row, const BatchStates& s) {
  std::uint32_t number = 0;
#pragma unroll 1
  for (std::uint32_t q = 0; q < s.num_qubits; ++q) number |= (row >> s.wires[q] & 1) << q;
  return number;
}

template <class Team>
struct TeamStates : Team {
  using Team::kHeld, Team::kLaneBits, Team::kThreadBits, Team::kThreads, Team::sync, Team::thread;
  using A = typename Team::A;

  __device__ __forceinline__ static std::uint32_t at(std::uint32_t row) {
    return swizzle(row, Team::kBankBits) * static_cast<std::uint32_t>(sizeof(A));
  }
  __device__ __forceinline__ std::uint32_t row(int k) const {
    return thread | static_cast<std::uint32_t>(k) << kThreadBits;
  }
  // A number in the place of an amplitude.
  __device__ __forceinline__ double& number(std::uint32_t row) const {
    return *reinterpret_cast<double*>(&this->place(at(row)));
  }
  __device__ __forceinline__ double probability(int k) const {
    const double re = this->psi[k].re, im = this->psi[k].im;
    return re * re + im * im;
  }

  /// Of amplitudes of a set; wires that no qubit has are |0>.
  __device__ __forceinline__ void load(A (&state)[kHeld], const double2* amplitudes,
                                       std::uint32_t num_qubits) const {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      state[k] = {0, 0};
      if (row(k) >> num_qubits) continue;
      const double2 v = amplitudes[row(k)];
      state[k] = {static_cast<decltype(A::re)>(v.x), static_cast<decltype(A::re)>(v.y)};
    }
  }
  /// lam = conj(f) g / 2, on wires as they are at the end; 2 Im <lam|psi> of this thread.
  __device__ __forceinline__ double load_lam(const double2* g, const BatchStates& s, A f) {
    double sum = 0;
    f = {f.re / 2, -f.im / 2};
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      A& lam = this->lam[k];
      lam = {0, 0};
      if (row(k) >> s.num_qubits) continue;
      const double2 v = g[number_of(row(k), s)];
      lam = times(f, A{static_cast<decltype(A::re)>(v.x), static_cast<decltype(A::re)>(v.y)});
      sum += 2 * static_cast<double>(lam.re * this->psi[k].im - lam.im * this->psi[k].re);
    }
    return sum;
  }

  __device__ __forceinline__ void share_psi() const {
    sync();  // what was in the tile has been read
#pragma unroll
    for (int k = 0; k < kHeld; ++k) this->place(at(row(k))) = this->psi[k];
    sync();
  }

  /// The amplitudes times f.
  __device__ __forceinline__ void store(const BatchStates& s, std::uint32_t set, A f,
                                        bool writes) const {
    share_psi();
    const std::uint32_t size = writes ? 1u << s.num_qubits : 0;
#pragma unroll 1
    for (std::uint32_t x = thread; x < size; x += kThreads) {
      const A v = times(f, this->place(at(row_of(x, s.wires, s.num_qubits))));
      s.states[(std::uint64_t{set} << s.num_qubits) + x] = {static_cast<double>(v.re),
                                                            static_cast<double>(v.im)};
    }
  }

  /// Rows that differ in wires that were not chosen are added up, one wire after the other.
  __device__ __forceinline__ void store_probabilities(const BatchStates& s, std::uint32_t set,
                                                      bool writes) const {
    sync();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) number(row(k)) = probability(k);
    std::uint32_t done = 0;
    const std::uint32_t chosen = row_of((1u << s.num_chosen) - 1, s.chosen, s.num_chosen);
#pragma unroll 1
    for (std::uint32_t left = ((1u << s.num_qubits) - 1) & ~chosen; left; left &= left - 1) {
      const std::uint32_t wire = left & -left;
      done |= wire;
      sync();
#pragma unroll 1
      for (int k = 0; k < kHeld; ++k) {
        if (!(row(k) & done)) number(row(k)) += number(row(k) | wire);
      }
    }
    sync();
    const std::uint32_t size = writes ? 1u << s.num_chosen : 0;
#pragma unroll 1
    for (std::uint32_t y = thread; y < size; y += kThreads)
      s.probabilities[(std::uint64_t{set} << s.num_chosen) + y] =
          number(row_of(y, s.chosen, s.num_chosen));
  }

  /// Probabilities are cumulated in the order of basis states, kHeld of them by each thread; a shot is the
  /// first one beyond a random number. `room`: a place among the team's sums, for each of its warps.
  __device__ __forceinline__ void draw(const BatchStates& s, std::uint32_t set, std::uint32_t room,
                                       std::uint32_t num_sums, const double* first_room,
                                       bool writes) const {
    constexpr int kLanes = 1 << kLaneBits;
    sync();
#pragma unroll 1
    for (int k = 0; k < kHeld; ++k) this->place(at(row(k))) = {0, 0};
    sync();
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      if (!(row(k) >> s.num_qubits)) number(number_of(row(k), s)) = probability(k);
    }
    sync();
    double sum = 0;
#pragma unroll 1
    for (std::uint32_t x = thread * kHeld; x < (thread + 1) * kHeld; ++x)
      number(x) = sum += number(x);
    const std::uint32_t lane = thread & (kLanes - 1);
#pragma unroll
    for (int l = 0; l < kLaneBits; ++l) {
      const double lower = __shfl_up_sync(0xffffffffu, sum, 1 << l, kLanes);
      if (lane >= 1u << l) sum += lower;
    }
    if (lane == kLanes - 1) this->slots.sum(room) = sum;
    double before = __shfl_up_sync(0xffffffffu, sum, 1, kLanes);
    if (lane == 0) before = 0;
    sync();
    double total = 0;
#pragma unroll 1
    for (std::uint32_t w = 0; w < Team::kWarps; ++w) {
      if (w == thread >> 5) before += total;
      total += first_room[w * num_sums];
    }
#pragma unroll 1
    for (std::uint32_t x = thread * kHeld; x < (thread + 1) * kHeld; ++x) number(x) += before;
    sync();
    const std::uint64_t shots = writes ? s.num_shots : 0;
#pragma unroll 1
    for (std::uint64_t shot = thread; shot < shots; shot += kThreads) {
      const double u = random_uniform(s.seed, s.first_set + set, shot) * total;
      std::uint32_t x = 0;  // numbers before its are not beyond u
#pragma unroll 1
      for (std::uint32_t step = 1u << s.num_qubits; step >>= 1;) {
        if (number(x + step - 1) <= u) x += step;
      }
      s.shots[std::uint64_t{set} * s.num_shots + shot] = x;
    }
  }
};

}  // namespace tilewave::parametric::device
