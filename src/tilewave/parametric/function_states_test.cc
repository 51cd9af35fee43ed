// States, probabilities and shots of many sets at a time: against states that are moved gate by gate, and
// against the same sets one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <vector>

#include "tilewave/base/thrown_test.h"
#include "tilewave/parametric/function.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/parametric/split_function.h"

namespace tilewave::parametric {
namespace {

using States = std::vector<std::complex<double>>;  // [set][basis state]

enum class From { kZero, kOne, kEach };

Sets sets_from(From from, const std::vector<double>& values, std::size_t count,
               const States& starts) {
  Sets sets{values.data(), count};
  if (from != From::kZero) sets.initial = starts.data();
  sets.shares_initial = from == From::kOne;
  return sets;
}

TEST(States, of_many_sets_equal_those_moved_gate_by_gate) {
  for_each_random(1, 24, [&](std::uint64_t, Random& random) {
    const auto n = static_cast<std::uint32_t>(1 + random.below(8));
    const std::uint32_t p = 5;
    const Circuit c = random_circuit(random, n, p, 25);
    constexpr std::size_t kSets = 19;  // batches, and a part of one
    const std::size_t size = std::size_t{1} << n;
    const std::vector<double> values = random.angles(kSets * p);
    const States starts = random.states(n, kSets);
    std::vector<std::uint32_t> qubits;  // some, in an order of their own
    for (std::uint32_t q = n; q-- > 0;) {
      if (random.below(3)) qubits.insert(random.below(2) ? qubits.begin() : qubits.end(), q);
    }
    const std::size_t outcomes = std::size_t{1} << qubits.size();
    for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
      const double tolerance = precision == Precision::kDouble ? 1e-12 : 1e-4;
      const Function f(c, {}, {precision, 2});
      for (const From from : {From::kZero, From::kOne, From::kEach}) {
        const Sets sets = sets_from(from, values, kSets, starts);
        std::vector<std::complex<double>> states(kSets * size);
        std::vector<double> probabilities(kSets * outcomes);
        f.states(sets, states.data());
        f.probabilities(sets, qubits, probabilities.data());
        for (std::size_t b = 0; b < kSets; ++b) {
          BigState psi = zero_state(n);
          const std::size_t own = from == From::kOne ? 0 : b;
          for (std::size_t x = 0; from != From::kZero && x < size; ++x)
            psi[x] = starts[own * size + x];
          psi = run(c.bind(row(values, b, p)), std::move(psi));
          std::vector<long double> want(outcomes);
          for (std::size_t x = 0; x < size; ++x) {
            ASSERT_NEAR(static_cast<double>(std::abs(Big(states[b * size + x]) - psi[x])), 0,
                        tolerance);
            std::size_t y = 0;
            for (std::size_t j = 0; j < qubits.size(); ++j) y |= (x >> qubits[j] & 1) << j;
            want[y] += std::norm(psi[x]);
          }
          for (std::size_t y = 0; y < outcomes; ++y)
            ASSERT_NEAR(probabilities[b * outcomes + y], static_cast<double>(want[y]), tolerance);
        }
      }
    }
  });
}

TEST(States, of_many_sets_are_read_as_those_of_single_sets) {
  for (const std::uint32_t n : {1u, 3u, 6u, 9u}) {
    SCOPED_TRACE(std::to_string(n) + " qubits");
    Random random(n);
    const std::uint32_t p = 4;
    const Circuit c = random_circuit(random, n, p, 30);
    constexpr std::size_t kSets = 11, kShots = 200;
    constexpr std::uint64_t kSeed = 5;
    const std::vector<double> values = random.angles(kSets * p);
    const States starts = random.states(n, kSets), g = random.states(n, kSets);
    const Function f(c, {random_observable(random, n, 4)}, {});
    for (const From from : {From::kZero, From::kOne, From::kEach}) {
      const Sets sets = sets_from(from, values, kSets, starts);
      std::vector<std::uint64_t> shots(kSets * kShots), split(kSets * kShots);
      std::vector<double> along(kSets * p), slopes(kSets * p), v(kSets, 1.5);
      f.samples(sets, kShots, kSeed, shots.data());
      f.state_vjp(sets, g.data(), along.data());
      f.vjp(sets, v.data(), nullptr, slopes.data());
      SplitFunction(c, {}, {}, {-1, -1, -1}, nullptr).samples(sets, kShots, kSeed, split.data());
      EXPECT_EQ(shots, split);
      for (std::size_t b = 0; b < kSets; ++b) {
        Sets one = sets;
        one.values += b * p;
        one.count = 1;
        one.first = b;
        if (from == From::kEach) one.initial += b << n;
        std::vector<std::uint64_t> own(kShots);
        std::vector<double> own_along(p), own_slopes(p);
        f.samples(one, kShots, kSeed, own.data());
        f.state_vjp(one, g.data() + (b << n), own_along.data());
        f.vjp(one, v.data(), nullptr, own_slopes.data());
        for (std::size_t s = 0; s < kShots; ++s) ASSERT_EQ(shots[b * kShots + s], own[s]);
        for (std::size_t k = 0; k < p; ++k) {
          ASSERT_NEAR(along[b * p + k], own_along[k], 1e-12);
          ASSERT_NEAR(slopes[b * p + k], own_slopes[k], 1e-11);
        }
      }
    }
  }
}

TEST(States, refuse_what_is_no_state) {
  Circuit c(2);
  c.add_gate(GateId::kH, {0});
  constexpr std::size_t kSets = 6;
  std::vector<std::complex<double>> initial(kSets << 2);
  for (std::size_t b = 0; b < kSets; ++b) initial[4 * b] = 1;
  initial[4 * 4] = 0.5;
  const std::vector<double> none(1);
  double e[kSets << 2];
  const Function f(c, {}, {});
  const auto ask = [&](const Sets& sets, std::vector<std::uint32_t> qubits) {
    return [&f, &e, sets, qubits] { f.probabilities(sets, qubits, e); };
  };
  expect_error(ask({none.data(), kSets, initial.data()}, {0}), "of set 4 has the norm 0.25",
               ExitCode::kInput);
  EXPECT_NO_THROW(ask({none.data(), kSets, initial.data(), true}, {0})());
  initial[0] = std::nan("");
  expect_error(ask({none.data(), kSets, initial.data(), true}, {0}), "has the norm nan",
               ExitCode::kInput);
  expect_error(ask({none.data(), kSets}, {2}), "qubit 2", ExitCode::kInput);
  expect_error(ask({none.data(), kSets}, {1, 1}), "named twice", ExitCode::kInput);
}

// A matrix on one qubit whose larger or smaller elements are nothing but rounding, whose phases mean
// nothing then: products of gates are such matrices.
TEST(States, matrices_whose_small_elements_are_rounding) {
  constexpr double kPi = std::numbers::pi;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const double small = std::pow(10.0, -3 * (3.1 + random.real()));
    const double s = seed % 2 ? small : std::sqrt(1 - small * small);
    const double c = seed % 2 ? std::sqrt(1 - small * small) : small;
    const double g = random.real(), p = random.real(), l = random.real();
    // one rounding in each element
    const auto element = [&](double size, double phase) {
      return std::polar(size, phase) + 1e-16 * std::complex<double>(random.real(), random.real());
    };
    const std::vector<std::complex<double>> m{element(c, g), element(s, g + l + kPi),
                                              element(s, g + p), element(c, g + p + l)};
    Circuit circuit(3);
    for (const Qubit q : {0u, 1u, 2u}) {
      circuit.add_gate(GateId::kRx, {q}, {0.3 + q});
      circuit.add_gate(GateId::kRz, {q}, {0.7 - q});
    }
    if (seed % 3) {
      circuit.add_matrix({}, 0, std::vector<Qubit>{1}, m);
    } else {
      circuit.add_matrix(std::vector<Qubit>{2}, 1, std::vector<Qubit>{1}, m);
    }
    const BigState expected = run(circuit);
    std::vector<std::complex<double>> states(8);
    Function(circuit, {}, {}).states({nullptr, 1}, states.data());
    for (std::size_t x = 0; x < 8; ++x)
      EXPECT_LT(std::abs(Big(states[x]) - expected[x]), 1e-15L) << "seed " << seed << " x " << x;
  }
}

}  // namespace
}  // namespace tilewave::parametric
