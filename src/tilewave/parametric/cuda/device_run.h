// States on a CUDA device, moved through the passes of a program as `Run` does on a CPU: one set of
// values at a time, tiles of the state in the registers of a block (plan/stages.h).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tilewave/parametric/plan/lower.h"
#include "tilewave/parametric/plan/stages.h"
#include "tilewave/parametric/plan/strings.h"

namespace tilewave::parametric {

template <class T>
class DeviceShard;

template <class T>
class DeviceRun {
 public:
  /// Takes no memory for states yet. Throws Error(kResources) without such a device. The program's
  /// tiles are of kDeviceRowBits.
  DeviceRun(const Actions& actions, const Strings& strings, const Program& program, int device);
  ~DeviceRun();

  static constexpr int num_lanes() { return 1; }
  static constexpr bool is_batch() { return false; }
  std::span<const std::uint32_t> read_angles() const;  ///< the angle of each derivative
  const StageProgram& program() const;
  /// How many passes forward and back, and sweeps, run as kernels of their own by now, in words.
  std::string kernels() const;

  void bind(const double* values, std::size_t count, std::size_t num_parameters);
  void forward();
  /// Amplitudes in the order of basis states of qubits.
  void set_states(std::span<const std::complex<double>* const> of_lanes);
  void forward_from_state();
  /// lam = sum_j weights[j] P_j psi.
  void make_lam(std::span<const double> weights);
  void set_lams(std::span<const std::complex<double>* const> of_lanes);
  /// Re and Im of <lam|psi>, of the lam that make_lam made.
  void dot(std::span<double> re, std::span<double> im);
  /// Adds <psi|O|psi> of every observable.
  void read_observables(double* out);
  void backward(std::span<double> reads);
  /// Between calls: gives the memory of large states back, for whatever else runs on the device.
  void rest();
  void get_state(std::size_t lane, std::complex<double>* amplitudes) const;

 private:
  friend class DeviceShard<T>;  // moves shards of states as this moves states
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave::parametric
