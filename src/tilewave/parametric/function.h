// A circuit as a function of its parameters: expectations of observables, their derivatives, states
// and samples, for one set of values or many. All that depends on the circuit alone is worked out
// once; a set of values is cosines and sines.
//
// Derivatives are those of the adjoint method (Jones and Gacon, arXiv:2009.02823) in passes: with
// lam = O psi, both states are brought back through the circuit together, a tile of each in fast
// memory, and the derivative by an angle is read where its gate is undone.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/settings/precision.h"

namespace tilewave::parametric {

struct FunctionOptions {
  Precision precision = Precision::kDouble;
  int num_threads = 0;    ///< 0: all
  int tile_row_bits = 0;  ///< 2^tile_row_bits rows in a tile; 0: as many as suit the cache
  int cuda_device = -1;   ///< the number of a CUDA device; -1: the CPU
};

/// Sets of values, each with the state it starts from.
struct Sets {
  const double* values = nullptr;  ///< [set][parameter]
  std::size_t count = 0;
  /// Amplitudes [set][basis state], of norm 1, or of one state for all; |0...0> where there are none.
  const std::complex<double>* initial = nullptr;
  bool shares_initial = false;
  std::size_t repeats = 1;  ///< runs of each set, one after the other
  /// A part of more sets: the number of its first one, and that of all. What sets give does not depend
  /// on the part they are in.
  std::size_t first = 0, all = 0;
};

/// Safe to use from several threads: each call works on states of its own.
class Function {
 public:
  /// Throws Error(kInput) for a circuit that is not unitary (measurements at its end are left out)
  /// and for observables on qubits that it does not have.
  Function(const circuit::Circuit& circuit, const std::vector<circuit::PauliSum>& observables,
           const FunctionOptions& options);
  ~Function();

  std::uint32_t num_qubits() const;
  std::size_t num_parameters() const;
  std::size_t num_observables() const;

  /// E[set][observable].
  void expectations(const Sets& sets, double* out) const;
  /// gradient[set][parameter] of sum_m v[set][m] E_m; the expectations too, unless that is null.
  void vjp(const Sets& sets, const double* v, double* expectations, double* gradient) const;
  /// Amplitudes [set][basis state].
  void states(const Sets& sets, std::complex<double>* out) const;
  /// gradient[set][parameter] of Re sum conj(g[set][x]) psi_x.
  void state_vjp(const Sets& sets, const std::complex<double>* g, double* gradient) const;
  /// The quantum geometric tensor's real part, the metric of Fubini and Study, [set][parameter]
  /// [parameter]: Re(<d_i psi|d_j psi> - <d_i psi|psi><psi|d_j psi>). One run forward and back of two
  /// states for each parameter. Throws Error(kUsage) on a CUDA device.
  void metric_tensor(const Sets& sets, double* out) const;
  /// Probabilities [set][outcome] of chosen qubits: bit j of an outcome is qubits[j]. Throws Error(kInput)
  /// for a qubit that there is not or that is named twice.
  void probabilities(const Sets& sets, std::span<const std::uint32_t> qubits, double* out) const;
  /// Basis states [set][shot], drawn by (seed, set, shot).
  void samples(const Sets& sets, std::uint64_t shots, std::uint64_t seed, std::uint64_t* out) const;
  /// Passes over the state, forward and backward, as a text.
  std::string explain() const;

 private:
  struct Engine;
  struct Data;
  enum class Moves : std::uint8_t { kState, kTangents };
  template <class T, class F>
  void run_sets(Engine& engine, const Sets& sets, Moves moves, F f) const;
  template <class F>
  void dispatch(Engine& engine, const Sets& sets, F f, Moves moves = Moves::kState) const;
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave::parametric
