// Calls of functions of parameters that ask for states, or for what is read off whole ones.
#include <algorithm>
#include <complex>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/parametric/function_run-inl.h"

namespace tilewave::parametric {

void Function::states(const Sets& sets, std::complex<double>* out) const {
  if (data_->runs_device_batch(sets, {.states = out})) return;
  dispatch(*data_->whole, sets, [&](auto& run, std::size_t first, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane)
      run.get_state(lane, out + ((first + lane) << num_qubits()));
  });
}

void Function::state_vjp(const Sets& sets, const std::complex<double>* g, double* gradient) const {
  Engine& engine = *data_->whole;
  if (data_->runs_device_batch(sets, {.gradient = gradient, .g = g})) return;
  dispatch(engine, sets, [&](auto& run, std::size_t first, std::size_t count) {
    std::vector<const std::complex<double>*> of_lanes;
    for (std::size_t k = first; k < first + count; ++k) of_lanes.push_back(g + (k << num_qubits()));
    run.set_lams(of_lanes);
    const std::vector<circuit::AffineTerm>& global = engine.actions.global_phase.terms;
    std::vector<double> re(detail::lanes_of(run)), im(detail::lanes_of(run));
    if (!global.empty()) run.dot(re, im);
    detail::chain(run, engine.actions, first, count, gradient);
    for (const circuit::AffineTerm& t : global) {
      for (std::size_t lane = 0; lane < count; ++lane)
        gradient[(first + lane) * num_parameters() + t.parameter] -= 2 * t.coefficient * im[lane];
    }
  });
}

namespace {

constexpr std::uint64_t kMostBatchShots = std::uint64_t{1} << 22;  // of a set, held on a device

// The outcome of chosen qubits in a basis state; bit j of it is qubits[j].
class Outcomes {
 public:
  Outcomes(std::uint32_t num_qubits, std::span<const std::uint32_t> qubits)
      : low_bits_(static_cast<int>(num_qubits / 2)) {
    const auto of = [&](int first, int count) {
      std::vector<std::uint32_t> table(std::size_t{1} << count);
      for (std::uint64_t x = 0; x < table.size(); ++x) {
        for (std::size_t j = 0; j < qubits.size(); ++j)
          table[x] |= static_cast<std::uint32_t>(x << first >> qubits[j] & 1) << j;
      }
      return table;
    };
    low_ = of(0, low_bits_);
    high_ = of(low_bits_, static_cast<int>(num_qubits) - low_bits_);
  }
  std::uint32_t operator()(std::uint64_t x) const {
    return low_[x & low_mask(low_bits_)] | high_[x >> low_bits_];
  }

 private:
  int low_bits_;
  std::vector<std::uint32_t> low_, high_;
};

}  // namespace

void Function::probabilities(const Sets& sets, std::span<const std::uint32_t> qubits,
                             double* out) const {
  for (const std::uint32_t q : qubits) {
    if (q >= num_qubits() || std::count(qubits.begin(), qubits.end(), q) > 1)
      fail(ExitCode::kInput, "qubit ", q,
           " of an outcome is out of range or named twice: the circuit has ", num_qubits(),
           " qubits");
  }
  if (data_->runs_device_batch(sets, {.probabilities = out, .qubits = qubits})) return;
  const Outcomes outcome(num_qubits(), qubits);
  const std::size_t size = std::size_t{1} << num_qubits(),
                    outcomes = std::size_t{1} << qubits.size();
  dispatch(*data_->whole, sets, [&](auto& run, std::size_t first, std::size_t count) {
    std::vector<std::complex<double>> state(size);
    for (std::size_t lane = 0; lane < count; ++lane) {
      run.get_state(lane, state.data());
      double* const own = out + (first + lane) * outcomes;
      std::fill(own, own + outcomes, 0.0);
      for (std::size_t x = 0; x < size; ++x) own[outcome(x)] += std::norm(state[x]);
    }
  });
}

void Function::samples(const Sets& sets, std::uint64_t shots, std::uint64_t seed,
                       std::uint64_t* out) const {
  const BatchCall call{.shots = out, .num_shots = shots, .seed = seed, .first_set = sets.first};
  if (shots <= kMostBatchShots && data_->runs_device_batch(sets, call)) return;
  dispatch(*data_->whole, sets, [&](auto& run, std::size_t first, std::size_t count) {
    std::vector<std::complex<double>> state(std::size_t{1} << num_qubits());
    std::vector<double> sums(state.size());
    for (std::size_t lane = 0; lane < count; ++lane) {
      run.get_state(lane, state.data());
      double sum = 0;
      for (std::size_t x = 0; x < state.size(); ++x) sums[x] = sum += std::norm(state[x]);
      for (std::uint64_t shot = 0; shot < shots; ++shot) {
        const double u = random_uniform(seed, sets.first + first + lane, shot) * sum;
        auto at = std::upper_bound(sums.begin(), sums.end(), u);
        if (at == sums.end()) --at;
        out[(first + lane) * shots + shot] = static_cast<std::uint64_t>(at - sums.begin());
      }
    }
  });
}

}  // namespace tilewave::parametric
