// Runs that begin in a given state against runs whose circuit prepares it.
#include <algorithm>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/runs_test.h"

namespace tilewave::simulate {
namespace {

const std::string kStart =
    "h q; cu1(0.7) q[0],q[3]; ry(0.4) q[2]; cx q[3],q[1]; rx(1.2) q[4]; cu1(-2) q[4],q[2]; ";
const std::string kRest =
    "measure q[3] -> c[0]; if(c==1) ry(0.9) q[1]; reset q[4]; h q[4]; cx q[4],q[0]; ";

circuit::Circuit five(const std::string& body) {
  return qasm("qreg q[5]; creg c[5]; creg m[5]; " + body);
}

std::vector<cplx> start() {
  FinalState final = final_state(five(kStart), {}, true);
  std::vector<cplx> amplitudes(32);
  copy_amplitudes(final, amplitudes);
  return amplitudes;
}

TEST(InitialState, shots_are_those_of_a_circuit_that_prepares_it) {
  const std::vector<cplx> state = start();
  for (const int ranks : {1, 2, 4}) {
    Options options = shots_of(3000, 8);
    options.probabilities = true;
    options.distribution.num_logical_ranks = ranks;
    const Result expected = simulate(five(kStart + kRest + "measure q -> m;"), options);
    options.initial_state = state;
    const Result found = simulate(five(kRest + "measure q -> m;"), options);
    ASSERT_EQ(found.probabilities.size(), expected.probabilities.size());
    for (std::size_t q = 0; q < 5; ++q)  // draws are numbered by operation, so shots are others
      EXPECT_NEAR(found.probabilities[q], expected.probabilities[q], 0.05) << ranks;
    for (const auto& [outcome, count] : expected.counts) {
      const double other = count_of(found.counts, outcome);
      EXPECT_LT(std::abs(other - static_cast<double>(count)),
                6 * std::sqrt(other + static_cast<double>(count)) + 1)
          << outcome << " on " << ranks << " ranks";
    }
  }
}

TEST(InitialState, exact_expectations_of_measured_circuits) {
  Options options;
  for (std::uint64_t q = 0; q < 5; ++q) options.observables.push_back({1, 0, 1u << q});
  options.observables.push_back({1, 0b01001, 0b10010});
  const std::vector<double> expected = exact_expectations(five(kStart + kRest), options);
  const std::vector<cplx> state = start();
  options.initial_state = state;
  const std::vector<double> found = exact_expectations(five(kRest), options);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-12) << k;
}

// Branches whose snapshot has no room begin again from the given state.
TEST(InitialState, replayed_branches_begin_in_it) {
  const circuit::Circuit c = five(kRest);
  const std::vector<cplx> state = start();
  const Program program = prepare(c, false);
  std::vector<std::vector<double>> ends[2];
  for (const int few : {0, 1}) {
    BranchOptions options;
    options.shots = 200;
    options.seed = 3;
    options.max_states = few ? 1 : 20;
    options.start = [&](statevec::State& to) { to.set_amplitudes(state); };
    auto s = make_state(5, statevec::Precision::kDouble, 1, DeviceSet::cpu());
    s->set_amplitudes(state);
    Result result;
    run_branches(program, s, options, {}, result,
                 [&](const Leaf& leaf) { ends[few].push_back(leaf.state.marginals()); });
  }
  ASSERT_EQ(ends[0].size(), ends[1].size());
  ASSERT_GE(ends[0].size(), 4u);
  std::sort(ends[0].begin(), ends[0].end());
  std::sort(ends[1].begin(), ends[1].end());
  for (std::size_t k = 0; k < ends[0].size(); ++k) {
    for (std::size_t q = 0; q < 5; ++q) EXPECT_NEAR(ends[0][k][q], ends[1][k][q], 1e-12);
  }
}

TEST(InitialState, what_is_no_state_is_refused) {
  const std::vector<cplx> few(16, 0.25), large(32, 1), good = start();
  Options options;
  const circuit::Circuit c = five("x q[0];");
  options.initial_state = few;
  EXPECT_THROW(simulate(c, options), Error);
  options.initial_state = large;
  EXPECT_THROW(final_state(c, options), Error);
  options.initial_state = good;
  options.engine = Engine::kStabilizer;
  EXPECT_THROW(simulate(c, options), Error);
}

TEST(InitialState, a_density_matrix_begins_in_it) {
  Options options;
  options.engine = Engine::kDensity;
  options.noise = noise(R"({"channels": [{"after": "all", "channel": "depolarizing", "p": 0.2}]})");
  options.observables.push_back({1, 0, 0b00100});
  options.shots = 1;
  const std::vector<cplx> state = start();
  options.initial_state = state;
  const Result exact = simulate(five("ry(0.5) q[2]; cx q[2],q[4]; "), options);
  options.engine = Engine::kTrajectories;
  options.shots = 20000;
  const Result drawn = simulate(five("ry(0.5) q[2]; cx q[2],q[4]; "), options);
  ASSERT_EQ(exact.expectations.size(), 1u);
  EXPECT_NEAR(exact.expectations[0], drawn.expectations[0], 0.03);
  EXPECT_GT(std::abs(exact.expectations[0]), 0.05);
}

}  // namespace
}  // namespace tilewave::simulate
