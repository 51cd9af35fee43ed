// What the kernel of batches takes, and how it is launched. Its code is in batch_kernel.cuh, compiled for each
// precision in a file of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tilewave/parametric/cuda/batch_machine.cuh"
#include "tilewave/parametric/cuda/batch_results.cuh"

namespace tilewave::parametric::device {

constexpr int kReg = 4, kHeld = 1 << kReg;

/// A sum of terms, most often of one.
struct alignas(16) DeviceSum {
  double constant = 0, coefficient = 0;
  std::uint32_t of = 0;               // of the first term: a parameter, or a slot
  std::uint32_t first = 0, more = 0;  // the others
  std::uint32_t shears = 0;           // an angle whose rotation is three of them
};
struct DeviceTerm {
  std::uint32_t of;
  double coefficient;
};
static_assert(sizeof(DeviceSum) == 32);

template <class T>
struct BatchArguments {
  BatchView<T> program;
  BatchStrings<T> strings;
  BatchStates states;
  const DeviceSum *angles, *derivatives;  // of each slot, of each parameter
  const DeviceTerm* terms;                // of both
  std::uint32_t num_slots, num_parameters, num_observables, sets;
  const double *values, *v;         // v: of gradients
  double *expectations, *gradient;  // [set][observable], [set][parameter]
  unsigned char* far;  // [team]: slots and sums, where shared memory has no room for them
};

// How a kernel is launched.
template <class T>
struct BatchLaunch {
  void (*near)(BatchArguments<T>) = nullptr;  // slots in shared memory
  void (*far)(BatchArguments<T>) = nullptr;   // null where a larger tile serves such circuits
  int block = 0, teams = 0;
  std::size_t tile_bytes = 0;
  std::size_t (*team_bytes)(std::size_t slots, std::size_t observables) = nullptr;

  // Of a block.
  std::size_t tiles_bytes() const { return static_cast<std::size_t>(teams) * tile_bytes; }
  std::size_t own_bytes(std::size_t slots, std::size_t observables) const {
    return static_cast<std::size_t>(teams) * team_bytes(slots, observables);
  }
};
// Tiles of 4, 6, 8, 10 and 12 bits: states of up to as many qubits.
constexpr int row_bits_for(int wires) { return std::max(4, (wires + 1) / 2 * 2); }
/// The kernel for tiles of so many bits: of values, or of values and gradients. `whole`: sets begin in
/// states of the caller, or whole states are asked for.
template <class T>
BatchLaunch<T> batch_launch(int row_bits, bool gradient, bool whole);

}  // namespace tilewave::parametric::device
