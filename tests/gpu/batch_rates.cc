// Times of calls for many sets of values, as one batch and set by set, with and without states to start from:
//   batch_rates DEVICE(cpu|0) QUBITS LAYERS PRECISION(double|single) SETS
// of strongly entangling layers. Medians of seven calls, or of fewer where they take long; set by set they
// are of at most 200 sets, told as of all.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tilewave/parametric/function.h"

namespace {

using namespace tilewave;
using circuit::GateId;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

circuit::Circuit make_circuit(std::uint32_t n, std::uint32_t layers) {
  circuit::Circuit c(n);
  std::uint32_t next = 0;
  const auto turn = [&](GateId gate, std::uint32_t q) {
    c.add_gate(gate, {q}, {0.0});
    circuit::AffineAngle angle;
    angle.terms.push_back({c.add_parameter("p" + std::to_string(next++)), 1.0});
    c.set_affine(c.ops().size() - 1, 0, angle);
  };
  for (std::uint32_t l = 0; l < layers; ++l) {
    for (std::uint32_t q = 0; q < n; ++q) {
      for (const GateId gate : {GateId::kRz, GateId::kRy, GateId::kRz}) turn(gate, q);
    }
    for (std::uint32_t q = 0; q < n; ++q) c.add_gate(GateId::kCx, {q, (q + l % (n - 1) + 1) % n});
  }
  return c;
}

double median_ms(const std::function<void()>& call) {
  call();  // what is made once
  std::vector<double> times;
  const double begin = seconds();
  while (times.size() < 7 && (times.empty() || seconds() - begin < 1)) {
    const double first = seconds();
    call();
    times.push_back(seconds() - first);
  }
  std::sort(times.begin(), times.end());
  return 1e3 * times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: batch_rates cpu|0 QUBITS LAYERS double|single SETS\n");
    return 2;
  }
  const auto n = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto sets = static_cast<std::size_t>(std::atoll(argv[5]));
  parametric::FunctionOptions options;
  options.precision = std::strcmp(argv[4], "single") ? Precision::kDouble : Precision::kSingle;
  options.cuda_device = std::strcmp(argv[1], "cpu") ? std::atoi(argv[1]) : -1;
  circuit::PauliSum chain;
  for (std::uint32_t q = 0; q + 1 < n; ++q) chain.push_back({1.0, 0, std::uint64_t{3} << q});
  const parametric::Function f(make_circuit(n, static_cast<std::uint32_t>(std::atoi(argv[3]))),
                               {chain}, options);
  const std::size_t p = f.num_parameters(), size = std::size_t{1} << n, shots = 100;
  std::vector<double> values(sets * p), v(sets, 1.0), e(sets), gradient(sets * p);
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = 0.1 + 0.37 * static_cast<double>(k % 17);
  std::vector<std::complex<double>> starts(sets * size), states(sets * size);
  for (std::size_t k = 0; k < starts.size(); ++k)
    starts[k] = std::polar(1 / std::sqrt(static_cast<double>(size)), 0.01 * static_cast<double>(k));
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  const std::vector<std::uint32_t> two = {0, n - 1};
  std::vector<double> probabilities(sets * size);
  std::vector<std::uint64_t> drawn(sets * shots);

  struct Call {
    const char* name;
    std::function<void(const parametric::Sets&)> run;
  };
  const Call calls[] = {
      {"values", [&](const auto& s) { f.expectations(s, e.data()); }},
      {"gradients", [&](const auto& s) { f.vjp(s, v.data(), e.data(), gradient.data()); }},
      {"states", [&](const auto& s) { f.states(s, states.data()); }},
      {"derivatives of states",
       [&](const auto& s) { f.state_vjp(s, starts.data(), gradient.data()); }},
      {"probabilities", [&](const auto& s) { f.probabilities(s, all, probabilities.data()); }},
      {"those of two qubits",
       [&](const auto& s) { f.probabilities(s, two, probabilities.data()); }},
      {"100 shots", [&](const auto& s) { f.samples(s, shots, 1, drawn.data()); }},
  };
  std::printf("%s, %u qubits, %zu parameters, %s precision, %zu sets; ms\n", argv[1], n, p, argv[4],
              sets);
  for (const Call& call : calls) {
    for (const char* const from : {"|0...0>", "one state", "a state each"}) {
      parametric::Sets in{values.data(), sets};
      if (from[0] != '|') in.initial = starts.data();
      in.shares_initial = from[0] == 'o';
      const double together = median_ms([&] { call.run(in); });
      const std::size_t few = std::min<std::size_t>(sets, 200);
      const double one_by_one = median_ms([&] {
        for (std::size_t b = 0; b < few; ++b) {
          parametric::Sets one = in;
          one.values += b * p;
          one.count = 1;
          one.first = b;
          if (from[0] == 'a') one.initial += b * size;
          call.run(one);
        }
      });
      std::printf("%-22s from %-12s  batch %9.3f   set by set %9.3f\n", call.name, from, together,
                  one_by_one * static_cast<double>(sets) / static_cast<double>(few));
    }
  }
}
