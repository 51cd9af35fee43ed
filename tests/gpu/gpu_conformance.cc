// The CUDA state against the naive simulator: every gate of the table at every position and size,
// both precisions, random circuits, dynamic steps, observations, sampling. Skips loudly without a
// device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "tilewave/base/error.h"
#include "tilewave/circuit/families.h"
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/state.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

using testing::Amplitudes;

double tolerance(Precision p) { return p == Precision::kDouble ? 1e-12 : 2e-5; }

Amplitudes read(State& state) {
  Amplitudes a(state.num_amplitudes());
  state.for_each_block([&](std::uint64_t first, std::span<const cplx> part) {
    std::copy(part.begin(), part.end(), a.begin() + static_cast<std::ptrdiff_t>(first));
  });
  return a;
}

class Gpu : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    std::string why;
    if (runtime::cuda_devices(&why).empty()) GTEST_SKIP() << "NO DEVICE: " << why;
  }
  std::unique_ptr<State> make(int n) { return make_cuda_state(n, GetParam()); }
};

TEST_P(Gpu, every_gate_at_every_place) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> angle(-3, 3);
  int checked = 0;
  for (int n : {1, 2, 3, 4, 5, 6, 7, 13}) {
    auto state = make(n);
    for (const circuit::GateInfo& info : circuit::gate_table()) {
      const int arity = info.num_controls + info.num_targets;
      if (arity > n) continue;
      const int rounds = n <= 7 ? 2 * n : 10;
      for (int round = 0; round < rounds; ++round) {
        std::vector<circuit::Qubit> order(static_cast<std::size_t>(n));
        for (int q = 0; q < n; ++q)
          order[static_cast<std::size_t>(q)] = static_cast<circuit::Qubit>(q);
        std::shuffle(order.begin(), order.end(), random);
        if (arity > 0)
          std::swap(
              order[0],
              order[static_cast<std::size_t>(
                  std::find(order.begin(), order.end(), static_cast<circuit::Qubit>(round % n)) -
                  order.begin())]);
        std::vector<double> params(static_cast<std::size_t>(info.num_params));
        for (double& p : params) p = angle(random);
        circuit::Circuit c(static_cast<std::uint32_t>(n));
        c.add_gate(info.id, std::span(order).first(static_cast<std::size_t>(arity)), params);
        Amplitudes expected = testing::random_state(n, random);
        state->set_amplitudes(expected);
        testing::apply_circuit(expected, c);
        state->apply(c, c.ops());
        ASSERT_LT(testing::max_difference(read(*state), expected), tolerance(GetParam()))
            << info.name << " on " << n << " qubits, first on " << order[0];
        ++checked;
      }
    }
  }
  std::printf("%d gates\n", checked);
}

// The state's own options, or such that every plan of several passes has the largest tiles.
PlanOptions options_of(const State& state, bool wide) {
  PlanOptions options = state.plan_options();
  if (wide) {
    options.cost.wide_from_s = 0;
    options.cost.wide_bandwidth = 1e3 * options.cost.bandwidth;
    options.cost.wide_exposed = 0;
    options.cost.lift_s = options.cost.rotate_s = options.cost.flip_s = options.cost.phase_s =
        options.cost.multiply_s = 1e-18;
    options.cost.mixed_tiles = false;
  }
  return options;
}

TEST_P(Gpu, random_circuits_from_zero_and_from_random_states) {
  for (int n : {1, 2, 5, 9, 12, 13, 14, 15, 16}) {
    for (std::uint64_t seed = 0; seed < (n < 13 ? 8u : 4u); ++seed) {
      std::mt19937_64 random(seed * 100 + static_cast<std::uint64_t>(n));
      const circuit::Circuit c = testing::random_circuit(n, n < 12 ? 60 : 150, random);
      Amplitudes expected(bit(n));
      auto state = make(n);
      if (seed % 2) {
        expected = testing::random_state(n, random);
        state->set_amplitudes(expected);
      } else {
        expected[0] = 1;
      }
      const std::size_t half =
          c.ops().size() / 2;  // two plans: the layout of the first enters the second
      for (const auto ops : {c.ops().first(half), c.ops().subspan(half)})
        state->run(make_plan(c, ops, options_of(*state, seed >= 2)));
      testing::apply_circuit(expected, c);
      double largest = 1;
      for (const cplx& z : expected) largest = std::max(largest, std::abs(z));
      ASSERT_LT(testing::max_difference(read(*state), expected) / largest,
                4 * tolerance(GetParam()))
          << n << " qubits, seed " << seed;
    }
  }
}

TEST_P(Gpu, observations_agree_with_the_amplitudes) {
  for (int n : {1, 3, 8, 13, 14}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(n));
    const circuit::Circuit c = testing::random_circuit(n, 40, random);
    Amplitudes a = testing::random_state(n, random);
    auto state = make(n);
    state->set_amplitudes(a);
    testing::apply_circuit(a, c);
    state->apply(c, c.ops());
    double norm = 0;
    std::vector<double> ones(static_cast<std::size_t>(n));
    for (std::uint64_t x = 0; x < a.size(); ++x) {
      norm += std::norm(a[x]);
      for (int q = 0; q < n; ++q)
        ones[static_cast<std::size_t>(q)] += x >> q & 1 ? std::norm(a[x]) : 0;
    }
    const double near = 40 * tolerance(GetParam()) * std::max(1.0, norm);
    EXPECT_NEAR(state->norm(), norm, near);
    const auto marginals = state->marginals();
    for (int q = 0; q < n; ++q) {
      EXPECT_NEAR(marginals[static_cast<std::size_t>(q)], ones[static_cast<std::size_t>(q)], near);
    }
    std::vector<circuit::Qubit> qubits;
    for (int q = n - 1; q >= 0; q -= 2) qubits.push_back(static_cast<circuit::Qubit>(q));
    std::vector<double> joint(bit(static_cast<int>(qubits.size())));
    for (std::uint64_t x = 0; x < a.size(); ++x) {
      std::uint64_t o = 0;
      for (std::size_t j = 0; j < qubits.size(); ++j) o |= (x >> qubits[j] & 1) << j;
      joint[o] += std::norm(a[x]);
    }
    const auto found = state->joint_probabilities(qubits);
    ASSERT_EQ(found.size(), joint.size());
    for (std::size_t o = 0; o < joint.size(); ++o) EXPECT_NEAR(found[o], joint[o], near);
    std::vector<std::uint64_t> some;
    for (int k = 0; k < 20; ++k) some.push_back(random() % a.size());
    const auto values = state->amplitudes(some);
    for (std::size_t k = 0; k < some.size(); ++k) {
      EXPECT_LT(std::abs(values[k] - a[some[k]]), near);
    }
    circuit::PauliSum sum;
    for (int k = 0; k < 60; ++k) {
      const std::uint64_t x = k % 3 ? random() % 4 : random();
      sum.push_back({1, x & low_mask(n), random() & low_mask(n)});
    }
    const auto expectation = state->expectations(sum);
    for (std::size_t k = 0; k < sum.size(); ++k) {
      cplx total = 0;
      for (std::uint64_t i = 0; i < a.size(); ++i) {
        const std::uint64_t j = i ^ sum[k].x;
        total += std::conj(a[i]) * (std::popcount(j & sum[k].z) & 1 ? -1.0 : 1.0) * a[j];
      }
      for (int y = std::popcount(sum[k].x & sum[k].z); y > 0; --y) total *= cplx(0, 1);
      EXPECT_NEAR(expectation[k], total.real(), near) << "string " << k;
    }
    auto copy = state->clone();
    const int q = n / 2;
    const double p = ones[static_cast<std::size_t>(q)];
    copy->collapse(static_cast<circuit::Qubit>(q), 1, 1 / std::sqrt(p));
    EXPECT_NEAR(copy->norm(), 1, 100 * tolerance(GetParam()));
    copy->apply(c, c.ops());
    Amplitudes projected = a;
    for (std::uint64_t x = 0; x < a.size(); ++x) {
      projected[x] = x >> q & 1 ? a[x] / std::sqrt(p) : cplx(0);
    }
    testing::apply_circuit(projected, c);
    EXPECT_LT(testing::max_difference(read(*copy), projected),
              40 * tolerance(GetParam()) * std::max(1.0, norm));
    EXPECT_LT(testing::max_difference(read(*state), a), near);
  }
}

TEST_P(Gpu, shots_follow_the_probabilities_and_agree_with_the_cpu) {
  constexpr int n = 14;
  std::mt19937_64 random(3);
  const circuit::Circuit c = testing::random_circuit(n, 60, random);
  auto gpu = make(n);
  auto cpu = make_cpu_state(n, GetParam());
  gpu->apply(c, c.ops());
  cpu->apply(c, c.ops());
  constexpr std::uint64_t kShots = 100000;
  const auto a = sample(*gpu, kShots, 11), b = sample(*cpu, kShots, 11);
  std::uint64_t different = 0;
  for (std::uint64_t s = 0; s < kShots; ++s) different += a[s] != b[s];
  if (GetParam() == Precision::kDouble) {
    EXPECT_EQ(different, 0u);
  } else {
    EXPECT_LT(different, kShots / 500);
  }
  // counts of the top four bits against the probabilities
  const double norm = gpu->norm();
  const auto p = gpu->joint_probabilities(std::vector<circuit::Qubit>{10, 11, 12, 13});
  std::vector<double> counts(16);
  for (std::uint64_t x : a) counts[x >> 10] += 1;
  double chi2 = 0;
  int cells = 0;
  for (std::size_t o = 0; o < 16; ++o) {
    const double want = p[o] / norm * kShots;
    if (want < 5) continue;
    chi2 += (counts[o] - want) * (counts[o] - want) / want;
    ++cells;
  }
  EXPECT_LT(chi2, cells + 6 * std::sqrt(2.0 * cells));
}

TEST_P(Gpu, product_states_and_repeated_plans) {
  constexpr int n = 15;
  std::mt19937_64 random(5);
  std::vector<cplx> factors;
  for (int q = 0; q < n; ++q) {
    const double t = std::uniform_real_distribution<double>(0, 3)(random);
    factors.push_back(std::cos(t));
    factors.push_back(std::polar(std::sin(t), 2 * t));
  }
  auto state = make(n);
  state->set_product_state(factors);
  Amplitudes a(bit(n));
  for (std::uint64_t x = 0; x < a.size(); ++x) {
    a[x] = 1;
    for (int q = 0; q < n; ++q) a[x] *= factors[static_cast<std::size_t>(2 * q) + (x >> q & 1)];
  }
  EXPECT_LT(testing::max_difference(read(*state), a), tolerance(GetParam()));
  // the same plan twice: the second run uses the programs of the first
  circuit::Circuit c(n);
  for (circuit::Qubit q = 0; q < n; ++q) c.add_gate(circuit::GateId::kH, {q});
  for (circuit::Qubit q = 0; q + 1 < n; ++q) c.add_gate(circuit::GateId::kCp, {q, q + 1}, {0.3});
  PlanOptions options = state->plan_options();
  options.restore_layout = true;
  const Plan plan = make_plan(c, options);
  for (int k = 0; k < 3; ++k) {
    state->run(plan);
    testing::apply_circuit(a, c);
  }
  EXPECT_LT(testing::max_difference(read(*state), a), 4 * tolerance(GetParam()));
}

// A circuit that runs again gets a plan that was searched for, and then better programs.
TEST_P(Gpu, circuits_that_run_again_and_again) {
  constexpr int n = 22;
  std::mt19937_64 random(31);
  const circuit::Circuit circuits[] = {testing::random_circuit(n, 300, random),
                                       circuit::make_family("supremacy", n)};
  const Amplitudes start = testing::random_state(n, random);
  auto state = make(n);
  for (const circuit::Circuit& c : circuits) {
    auto cpu = make_cpu_state(n, GetParam());
    cpu->set_amplitudes(start);
    cpu->apply(c, c.ops());
    const Amplitudes expected = read(*cpu);
    double largest = 1;
    for (const cplx& z : expected) largest = std::max(largest, std::abs(z));
    for (int k = 0; k < 8; ++k) {
      state->set_amplitudes(start);
      state->run(make_plan(c, c.ops(), state->plan_options()));
      ASSERT_LT(testing::max_difference(read(*state), expected) / largest,
                8 * tolerance(GetParam()))
          << "run " << k;
      if (k % 3 == 2) state->apply(circuits[1], circuits[1].ops().first(40));  // another plan
    }
  }
}

// The norm and the marginals summed up in the last pass are those asked for afterwards, and
// forgotten with the state.
// With kernels compiled for every pass, however short: amplitudes, and what a last pass sums up.
TEST_P(Gpu, compiled_passes_agree_with_the_interpreter) {
  const bool is_double = GetParam() == Precision::kDouble;
  constexpr int n = 26;  // passes of ising are long enough to share code
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> indices(2000);
  for (std::uint64_t& x : indices) x = random() % (std::uint64_t{1} << n);
  for (const char* family : {"ising", "supremacy", "ghz_qft", "quantum_volume"}) {
    const auto c = circuit::make_family(family, n);
    for (const bool from_zeros : {true, false}) {
      std::vector<cplx> expected;
      std::vector<double> ones;
      double norm = 0;
      for (const char* jit : {"off", "all"}) {
        runtime::cuda::JitCache::set_use(jit);
        auto state = make(n);
        std::vector<cplx> product;
        for (int q = 0; q < n; ++q) {
          product.push_back(std::cos(0.3 + 0.04 * q));
          product.push_back(std::polar(std::sin(0.3 + 0.04 * q), 0.2 * q));
        }
        RunObserver observer;
        observer.makes_norm = observer.makes_marginals = true;
        for (int run = 0; run < 3; ++run) {
          if (from_zeros) {
            state->set_zero_state();
          } else {
            state->set_product_state(product);
          }
          PlanOptions options = state->plan_options();
          const Plan plan = make_plan(c, c.ops(), options);
          if (run == 1) state->prepare(plan);
          state->run(plan, observer);
        }
        const std::string what = std::string(family) + (from_zeros ? " from zeros" : "");
        const std::vector<cplx> found = state->amplitudes(indices);
        if (expected.empty()) {
          expected = found;
          ones = state->marginals();
          norm = state->norm();
          continue;
        }
        double worst = 0;
        for (std::size_t k = 0; k < found.size(); ++k) {
          const double error = std::abs(found[k] - expected[k]);
          worst = std::isnan(error) ? INFINITY : std::max(worst, error);
        }
        EXPECT_LT(worst, is_double ? 1e-13 : 1e-6) << what;
        EXPECT_NEAR(state->norm(), norm, is_double ? 1e-12 : 1e-5) << what;
        const std::vector<double> p = state->marginals();
        for (int q = 0; q < n; ++q) {
          EXPECT_NEAR(p[static_cast<std::size_t>(q)], ones[static_cast<std::size_t>(q)],
                      is_double ? 1e-12 : 1e-5)
              << what << " qubit " << q;
        }
      }
    }
  }
  runtime::cuda::JitCache::set_use("auto");
}

TEST_P(Gpu, norms_and_marginals_made_on_the_way) {
  const double close = GetParam() == Precision::kDouble ? 1e-13 : 1e-6;
  for (int n : {3, 12, 14, 17, 20}) {
    for (const int kind : {0, 1, 2, 3}) {
      const bool from_zeros = kind % 2 == 0, wide = kind >= 2;
      std::mt19937_64 random(static_cast<std::uint64_t>(n));
      circuit::Circuit c = testing::random_circuit(static_cast<std::uint32_t>(n), 60, random);
      c.add_matrix({}, 0, std::vector<circuit::Qubit>{0}, std::vector<cplx>{0.5, 0, 0, 0.75});
      for (int q = 0; q < n; q += 3)
        c.add_gate(circuit::GateId::kX, {static_cast<circuit::Qubit>(q)});  // flips of the store
      auto state = make(n);
      if (!from_zeros) state->set_amplitudes(testing::random_state(n, random));
      RunObserver observer;
      observer.makes_norm = true;
      observer.makes_marginals = n % 4 != 0 || from_zeros;
      state->run(make_plan(c, c.ops(), options_of(*state, wide)), observer);
      const double on_the_way = state->norm();
      const std::vector<double> marginals = state->marginals();
      auto copy = state->clone();  // knows no norm and no marginals yet
      EXPECT_NEAR(copy->norm() / on_the_way, 1, close) << n;
      const std::vector<double> again = copy->marginals();
      for (std::size_t q = 0; q < again.size(); ++q) {
        EXPECT_NEAR(marginals[q], again[q], close * on_the_way) << q << " of " << n;
      }
      circuit::Circuit half(static_cast<std::uint32_t>(n));
      half.add_matrix({}, 0, std::vector<circuit::Qubit>{1}, std::vector<cplx>{0.5, 0, 0, 0.5});
      state->apply(half, half.ops());
      EXPECT_NEAR(state->norm() / on_the_way, 0.25, close) << n;
    }
  }
}

// Forty matrices on eight qubits: a program of 40 MiB, more than is kept for programs.
TEST_P(Gpu, programs_of_any_length) {
  constexpr int n = 13;
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  circuit::Circuit c(n);
  for (int k = 0; k < 40; ++k) {
    std::vector<circuit::Qubit> order(n);
    for (std::size_t q = 0; q < order.size(); ++q) order[q] = static_cast<circuit::Qubit>(q);
    std::shuffle(order.begin(), order.end(), random);
    order.resize(8);
    std::vector<cplx> m(std::size_t{1} << 16);
    for (cplx& z : m) z = cplx(normal(random), normal(random)) / std::sqrt(512.0);
    c.add_matrix({}, 0, order, m);
  }
  auto gpu = make(n);
  auto cpu = make_cpu_state(n, GetParam());
  const Amplitudes start = testing::random_state(n, random);
  gpu->set_amplitudes(start);
  cpu->set_amplitudes(start);
  gpu->apply(c, c.ops());
  cpu->apply(c, c.ops());
  const Amplitudes a = read(*gpu), b = read(*cpu);
  double size = 0;
  for (const cplx& z : b) size = std::max(size, std::abs(z));
  EXPECT_LT(testing::max_difference(a, b), 20 * tolerance(GetParam()) * size);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Gpu, ::testing::Values(Precision::kDouble, Precision::kSingle),
                         [](const auto& which) {
                           return which.param == Precision::kDouble ? "double_precision"
                                                                    : "single_precision";
                         });

TEST(GpuErrors, a_state_too_large_names_needed_and_free_memory_and_ways_out) {
  std::string why;
  if (runtime::cuda_devices(&why).empty()) GTEST_SKIP() << "NO DEVICE: " << why;
  try {
    make_cuda_state(40, Precision::kDouble);
    FAIL() << "a state of 16 TiB was placed";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kResources);
    const std::string text = e.what();
    EXPECT_NE(text.find("40 qubits"), std::string::npos) << text;
    EXPECT_NE(text.find("GiB"), std::string::npos) << text;
    EXPECT_NE(text.find("--precision single"), std::string::npos) << text;
  }
  EXPECT_THROW(make_cuda_state(4, Precision::kDouble, 99), Error);
}

}  // namespace
}  // namespace tilewave::statevec
