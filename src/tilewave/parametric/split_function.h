// A function of parameters whose sets of values are shared by several devices, and by the processes of a
// run: each takes a part of the rows, neighbours in their order, and every process has all results. They
// have the same bits for every split among devices and processes of one kind. Or the processes share the
// state itself (shared_state.h), one set after the other, for expectations and their derivatives.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tilewave/parametric/function.h"
#include "tilewave/parametric/shared_state.h"
#include "tilewave/runtime/ranks.h"

namespace tilewave::parametric {

enum class Shared : std::uint8_t { kSets, kState };

class SplitFunction {
 public:
  /// `devices` as of devices_for(). With `ranks` (null: none) this and every call is collective: where one
  /// process fails, or was given something else than rank 0, all throw. `shared` is what they share; with
  /// kState, calls that give states, and initial ones, are Error(kUsage).
  SplitFunction(const circuit::Circuit& circuit, const std::vector<circuit::PauliSum>& observables,
                const FunctionOptions& options, const std::vector<int>& devices,
                std::shared_ptr<runtime::Ranks> ranks, Shared shared = Shared::kSets);
  SplitFunction(const SplitFunction&) = delete;
  SplitFunction(SplitFunction&&) = default;

  std::uint32_t num_qubits() const {
    return state_ ? state_->num_qubits() : parts_[0]->num_qubits();
  }
  std::size_t num_parameters() const {
    return state_ ? state_->num_parameters() : parts_[0]->num_parameters();
  }
  std::size_t num_observables() const {
    return state_ ? state_->num_observables() : parts_[0]->num_observables();
  }

  /// These are as Function's.
  void expectations(const Sets& sets, double* out) const;
  void vjp(const Sets& sets, const double* v, double* expectations, double* gradient) const;
  void states(const Sets& sets, std::complex<double>* out) const;
  void state_vjp(const Sets& sets, const std::complex<double>* g, double* gradient) const;
  void metric_tensor(const Sets& sets, double* out) const;
  void probabilities(const Sets& sets, std::span<const std::uint32_t> qubits, double* out) const;
  void samples(const Sets& sets, std::uint64_t shots, std::uint64_t seed, std::uint64_t* out) const;
  std::string explain() const;

 private:
  struct Result {  // of a call, row by row
    void* data = nullptr;
    std::size_t row_bytes = 0;
  };
  template <class F>
  void split(const Sets& sets, std::uint64_t call, const std::vector<Result>& results, F f) const;
  template <class F>
  void together(std::uint64_t asked, F f) const;
  std::uint64_t asked(const Sets& sets, std::uint64_t call) const;
  void on_state(const Sets& sets, const double* v, double* expectations, double* gradient) const;
  void need_whole_states(const char* what) const;

  std::vector<std::unique_ptr<Function>> parts_;
  std::unique_ptr<SharedState> state_;         // in their place
  std::unique_ptr<std::mutex> one_at_a_time_;  // of the calls on it
  std::shared_ptr<runtime::Ranks> ranks_;
  std::string places_;
};

}  // namespace tilewave::parametric
