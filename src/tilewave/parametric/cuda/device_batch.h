// Many sets of values of a circuit whose state fits the registers of a block: each block runs the
// whole circuit for a set at a time, forward and backward, without moving the state to memory.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tilewave/parametric/plan/lower.h"
#include "tilewave/parametric/plan/strings.h"

namespace tilewave::parametric {

constexpr int kMostBatchWires = 12;

/// What is asked for sets of values; null or empty is not asked. Amplitudes are [set][basis state].
struct BatchCall {
  const double* values = nullptr;  ///< [set][parameter]
  double most_value = 0;           ///< no larger ones are run
  std::size_t sets = 0;
  /// What sets start from, of norm 1; |0...0> where there are none. One state for all, where it is shared.
  const std::complex<double>* initial = nullptr;
  bool shares_initial = false;

  double* expectations = nullptr;  ///< [set][observable]
  /// gradient[set][parameter] of sum_m v[set][m] E_m, or else of Re sum_x conj(g[set][x]) psi_x.
  double* gradient = nullptr;
  const double* v = nullptr;
  const std::complex<double>* g = nullptr;

  // One of these at most, and neither expectations nor derivatives with it.
  std::complex<double>* states = nullptr;
  double* probabilities = nullptr;  ///< [set][outcome]: bit j of an outcome is qubits[j]
  std::span<const std::uint32_t> qubits = {};
  std::uint64_t* shots =
      nullptr;  ///< [set][shot]: basis states, drawn by (seed, first_set + set, shot)
  std::uint64_t num_shots = 0, seed = 0, first_set = 0;
};

template <class T>
class DeviceBatch {
 public:
  /// Throws Error(kResources) without such a device. `actions` have at most kMostBatchWires wires;
  /// `is_read`: the angles whose derivatives are asked for.
  DeviceBatch(const Actions& actions, const Strings& strings, const std::vector<bool>& is_read,
              int device);
  ~DeviceBatch();

  /// Says whether no value is larger than the call's most_value; where one is, no result is meant.
  bool run(const BatchCall& call);

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave::parametric
