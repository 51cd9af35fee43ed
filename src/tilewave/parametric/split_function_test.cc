// Sets of values that are shared by several parts of a process and by several processes.
#include "tilewave/parametric/split_function.h"

#include <gtest/gtest.h>

#include "tilewave/base/thrown_test.h"
#include "tilewave/parametric/gate_by_gate_test.h"
#include "tilewave/runtime/on_ranks_test.h"

namespace tilewave::parametric {
namespace {

struct Asked {
  Circuit circuit;
  std::vector<PauliSum> observables;
  std::size_t sets;
  std::vector<double> values, v;
  std::vector<std::complex<double>> initial, g;

  Asked(std::uint64_t seed, std::size_t num_sets, bool starts_each) : circuit(5), sets(num_sets) {
    Random random(seed);
    circuit = random_circuit(random, 5, 4, 20);
    observables = {random_observable(random, 5, 4), random_observable(random, 5, 4)};
    values = random.angles(sets * 4);
    for (std::size_t k = 0; k < sets * 2; ++k) v.push_back(random.real());
    for (std::size_t k = 0; k < sets * 32; ++k) g.emplace_back(random.real(), random.real());
    for (std::size_t k = 0; starts_each && k < sets * 32; ++k)
      initial.push_back(k % 32 == k / 32 ? 1 : 0);
  }
  Sets rows() const {
    return {values.data(), sets, initial.empty() ? nullptr : initial.data(), false};
  }
};

// All that a function answers, one number after the other.
template <class F>
std::vector<double> answers(const F& f, const Asked& asked) {
  const std::size_t n = asked.sets, p = f.num_parameters(), m = f.num_observables();
  std::vector<double> e(n * m), e2(n * m), gradient(n * p), of_state(n * p), metric(n * p * p);
  std::vector<std::complex<double>> states(n * 32);
  std::vector<std::uint64_t> shots(n * 9);
  f.expectations(asked.rows(), e.data());
  f.vjp(asked.rows(), asked.v.data(), e2.data(), gradient.data());
  f.states(asked.rows(), states.data());
  f.state_vjp(asked.rows(), asked.g.data(), of_state.data());
  f.metric_tensor(asked.rows(), metric.data());
  f.samples(asked.rows(), 9, 3, shots.data());
  for (const auto* more : {&e2, &gradient, &of_state, &metric})
    e.insert(e.end(), more->begin(), more->end());
  for (const auto& a : states) e.insert(e.end(), {a.real(), a.imag()});
  for (const auto shot : shots) e.push_back(static_cast<double>(shot));
  return e;
}

TEST(SplitFunction, has_the_same_bits_for_every_split) {
  for (const std::size_t sets : {1, 2, 3, 7, 20}) {
    for (const auto precision : {Precision::kDouble, Precision::kSingle}) {
      const Asked asked(sets, sets, sets % 2 == 1);
      const FunctionOptions options{precision, 1};
      const auto want = answers(Function(asked.circuit, asked.observables, options), asked);
      for (const int parts : {1, 2, 3, 5}) {
        const SplitFunction f(asked.circuit, asked.observables, options,
                              std::vector<int>(parts, -1), nullptr);
        EXPECT_EQ(answers(f, asked), want) << parts << " parts of " << sets;
      }
      for (const int ranks : {2, 3}) {
        runtime::on_ranks(ranks, [&](const std::shared_ptr<runtime::Ranks>& joined) {
          const SplitFunction f(asked.circuit, asked.observables, options, {-1, -1}, joined);
          EXPECT_EQ(answers(f, asked), want) << ranks << " ranks, " << sets << " sets";
          EXPECT_NE(f.explain().find("processes over TCP"), std::string::npos);
        });
      }
    }
  }
}

TEST(SplitFunction, shares_a_state) {
  const Asked asked(6, 3, false);
  std::vector<double> want(6), slopes(12);
  const Function whole(asked.circuit, asked.observables, {});
  whole.vjp(asked.rows(), asked.v.data(), want.data(), slopes.data());
  runtime::on_ranks(2, [&](const std::shared_ptr<runtime::Ranks>& ranks) {
    const SplitFunction f(asked.circuit, asked.observables, {}, {-1}, ranks, Shared::kState);
    std::vector<double> own(6), again(6), gradient(12);
    f.expectations(asked.rows(), own.data());
    f.vjp(asked.rows(), asked.v.data(), again.data(), gradient.data());
    for (std::size_t k = 0; k < 6; ++k) {
      EXPECT_NEAR(own[k], want[k], 1e-12);
      EXPECT_NEAR(again[k], want[k], 1e-12);
    }
    for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(gradient[k], slopes[k], 1e-11);
    std::vector<std::complex<double>> states(3 * 32);
    expect_error([&] { f.states(asked.rows(), states.data()); }, "needs a whole state");
    const Asked starts(6, 3, true);
    expect_error([&] { f.expectations(starts.rows(), own.data()); }, "an initial state needs");
    std::vector<double> values = asked.values;
    values[3] = ranks->rank() == 1 ? 0.5 : 0.25;
    expect_error(
        [&] {
          f.expectations({values.data(), 3}, own.data());
        },
        "rank 1 was given another");
    f.expectations(asked.rows(), again.data());
    EXPECT_EQ(again, own);
  });
}

// Results of more bytes than are gathered at a time.
TEST(SplitFunction, gathers_large_results_in_pieces) {
  Circuit c(20);
  add_parametrised_gate(c, GateId::kRy, 3);
  const double values[] = {0.3, 0.5, 0.7, 0.9, 1.1, 1.3,
                           1.5, 1.7, 1.9, 2.1, 2.3};  // 16 MiB a state
  constexpr std::size_t kSets = std::size(values);
  runtime::on_ranks(2, [&](const std::shared_ptr<runtime::Ranks>& joined) {
    const SplitFunction f(c, {}, {Precision::kSingle, 1}, {-1}, joined);
    std::vector<std::complex<double>> states(kSets << 20, 7.0);
    f.states({values, kSets}, states.data());
    for (std::size_t b = 0; b < kSets; ++b) {
      for (std::size_t x = 0; x < std::size_t{1} << 20; ++x) {
        const double want = x == 0 ? std::cos(values[b] / 2) : x == 8 ? std::sin(values[b] / 2) : 0;
        ASSERT_NEAR(std::abs(states[(b << 20) + x] - want), 0, 1e-6) << b << " " << x;
      }
    }
  });
}

TEST(SplitFunction, all_hear_of_what_goes_wrong_on_one) {
  const Asked asked(1, 4, false);
  runtime::on_ranks(3, [&](const std::shared_ptr<runtime::Ranks>& ranks) {
    const bool is_other = ranks->rank() == 1;
    // a device that is not there, on one of them
    const std::string missing = error_of(
        [&] { SplitFunction(asked.circuit, asked.observables, {}, {is_other ? 99 : -1}, ranks); });
    EXPECT_NE(missing, "no error");
    EXPECT_EQ(missing.starts_with("rank 1: "), !is_other) << missing;
    expect_error(
        [&] {
          SplitFunction(is_other ? Asked(2, 1, false).circuit : asked.circuit, asked.observables,
                        {}, {-1}, ranks);
        },
        "rank 1 was given another circuit");
    // the same gates, but their parameters, and so the columns of values, in another order
    circuit::Circuit swapped(1);
    for (const char* name : {is_other ? "b" : "a", is_other ? "a" : "b"})
      swapped.add_parameter(name);
    for (const char* name : {"a", "b"}) {
      swapped.add_gate(circuit::GateId::kRx, {0}, {0.0});
      swapped.set_affine(swapped.ops().size() - 1, 0, {0, {{swapped.add_parameter(name), 1}}});
    }
    expect_error([&] { SplitFunction(swapped, {}, {}, {-1}, ranks); },
                 "rank 1 was given another circuit");
    const SplitFunction f(asked.circuit, asked.observables, {}, {-1}, ranks);
    std::vector<double> values = asked.values, e(4 * 2), g(4 * 4);
    if (is_other) values[15] += 1e-9;
    expect_error([&] { f.expectations({values.data(), 4}, e.data()); }, "rank 1 was given another");
    expect_error(
        [&] {
          if (is_other) return f.expectations({asked.values.data(), 4}, e.data());
          f.vjp({asked.values.data(), 4}, asked.v.data(), e.data(), g.data());
        },
        "rank 1 was given another");
    values = asked.values;
    values[0] = std::numeric_limits<double>::infinity();  // in the part of rank 0
    const std::string infinite = error_of([&] { f.expectations({values.data(), 4}, e.data()); });
    EXPECT_NE(infinite.find("'p0'"), std::string::npos) << infinite;
    EXPECT_EQ(infinite.starts_with("rank 0: "), ranks->rank() != 0) << infinite;
    f.expectations({asked.values.data(), 4}, e.data());  // and it goes on
    std::vector<double> want(8);
    Function(asked.circuit, asked.observables, {})
        .expectations({asked.values.data(), 4}, want.data());
    EXPECT_EQ(e, want);
  });
}

}  // namespace
}  // namespace tilewave::parametric
