// The quantum geometric tensor against states that are moved gate by gate, and closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tilewave/parametric/function.h"
#include "tilewave/parametric/gate_by_gate_test.h"

namespace tilewave::parametric {
namespace {

// Of every way a function runs: whole states and tiles of them, by themselves and as batches.
TEST(Metric, equals_that_of_states_moved_gate_by_gate) {
  std::set<GateId> seen;  // with a parameter in an angle
  for_each_random(1, 60, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(1 + random.below(9));
    const auto p = static_cast<std::uint32_t>(2 + random.below(5));
    const Circuit c = random_circuit(random, n, p, n < 3 ? 8 : 20);
    add_parametrised(c, seen);
    constexpr std::size_t kSets = 2;
    const std::size_t size = std::size_t{1} << n;
    const std::vector<double> values = random.angles(kSets * p);
    const std::vector<std::complex<double>> initial = random.states(n, kSets);
    std::vector<long double> want[3];  // from |0...0>, from one state, from a state for each
    for (std::size_t b = 0; b < kSets; ++b) {
      const auto from = [&](std::size_t set) {
        return BigState(initial.begin() + static_cast<std::ptrdiff_t>(set * size),
                        initial.begin() + static_cast<std::ptrdiff_t>((set + 1) * size));
      };
      const BigState starts[3] = {zero_state(n), from(0), from(b)};
      for (int k = 0; k < 3; ++k) {
        for (const long double g : slow_metric(c, row(values, b, p), starts[k]))
          want[k].push_back(g);
      }
    }
    for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
      const double tolerance = precision == Precision::kDouble ? 1e-11 : 2e-3;
      for (const int tile_row_bits : {0, 4}) {
        std::vector<double> first;
        for (const int threads : {1, 2}) {
          const Function f(c, {}, {precision, threads, tile_row_bits});
          std::vector<double> together;
          for (int k = 0; k < 3; ++k) {
            std::vector<double> g(kSets * p * p, 7);
            const std::complex<double>* const start = k == 0 ? nullptr : initial.data();
            f.metric_tensor({values.data(), kSets, start, k == 1}, g.data());
            for (std::size_t j = 0; j < g.size(); ++j)
              ASSERT_NEAR(g[j], static_cast<double>(want[k][j]), tolerance) << "start " << k;
            together.insert(together.end(), g.begin(), g.end());
          }
          // one state by itself, behind others in the same memory
          std::vector<double> e(1), one(std::size_t{p} * p);
          f.metric_tensor({values.data(), 1}, one.data());
          for (std::size_t j = 0; j < one.size(); ++j)
            ASSERT_NEAR(one[j], static_cast<double>(want[0][j]), tolerance);
          if (first.empty()) first = together;
          ASSERT_EQ(first, together) << "the same bits for any number of threads";
        }
      }
    }
  });
  expect_all_parametrised(seen);
}

// A state that does not fit a batch: 14 qubits in one tile and in several. Two parameters, so that runs
// are by themselves.
TEST(Metric, of_wider_states) {
  constexpr std::uint32_t n = 14;
  Random random(77);
  const Circuit c = random_circuit(random, n, 2, 25);
  const std::vector<double> values = random.angles(2);
  const auto want = slow_metric(c, values, zero_state(n));
  for (const int tile_row_bits : {0, 7}) {
    std::vector<double> g(4);
    Function(c, {}, {Precision::kDouble, 2, tile_row_bits})
        .metric_tensor({values.data(), 1}, g.data());
    for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(g[j], static_cast<double>(want[j]), 1e-11);
  }
}

// RY on |0> is a quarter everywhere; behind it RZ has a quarter of sin^2; phases of the whole state
// count for nothing.
TEST(Metric, closed_forms) {
  Circuit c(1);
  add_parametrised_gate(c, GateId::kRy, 0);
  add_parametrised_gate(c, GateId::kRz, 0);
  add_parametrised_gate(c, GateId::kGlobalPhase, std::span<const Qubit>());
  for (const double a : {0.0, 0.3, 2.5}) {
    const double values[] = {a, 0.7, -0.4};
    std::vector<double> g(9);
    Function(c, {}, {}).metric_tensor({values, 1}, g.data());
    const double sine = std::sin(a);
    const double want[] = {0.25, 0, 0, 0, 0.25 * sine * sine, 0, 0, 0, 0};
    for (int j = 0; j < 9; ++j) EXPECT_NEAR(g[static_cast<std::size_t>(j)], want[j], 1e-15);
  }
}

}  // namespace
}  // namespace tilewave::parametric
