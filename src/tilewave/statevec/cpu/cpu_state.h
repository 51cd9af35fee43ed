// The state on the CPU: interleaved complex numbers in host memory on large pages. See state.h.
#pragma once

#include <bit>
#include <cstddef>
#include <memory>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::cpu {

/// Rates of a machine in one precision: of one thread, seconds an amplitude; bandwidth in bytes a
/// second of all threads. The defaults are FP64 on the machine that pass_costs.h was tuned on.
struct CpuRates {
  double bandwidth = 30e9;
  StepRates steps;
  double slower = 1;  ///< than that machine

  template <class T>
  static CpuRates shipped();
};
/// What they say of a pass on one thread; what they do not tell is in proportion to them.
void set_by_rates(CostModel& cost, const CpuRates& rates, bool is_double);

/// Measured on this machine at the first call (about 40 ms).
template <class T>
const CpuRates& cpu_rates();

/// A sum in a fixed order: a pairwise tree.
inline double tree_sum(const double* v, std::size_t count) {
  if (count == 0) return 0;
  if (count == 1) return v[0];
  const std::size_t half = std::bit_ceil(count) / 2;
  return tree_sum(v, half) + tree_sum(v + half, count - half);
}

template <class T>
class CpuState final : public State {
 public:
  CpuState(int num_qubits, int num_threads);

  CostModel cost_model() const override;
  std::string device() const override { return "cpu"; }
  void set_zero_state() override;
  void set_product_state(std::span<const cplx> a) override;
  void set_amplitudes(std::span<const cplx> amplitudes) override;
  void run(const Plan& plan, const RunObserver& observer) override;
  bool is_tiny() const override;
  using State::apply_tiny;
  void apply_tiny(std::uint64_t mask, std::uint64_t value, std::span<const circuit::Qubit> targets,
                  std::span<const cplx> m) override;
  void materialize() override;
  double norm() override;
  double probability(circuit::Qubit qubit, int value) override;
  std::vector<double> marginals() override;
  std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) override;
  std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) override;
  std::vector<std::uint64_t> sample_sorted(std::span<const double> sorted_u) override;
  std::vector<double> expectations(const circuit::PauliSum& sum) override;
  void collapse(circuit::Qubit qubit, int outcome, double scale) override;
  std::unique_ptr<State> clone() const override;
  void copy_from(const State& other) override;
  void add_scaled(const State& other, cplx a, cplx c) override;
  void update_blocks(const std::function<void(std::uint64_t, std::span<cplx>)>& f) override;
  runtime::HostBuffer take_amplitudes() override;
  void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const override;
  void write_runs(std::span<const std::uint64_t> firsts, int run_bits, const void* from) override;
  std::uint64_t memory_bytes() const override { return memory_.num_bytes(); }
  int host_threads() const override { return num_threads_; }

 private:
  static constexpr int kMostBins = 10;  // qubits whose outcomes each group of chunks counts alone

  Complex<T>* amps() const { return memory_.as<Complex<T>>(); }
  void forget_answers() override;
  /// Bytes that are used for the first time, now that less is known to be zero.
  double touch();
  std::uint64_t untouched_ = 0;  ///< positions: where one of them is 1 no page has been used

  /// Threads for a walk over all that is not known to be zero.
  int team() const;
  /// Sum of |amplitude|^2 where the positions of `mask` are as in `value`.
  double sum_where(std::uint64_t mask, std::uint64_t value) const;
  /// The same of a tiny state.
  double sum_tiny(std::uint64_t mask, std::uint64_t value) const;
  /// The amplitudes of a tiny state in the order of basis states, with its zeros.
  void order_tiny();
  /// P of each outcome of k positions, numbered by outcome_of(physical index).
  std::vector<double> few_outcomes(int k, std::uint64_t flipped,
                                   const std::function<std::uint32_t(std::uint64_t)>& outcome_of);
  std::vector<double> many_outcomes(int k, std::uint64_t flipped, std::uint64_t chosen,
                                    const std::function<std::uint32_t(std::uint64_t)>& outcome_of);

  int num_threads_;
  runtime::HostBuffer memory_;
  std::vector<double> marginals_;  // cached until the state changes
  double norm_ = -1;               // the same
};

}  // namespace tilewave::statevec::cpu
