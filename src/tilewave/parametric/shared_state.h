// A function of parameters whose one state is shared by processes, a power of two of them, each with a shard
// in memory: values and derivatives as of Function. Passes run on the shards; between stretches of them
// wires change places (plan/stretches.h), half a shard at a time.
//
// Memory: two shards (psi and lam) and, where a string has X or Y on a qubit that numbers the processes at
// the end, one more, into which that process's psi comes. Sums are added in the order of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/plan/stretches.h"
#include "tilewave/parametric/run.h"
#include "tilewave/runtime/ranks.h"

namespace tilewave::parametric {

class SharedState {
 public:
  /// Throws Error(kUsage) for a number of processes that is no power of two or too large for the circuit,
  /// and for a CUDA device; else as Function's.
  SharedState(const circuit::Circuit& circuit, const std::vector<circuit::PauliSum>& observables,
              const FunctionOptions& options, std::shared_ptr<runtime::Ranks> ranks);
  ~SharedState();

  std::uint32_t num_qubits() const { return static_cast<std::uint32_t>(actions_.num_wires); }
  std::size_t num_parameters() const { return actions_.parameters.size(); }
  std::size_t num_observables() const { return strings_.num_observables; }

  /// Throws Error(kInput) for values that are not finite.
  void need_finite(std::span<const double> values) const;
  /// Takes the memory, so that what follows fails on no process alone. Throws Error(kResources).
  void prepare();
  /// Collective. E[observable] of one set of values.
  void expectations(const double* values, double* out);
  /// Collective. The expectations (unless null), and gradient[parameter] of sum_m v[m] E_m.
  void vjp(const double* values, const double* v, double* expectations, double* gradient);
  std::string explain() const;

 private:
  template <class T>
  struct Shards;
  template <class T>
  Shards<T>& shards();
  template <class T>
  void forward(Shards<T>& s, const double* values);
  template <class T>
  void exchange(Shards<T>& s, T* state, std::pair<int, int> places);
  template <class T, class F>
  void for_sweeps(Shards<T>& s, F f);
  template <class T>
  void read(Shards<T>& s, double* out);
  template <class T>
  void derive(Shards<T>& s, const double* v, double* gradient);
  void add_up(std::span<double> sums);

  std::shared_ptr<runtime::Ranks> ranks_;
  FunctionOptions options_;
  Actions actions_;
  Stretches stretches_;
  Strings strings_;                // on places
  std::vector<Program> programs_;  // of the stretches; sweeps are the last one's
  int local_ = 0;                  // wires in memory
  bool reaches_others_ = false;
  std::tuple<std::unique_ptr<Shards<float>>, std::unique_ptr<Shards<double>>> shards_;
};

}  // namespace tilewave::parametric
