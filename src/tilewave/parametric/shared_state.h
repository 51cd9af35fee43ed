// A function of parameters whose one state is shared by processes, a power of two of them, each with a
// shard in the memory of its CPU or of its CUDA device: values and derivatives as of Function. Passes run
// on the shards; between stretches of them wires change places (plan/stretches.h), half a shard at a time.
//
// Memory: two shards (psi and lam) and, where a string has X or Y on a qubit that numbers the processes at
// the end, one more, into which that process's psi comes. Sums are added in the order of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/plan/shard.h"
#include "tilewave/runtime/ranks.h"

namespace tilewave::parametric {

class SharedState {
 public:
  /// Throws Error(kUsage) for a number of processes that is no power of two or too large for the circuit;
  /// else as Function's.
  SharedState(const circuit::Circuit& circuit, const std::vector<circuit::PauliSum>& observables,
              const FunctionOptions& options, std::shared_ptr<runtime::Ranks> ranks);

  std::uint32_t num_qubits() const { return static_cast<std::uint32_t>(plan_->actions.num_wires); }
  std::size_t num_parameters() const { return plan_->actions.parameters.size(); }
  std::size_t num_observables() const { return plan_->strings.num_observables; }

  /// Throws Error(kInput) for values that are not finite, or give such an angle.
  void need_finite(std::span<const double> values) const;
  /// Takes the memory, so that what follows fails on no process alone. Throws Error(kResources).
  void prepare();
  /// Collective: how amplitudes travel is agreed on. The first call that needs it does so otherwise.
  void connect();
  /// Collective. E[observable] of one set of values.
  void expectations(const double* values, double* out);
  /// Collective. The expectations (unless null), and gradient[parameter] of sum_m v[m] E_m.
  void vjp(const double* values, const double* v, double* expectations, double* gradient);
  std::string explain() const;

 private:
  void forward(const double* values);
  void read(double* out);
  void add_up(std::span<double> sums);

  std::shared_ptr<runtime::Ranks> ranks_;
  std::unique_ptr<ShardPlan> plan_;
  std::unique_ptr<Shard> shard_;
  bool on_device_ = false, is_connected_ = false;
};

}  // namespace tilewave::parametric
