// The kernel of batches: every team takes sets of values one after the other, runs the circuit forward
// for each and, for derivatives, back, and gives what is asked of it (batch_machine.cuh,
// batch_results.cuh). Cosines and sines of a set's angles are made first, beside its tile.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tilewave/parametric/cuda/batch_arguments.cuh"

namespace tilewave::parametric::device {

// Blocks of a multiprocessor are as many as registers allow: a state takes 64 of a thread in double
// precision.
constexpr int kBlockThreads = 128;
constexpr int kAtATime = 4;  // angles of a thread
template <class T, int kRow, bool kGradient>
struct BatchShape : TeamShape<T, kRow, kReg> {
  using Team = TeamShape<T, kRow, kReg>;
  static constexpr int kBlock = Team::kThreads < kBlockThreads ? kBlockThreads : Team::kThreads;
  static constexpr int kTeams = kBlock / Team::kThreads;
  static constexpr int kWarpsAtLeast =
      sizeof(T) == 8 ? (kGradient ? 8 : 16) : (kGradient ? 16 : 24);
  static constexpr int kBlocks = kWarpsAtLeast * 32 / kBlock;

  // What a team has beside its tile.
  __host__ __device__ static std::size_t slot_bytes(std::size_t slots) {
    return sizeof(Amplitude<T>) * ((slots + 1) / 2 * 2);
  }
  __host__ __device__ static std::size_t team_bytes(std::size_t slots, std::size_t observables) {
    const std::size_t sums = (kGradient ? slots : 0) + observables + 1;
    return slot_bytes(slots) + (Team::kWarps * sums + 1) / 2 * 2 * sizeof(double);
  }
};

__device__ inline double more_of(const DeviceSum& sum, const DeviceTerm* terms,
                                 const double* values) {
  double x = 0;
#pragma unroll 1
  for (std::uint32_t k = 0; k < sum.more; ++k)
    x += terms[sum.first + k].coefficient * values[terms[sum.first + k].of];
  return x;
}

/// What a slot keeps of its angle: cosine and sine, or what three shears are made with. `odd` changes
/// where a half turn is left out, which is a sign of the whole state.
template <class T>
__device__ Amplitude<T> factor_of(double angle, bool shears, bool& odd) {
  double s, c;
  sincos(angle, &s, &c);
  if (shears) {
    if (c < 0) c = -c, s = -s, odd = !odd;
    c = s / (1 + c);
  }
  return {static_cast<T>(c), static_cast<T>(s)};
}

/// kWhole: sets begin in states of the caller, or whole states are asked for. Kernels of their own leave
/// those of values and gradients the code that they have alone.
template <class T, int kRow, bool kGradient, bool kFar, bool kWhole>
__global__ __launch_bounds__(
    BatchShape<T, kRow, kGradient>::kBlock,
    BatchShape<T, kRow, kGradient>::kBlocks) void run_batch(const BatchArguments<T> a) {
  using S = BatchShape<T, kRow, kGradient>;
  constexpr int kThreads = S::kThreads;
  const std::uint32_t thread = threadIdx.x % kThreads, team = threadIdx.x / kThreads;
  const std::uint32_t num_reads = kGradient ? a.num_slots : 0;
  // observables behind derivatives, then room for something else
  const std::uint32_t num_sums = num_reads + a.num_observables + 1, room = num_sums - 1;
  const std::uint32_t global = a.num_slots - 1;  // the slot of the global phase
  // all of the team: its first warp's sums
  TeamSlots<T, kFar> all;
  const auto own_bytes = static_cast<std::uint32_t>(S::team_bytes(a.num_slots, a.num_observables));
  all.tile = team * static_cast<std::uint32_t>(S::kTileBytes);
  all.own = kFar ? 0 : S::kTeams * static_cast<std::uint32_t>(S::kTileBytes) + team * own_bytes;
  all.own_sums = all.own + static_cast<std::uint32_t>(S::slot_bytes(a.num_slots));
  all.far_base = kFar ? a.far + std::uint64_t{blockIdx.x * S::kTeams + team} * own_bytes : nullptr;
  TeamSlots<T, kFar> slots = all;
  slots.own_sums += thread / 32 * num_sums * static_cast<std::uint32_t>(sizeof(double));

#pragma unroll 1
  for (std::uint32_t base = blockIdx.x * S::kTeams; base < a.sets; base += gridDim.x * S::kTeams) {
    const std::uint32_t set = min(base + team, a.sets - 1);  // the last one more than once
    const double* values = a.values + std::uint64_t{set} * a.num_parameters;
    S::sync();  // the set before is finished

    // angles first, several on their way at a time
    bool odd = false;
#pragma unroll 1
    for (std::uint32_t first = thread; first < a.num_slots; first += kAtATime * kThreads) {
      DeviceSum of[kAtATime];
      double x[kAtATime];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i)
        of[i] = a.angles[min(first + i * kThreads, a.num_slots - 1)];
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) x[i] = of[i].coefficient != 0 ? values[of[i].of] : 0;
#pragma unroll
      for (int i = 0; i < kAtATime; ++i) {
        x[i] = of[i].constant + of[i].coefficient * x[i] + more_of(of[i], a.terms, values);
        const std::uint32_t k = first + i * kThreads;
        if (k < a.num_slots) slots.factor(k) = factor_of<T>(x[i], of[i].shears, odd);
      }
    }
    const bool odd_warp = kWhole && S::parity_of_lanes(odd);
    if (thread % 32 == 0) {
      for (std::uint32_t k = num_reads; k < num_sums; ++k) slots.sum(k) = 0;
      if (kGradient) slots.sum(global) = 0;
      if (kWhole && odd_warp) slots.sum(room) = 1;
    }
    S::sync();

    TeamStates<Team<T, kRow, kReg, false, kFar>> forward;
    forward.slots = slots;
    forward.thread = thread;
    if (kWhole && a.states.initial) {
      forward.load(forward.psi, a.states.initial + set * a.states.initial_of, a.states.num_qubits);
    } else {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) forward.psi[k] = {k == 0 && thread == 0 ? T(1) : T(0), T(0)};
    }
    forward.run(a.program);
    // what the state is still to be multiplied by
    const auto left_out = [&] {
      Amplitude<T> f = all.factor(global);
#pragma unroll 1
      for (int w = 0; w < S::kWarps; ++w) {
        if (all.sum(w * num_sums + room) != 0) f = {-f.re, -f.im};
      }
      return f;
    };
    if constexpr (kGradient) {
      TeamStates<Team<T, kRow, kReg, true, kFar>> back;
      back.slots = slots;
      back.thread = thread;
      if (kWhole && a.states.g) {
#pragma unroll
        for (int k = 0; k < kHeld; ++k) back.psi[k] = forward.psi[k];
        double along = back.load_lam(a.states.g + (std::uint64_t{set} << a.states.num_qubits),
                                     a.states, left_out());
#pragma unroll
        for (int l = 0; l < S::kLaneBits; ++l) along += __shfl_xor_sync(0xffffffffu, along, 1 << l);
        if ((thread & 31) == 0) slots.sum(global) = -along;
      } else {
#pragma unroll
        for (int k = 0; k < kHeld; ++k) back.lam[k] = {0, 0};
        forward.template add_strings<true>(a.strings, num_reads, back.lam,
                                           a.v + std::uint64_t{set} * a.num_observables);
#pragma unroll
        for (int k = 0; k < kHeld; ++k) back.psi[k] = forward.psi[k];
      }
      back.run(a.program);
    } else if (kWhole && a.states.gives_results()) {
      const bool writes = base + team == set;
      if (a.states.states) {
        forward.store(a.states, set, left_out(), writes);
      } else if (a.states.probabilities) {
        forward.store_probabilities(a.states, set, writes);
      } else {
        forward.draw(a.states, set, room, num_sums, &all.sum(room), writes);
      }
      continue;
    } else {
      forward.template add_strings<false>(a.strings, num_reads, nullptr, nullptr);
    }
    S::sync();
    if constexpr (S::kWarps > 1) {
      for (std::uint32_t k = thread; k < num_sums; k += kThreads) {
        double sum = all.sum(k);
        for (int w = 1; w < S::kWarps; ++w) sum += all.sum(w * num_sums + k);
        all.sum(k) = sum;
      }
      S::sync();
    }
    if (base + team != set) continue;
    for (std::uint32_t m = thread; m < a.num_observables; m += kThreads)
      a.expectations[std::uint64_t{set} * a.num_observables + m] = all.sum(num_reads + m);
    if constexpr (kGradient) {
#pragma unroll 4
      for (std::uint32_t p = thread; p < a.num_parameters; p += kThreads) {
        const DeviceSum of = a.derivatives[p];
        double x = of.coefficient != 0 ? of.coefficient * all.sum(of.of) : 0;
        if (of.more) x += more_of(of, a.terms, &all.sum(0));
        a.gradient[std::uint64_t{set} * a.num_parameters + p] = x;
      }
    }
  }
}

template <class T, int kRow, bool kGradient, bool kWhole>
BatchLaunch<T> launch_of() {
  using S = BatchShape<T, kRow, kGradient>;
  BatchLaunch<T> launch{&run_batch<T, kRow, kGradient, false, kWhole>,
                        nullptr,
                        S::kBlock,
                        S::kTeams,
                        S::kTileBytes,
                        &S::team_bytes};
  if constexpr (kRow == 8 || kRow == kMostBatchWires)
    launch.far = &run_batch<T, kRow, kGradient, true, kWhole>;
  return launch;
}
template <class T, bool kGradient, bool kWhole>
BatchLaunch<T> launch_for(int row_bits) {
  switch (row_bits) {
    case 4:
      return launch_of<T, 4, kGradient, kWhole>();
    case 6:
      return launch_of<T, 6, kGradient, kWhole>();
    case 8:
      return launch_of<T, 8, kGradient, kWhole>();
    case 10:
      return launch_of<T, 10, kGradient, kWhole>();
    default:
      return launch_of<T, 12, kGradient, kWhole>();
  }
}

template <class T>
BatchLaunch<T> batch_launch(int row_bits, bool gradient, bool whole) {
  if (whole)
    return gradient ? launch_for<T, true, true>(row_bits) : launch_for<T, false, true>(row_bits);
  return gradient ? launch_for<T, true, false>(row_bits) : launch_for<T, false, false>(row_bits);
}

}  // namespace tilewave::parametric::device
