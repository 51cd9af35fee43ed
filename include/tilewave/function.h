// Circuits as functions of their parameters: expectations and their derivatives, states and samples,
// for one set of values or many.
//
//   const auto theta = tilewave::parameters("theta", 2);
//   const auto circuit = tilewave::Circuit(2).ry(theta[0], 0).cx(0, 1).rx(2 * theta[1], 1);
//   const tilewave::Function energy(circuit, {"ZZ + 0.5 X0"});
//   const auto [value, gradient] = energy.value_and_gradient({0.1, 0.2});
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewave/circuit.h"
#include "tilewave/settings.h"

namespace tilewave {

/// What the processes of a run share.
enum class Sharing : std::uint8_t {
  kNothing,  ///< each process computes by itself
  kRows,     ///< rows of values, each process a part of them
  kState,    ///< one state: a power of two of processes, for expectations and their derivatives
};

/// Where and how a function computes.
struct FunctionOptions {
  /// `auto`, `cpu`, `cuda`, or CUDA devices that share rows of values, `cuda:0-3` or `cuda:0,2`. `auto`
  /// is the first CUDA device from 16 qubits on, where two states fit its memory.
  std::string device = "auto";
  Precision precision = Precision::kDouble;  ///< of the amplitudes
  int threads = 0;                           ///< 0: OMP_NUM_THREADS, or all cores
  /// What the processes of a launcher (mpirun, srun, TILEWAVE_PROCESSES) share. All make the same calls, and
  /// all have all results; `cuda` is a device for each.
  Sharing ranks = Sharing::kNothing;
};

/// A circuit of gates as a function of its parameters, planned once for all values. Values are rows of
/// num_parameters() numbers, one row or many, in the order of Circuit::parameters(); results have a
/// row for each. Derivatives are exact, by the adjoint method, which needs two states in memory. Safe
/// to use from several threads. Every call throws Error(kInput) for a number of values that makes no
/// rows and for numbers that are not finite, and Error(kResources) where the states do not fit.
class Function {
 public:
  /// `observables` are Pauli sums, "0.5 ZZI + 0.2 X0 Y3": dense with the rightmost character on qubit
  /// 0, or sparse. Throws Error(kInput) for a circuit that is not unitary (measurements at its end
  /// are left out) and for observables that cannot be read, Error(kUsage) for a device of no known
  /// form and threads out of 0 to 4096, Error(kCommunication) where processes do not come together.
  Function(const Circuit& circuit, const std::vector<std::string>& observables,
           const FunctionOptions& options = {});
  /// Takes the plan of another function, which then may only be assigned to or destroyed.
  Function(Function&&) noexcept;
  /// Takes the plan of another function, which then may only be assigned to or destroyed.
  Function& operator=(Function&&) noexcept;
  /// Forgets the plan.
  ~Function();

  /// The number of qubits.
  std::uint32_t num_qubits() const;
  /// The number of parameters: of values in a row.
  std::size_t num_parameters() const;
  /// The number of observables.
  std::size_t num_observables() const;

  /// The expectation of every observable, row by row.
  std::vector<double> expectations(const std::vector<double>& values) const;
  /// Sums of expectations with weights, and their derivatives.
  struct ValueAndGradient {
    std::vector<double> value;     ///< one for each row of values
    std::vector<double> gradient;  ///< num_parameters() for each row
  };
  /// `weights` are one for each observable; without any they are all 1.
  ValueAndGradient value_and_gradient(const std::vector<double>& values,
                                      const std::vector<double>& weights = {}) const;
  /// The same into what an earlier call gave, whose memory is used again: for loops over many rows,
  /// of which fresh memory would take longer than the numbers.
  void value_and_gradient(const std::vector<double>& values, const std::vector<double>& weights,
                          ValueAndGradient& out) const;
  /// Derivatives of sum_m v_m E_m, in one backward run whatever the number of observables; `v` is
  /// num_observables() numbers for each row of values.
  std::vector<double> vjp(const std::vector<double>& values, const std::vector<double>& v) const;
  /// Derivatives of every observable: for each row num_observables() rows of num_parameters().
  std::vector<double> jacobian(const std::vector<double>& values) const;
  /// Amplitudes in the order of basis states.
  std::vector<std::complex<double>> states(const std::vector<double>& values) const;
  /// Derivatives of Re sum conj(g_x) psi_x; `g` is 2^num_qubits() numbers for each row of values.
  std::vector<double> state_vjp(const std::vector<double>& values,
                                const std::vector<std::complex<double>>& g) const;
  /// The quantum geometric tensor's real part (the metric of Fubini and Study),
  /// Re(<d_i psi|d_j psi> - <d_i psi|psi><psi|d_j psi>): for each row num_parameters() rows of
  /// num_parameters(). A run forward and back of two states for each parameter. Throws Error(kUsage)
  /// where the function runs on a CUDA device.
  std::vector<double> metric_tensor(const std::vector<double>& values) const;
  /// Measurements of all qubits: `shots` basis states for each row of values. The same seed draws the
  /// same; one is drawn where none is given.
  std::vector<std::uint64_t> sample(const std::vector<double>& values, std::uint64_t shots,
                                    std::optional<std::uint64_t> seed = {}) const;
  /// The passes over the state, as a table.
  std::string explain() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace tilewave
