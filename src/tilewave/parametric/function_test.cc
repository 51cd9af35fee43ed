// Values and derivatives against a state that is moved gate by gate.
#include "tilewave/parametric/function.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tilewave/base/thrown_test.h"
#include "tilewave/parametric/gate_by_gate_test.h"

namespace tilewave::parametric {
namespace {

void expect_near(const Slow& want, double value, const double* gradient, double tolerance,
                 double tolerance_of_gradient) {
  ASSERT_NEAR(value, static_cast<double>(want.value), tolerance);
  for (std::size_t k = 0; k < want.gradient.size(); ++k)
    ASSERT_NEAR(gradient[k], static_cast<double>(want.gradient[k]), tolerance_of_gradient) << k;
}

TEST(Function, derivatives_equal_those_gate_by_gate) {
  std::set<GateId> seen;  // with a parameter in an angle
  for_each_random(1, 150, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(1 + random.below(7));
    const auto p = static_cast<std::uint32_t>(1 + random.below(12));
    const Circuit c = random_circuit(random, n, p, 25);
    add_parametrised(c, seen);
    const std::vector<PauliSum> observables = {random_observable(random, n, 4),
                                               random_observable(random, n, 3)};
    constexpr std::size_t kSets = 11;  // one batch, and a part of another
    const std::vector<double> values = random.angles(kSets * p);
    std::vector<double> v;
    for (std::size_t k = 0; k < kSets * 2; ++k) v.push_back(random.real());
    std::vector<Slow> expected;
    for (std::size_t b = 0; b < kSets; ++b) {
      const auto set = row(values, b, p);
      for (const auto& o : observables) expected.push_back(slow(c, set, o));
    }
    for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
      const double tolerance = precision == Precision::kDouble ? 2e-12 : 1e-4;
      const Function f(c, observables, {precision, 1});
      for (const std::size_t sets : {kSets, std::size_t{1}}) {
        std::vector<double> e(sets * 2), g(sets * p), only(sets * 2);
        f.vjp({values.data(), sets}, v.data(), e.data(), g.data());
        f.expectations({values.data(), sets}, only.data());
        for (std::size_t b = 0; b < sets; ++b) {
          for (std::size_t m = 0; m < 2; ++m) {
            const double want = static_cast<double>(expected[2 * b + m].value);
            ASSERT_NEAR(e[2 * b + m], want, tolerance) << "set " << b;
            ASSERT_NEAR(only[2 * b + m], want, tolerance) << "set " << b;
          }
          for (std::size_t k = 0; k < p; ++k) {
            const double want = static_cast<double>(v[2 * b] * expected[2 * b].gradient[k] +
                                                    v[2 * b + 1] * expected[2 * b + 1].gradient[k]);
            ASSERT_NEAR(g[b * p + k], want, 20 * tolerance)
                << "set " << b << " of " << sets << " parameter " << k;
          }
        }
      }
      const Function one(c, {observables[0]}, {precision, 1});
      std::vector<double> e(1), g(p);
      const double unit = 1;
      one.vjp({values.data(), 1}, &unit, e.data(), g.data());
      expect_near(expected[0], e[0], g.data(), tolerance, 20 * tolerance);
    }
  });
  expect_all_parametrised(seen);
}

// The same where a tile is a part of the state, so that there are several passes and sweeps.
TEST(Function, tiles_of_a_state) {
  for_each_random(100, 129, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(7 + random.below(3));
    const std::uint32_t p = 6;
    const Circuit c = random_circuit(random, n, p, 30);
    const PauliSum o = random_observable(random, n, 5);
    const std::vector<double> values = random.angles(p);
    const Slow want = slow(c, values, o);
    for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
      const double tolerance = precision == Precision::kDouble ? 2e-12 : 2e-4;
      std::vector<double> first;
      for (const int threads : {1, 2, 3}) {
        const Function f(c, {o}, {precision, threads, 4});
        std::vector<double> e(1), g(p), only(1);
        const double unit = 1;
        f.vjp({values.data(), 1}, &unit, e.data(), g.data());
        f.expectations({values.data(), 1}, only.data());
        ASSERT_NEAR(only[0], static_cast<double>(want.value), tolerance);
        expect_near(want, e[0], g.data(), tolerance, 20 * tolerance);
        g.insert(g.end(), {e[0], only[0]});
        if (first.empty()) first = g;
        ASSERT_EQ(first, g) << "the same bits for any number of threads";
      }
    }
  });
}

// More strings in a sweep than every slot of sums has room for.
TEST(Function, many_strings_in_one_sweep) {
  constexpr std::uint32_t n = 15;
  Random random(500);
  const Circuit c = random_circuit(random, n, 4, 40);
  std::vector<double> values;
  for (int k = 0; k < 4; ++k) values.push_back(random.real());
  PauliSum all;  // every string of Z
  for (std::uint64_t z = 0; z < bit(n); ++z) all.push_back({random.real(), 0, z});
  const BigState psi = run(c.bind(values));
  std::vector<long double> signs(bit(n));  // by a Walsh-Hadamard transform, sum_z c_z (-1)^{x.z}
  for (std::uint64_t z = 0; z < bit(n); ++z)
    signs[z] = static_cast<long double>(all[z].coefficient);
  for (std::uint64_t half = 1; half < bit(n); half *= 2) {
    for (std::uint64_t x = 0; x < bit(n); ++x) {
      if (x & half) continue;
      const long double a = signs[x], b = signs[x | half];
      signs[x] = a + b;
      signs[x | half] = a - b;
    }
  }
  long double want = 0;
  for (std::uint64_t x = 0; x < bit(n); ++x) want += std::norm(psi[x]) * signs[x];
  std::vector<double> found;
  for (const int threads : {1, 2, 3}) {
    double e;
    Function(c, {all}, {Precision::kDouble, threads, 6}).expectations({values.data(), 1}, &e);
    EXPECT_NEAR(e, static_cast<double>(want), 1e-9);
    found.push_back(e);
  }
  EXPECT_EQ(found, std::vector<double>(3, found[0])) << "the same bits for any number of threads";
}

// Layers of rotations between many flips, which move rows together.
TEST(Function, layers_of_flips) {
  for_each_random(400, 406, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(6 + random.below(4));
    Circuit c(n);
    for (int layer = 0; layer < 3; ++layer) {
      for (Qubit q = 0; q < n; ++q) add_parametrised_gate(c, q % 2 ? GateId::kRy : GateId::kRx, q);
      for (int k = 0; k < 25; ++k) {
        const auto q = random.qubits(n, 2);
        const std::size_t controls = random.below(8) ? 1 : 0;
        c.add_controlled_gate(GateId::kX, {q.data(), controls}, random.below(4) ? 1 : 0,
                              {&q[1], 1});
      }
    }
    const std::size_t p = c.parameters().size();
    const PauliSum o = random_observable(random, n, 5);
    constexpr std::size_t kSets = 4;
    const std::vector<double> values = random.angles(kSets * p);
    const Function whole(c, {o}, {}), tiles(c, {o}, {Precision::kDouble, 1, 4});
    for (const Function* f : {&whole, &tiles}) {
      for (const std::size_t sets : {std::size_t{1}, kSets}) {
        const std::vector<double> v(sets, 1);
        std::vector<double> e(sets), g(sets * p);
        f->vjp({values.data(), sets}, v.data(), e.data(), g.data());
        for (std::size_t b = 0; b < sets; ++b) {
          expect_near(slow(c, row(values, b, p), o), e[b], &g[b * p], 2e-12, 2e-11);
        }
      }
    }
  });
}

TEST(Function, states_and_their_derivatives) {
  for_each_random(200, 219, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(2 + random.below(5));
    const std::uint32_t p = 4;
    const Circuit c = random_circuit(random, n, p, 15);
    constexpr std::size_t kSets = 5;
    const std::vector<double> values = random.angles(kSets * p);
    const std::size_t size = std::size_t{1} << n;
    std::vector<std::complex<double>> g(kSets * size), states(kSets * size);
    for (auto& x : g) x = {random.real(), random.real()};
    std::vector<double> gradient(kSets * p);
    const Function f(c, {}, {});
    for (const std::size_t sets : {std::size_t{1}, kSets}) {
      f.states({values.data(), sets}, states.data());
      f.state_vjp({values.data(), sets}, g.data(), gradient.data());
      for (std::size_t b = 0; b < sets; ++b) {
        const auto set = row(values, b, p);
        const auto loss = [&](const std::vector<double>& at) {
          const BigState psi = run(c.bind(at));
          long double sum = 0;
          for (std::size_t x = 0; x < size; ++x)
            sum += (std::conj(Big(g[b * size + x])) * psi[x]).real();
          return sum;
        };
        const BigState psi = run(c.bind(set));
        for (std::size_t x = 0; x < size; ++x)
          ASSERT_NEAR(std::abs(Big(states[b * size + x]) - psi[x]), 0, 1e-13);
        for (std::size_t k = 0; k < p; ++k)
          ASSERT_NEAR(gradient[b * p + k], slope(loss, set, k), 1e-7);
      }
    }
  });
}

TEST(Function, from_other_states) {
  for_each_random(300, 309, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(5 + random.below(4));
    const std::uint32_t p = 4;
    const Circuit c = random_circuit(random, n, p, 15);
    const PauliSum o = random_observable(random, n, 4);
    constexpr std::size_t kSets = 5;
    const std::size_t size = std::size_t{1} << n;
    const std::vector<double> values = random.angles(kSets * p);
    const std::vector<std::complex<double>> initial = random.states(n, kSets);
    const auto energy = [&](std::size_t b, const std::vector<double>& at) {
      const auto start = initial.begin() + static_cast<std::ptrdiff_t>(b * size);
      const BigState psi =
          run(c.bind(at), BigState(start, start + static_cast<std::ptrdiff_t>(size)));
      return inner(psi, times(o, psi));
    };
    const Function whole(c, {o}, {}), tiles(c, {o}, {Precision::kDouble, 1, 4});
    for (const Function* f : {&whole, &tiles}) {
      for (const std::size_t sets : {std::size_t{1}, kSets}) {
        const std::vector<double> v(sets, 1);
        std::vector<double> e(sets), g(sets * p), zero(sets), only(sets);
        f->vjp({values.data(), sets, initial.data()}, v.data(), e.data(), g.data());
        f->expectations({values.data(), sets, initial.data(), true}, only.data());
        f->expectations({values.data(), sets}, zero.data());  // runs are kept
        for (std::size_t b = 0; b < sets; ++b) {
          const auto set = row(values, b, p);
          ASSERT_NEAR(e[b], static_cast<double>(energy(b, set)), 2e-12);
          ASSERT_NEAR(only[b], static_cast<double>(energy(0, set)), 2e-12);
          ASSERT_NEAR(zero[b], static_cast<double>(slow(c, set, o).value), 2e-12);
          const auto own = [&](const std::vector<double>& at) { return energy(b, at); };
          for (std::size_t k = 0; k < p; ++k) ASSERT_NEAR(g[b * p + k], slope(own, set, k), 1e-7);
        }
      }
    }
  });
}

// An angle of many turns is not rounded to single precision with the amplitudes.
TEST(Function, large_angles_in_single_precision) {
  Circuit c(1);
  add_parametrised_gate(c, GateId::kRy, 0);
  const Function f(c, {{{1, 0, 1}}}, {Precision::kSingle});
  const double values[] = {1e4 + 0.3, -1e5 - 1.2, 1e6 + 0.7, 1e7 + 0.1};
  for (const std::size_t sets : {1, 4}) {
    std::vector<double> v(sets, 1), e(sets), g(sets);
    f.vjp({values, sets}, v.data(), e.data(), g.data());
    for (std::size_t b = 0; b < sets; ++b) {
      EXPECT_NEAR(e[b], std::cos(values[b]), 1e-6) << values[b];
      EXPECT_NEAR(g[b], -std::sin(values[b]), 1e-6) << values[b];
    }
  }
}

TEST(Function, samples_follow_the_probabilities) {
  Circuit c(2);
  add_parametrised_gate(c, GateId::kRy, 0);
  c.add_gate(GateId::kCx, {0, 1});
  const Function f(c, {}, {});
  const double values[] = {1.2, 0, 3.14159265358979};
  constexpr std::uint64_t kShots = 20000;
  std::vector<std::uint64_t> out(3 * kShots), again(3 * kShots);
  f.samples({values, 3}, kShots, 7, out.data());
  f.samples({values, 3}, kShots, 7, again.data());
  EXPECT_EQ(out, again);
  const double p = std::pow(std::sin(0.6), 2);
  const auto ones = std::count(out.begin(), out.begin() + kShots, 3u);
  EXPECT_NEAR(static_cast<double>(ones) / kShots, p, 5 * std::sqrt(p * (1 - p) / kShots));
  EXPECT_EQ(std::count(out.begin(), out.begin() + kShots, 0u) + ones, static_cast<long>(kShots));
  EXPECT_EQ(std::count(out.begin() + kShots, out.begin() + 2 * kShots, 0u),
            static_cast<long>(kShots));
  EXPECT_EQ(std::count(out.begin() + 2 * kShots, out.end(), 3u), static_cast<long>(kShots));
}

TEST(Function, refusals) {
  Circuit reset(2);
  reset.add_gate(GateId::kH, {0});
  reset.add_reset(0);
  expect_error([&] { Function(reset, {}, {}); }, "operation 1 is a reset");
  Circuit late(2, 1);
  late.add_measure(0, 0);
  late.add_gate(GateId::kH, {0});
  expect_error([&] { Function(late, {}, {}); }, "after a measurement");
  Circuit scaled(1);
  scaled.add_matrix({}, 0, std::vector<Qubit>{0}, {2, 0, 0, 1});
  expect_error([&] { Function(scaled, {}, {}); }, "not unitary");
  expect_error([&] { Function(Circuit(1), {{{1, 2, 0}}}, {}); }, "observable 0");
  Circuit one(1);
  add_parametrised_gate(one, GateId::kRx, 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  double e;
  expect_error([&] { Function(one, {{{1, 0, 1}}}, {}).expectations({&nan, 1}, &e); }, "'t0'");
  expect_error([&] { one.bind(std::vector<double>{1, 2}); }, "1 parameters, got 2");
}

}  // namespace
}  // namespace tilewave::parametric
