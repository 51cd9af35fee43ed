#include "tilewave/statevec/state.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"

namespace tilewave::statevec {

PlanOptions State::plan_options() const {
  PlanOptions options;
  options.precision = precision_;
  options.layout = layout_;
  options.known_zero = known_zero_;
  options.cost = cost_model();
  return options;
}

void State::apply(const circuit::Circuit& circuit, std::span<const circuit::Op> ops) {
  TW_CHECK(static_cast<int>(circuit.num_qubits()) == num_qubits_,
           "circuit and state differ in their number of qubits");
  run(make_plan(circuit, ops, plan_options()));
}

void State::restore_layout() {
  if (!layout_.is_identity(num_qubits_)) {
    PlanOptions options = plan_options();
    options.restore_layout = true;
    run(make_plan(circuit::Circuit(static_cast<std::uint32_t>(num_qubits_)), {}, options));
  }
  materialize();
}

void State::update_blocks(const std::function<void(std::uint64_t first, std::span<cplx>)>& f) {
  std::vector<cplx> all(num_amplitudes());
  for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    std::copy(block.begin(), block.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  });
  f(0, all);
  set_amplitudes(all);
}

void State::load_runs(std::span<const std::uint64_t> firsts, int run_bits,
                      std::span<void* const> from) {
  for (std::size_t k = 0; k < firsts.size(); ++k) write_runs({&firsts[k], 1}, run_bits, from[k]);
}

void State::save_runs(std::span<const std::uint64_t> firsts, int run_bits,
                      std::span<void* const> to) const {
  for (std::size_t k = 0; k < firsts.size(); ++k) read_runs({&firsts[k], 1}, run_bits, to[k]);
}

runtime::HostBuffer State::take_amplitudes() {
  runtime::HostBuffer all(amplitude_bytes(precision_) << num_qubits_);
  const bool is_double = precision_ == Precision::kDouble;
  for_each_block([&](std::uint64_t first, std::span<const cplx> block) {
    if (is_double) {
      std::copy(block.begin(), block.end(), all.as<cplx>() + first);
    } else {
      std::transform(block.begin(), block.end(), all.as<std::complex<float>>() + first,
                     [](const cplx& a) { return std::complex<float>(a); });
    }
  });
  return all;
}

std::vector<std::uint64_t> sample(State& state, std::uint64_t shots, std::uint64_t seed) {
  constexpr std::uint64_t kSampleStream = 0x73616d706c65;  // "sample"
  struct Draw {
    double u;
    std::uint64_t shot;
  };
  std::vector<Draw> draws(shots);
#pragma omp parallel for schedule(static) if (shots > 10000)
  for (std::uint64_t s = 0; s < shots; ++s) draws[s] = {random_uniform(seed, kSampleStream, s), s};
  std::sort(draws.begin(), draws.end(), [](const Draw& a, const Draw& b) {
    return a.u < b.u || (a.u == b.u && a.shot < b.shot);
  });
  std::vector<double> sorted(shots);
  for (std::uint64_t s = 0; s < shots; ++s) sorted[s] = draws[s].u;
  const std::vector<std::uint64_t> drawn = state.sample_sorted(sorted);
  std::vector<std::uint64_t> result(shots);
  for (std::uint64_t s = 0; s < shots; ++s) result[draws[s].shot] = drawn[s];
  return result;
}

}  // namespace tilewave::statevec
