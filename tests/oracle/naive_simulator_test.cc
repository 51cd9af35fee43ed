#include "oracle/naive_simulator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/random_circuit.h"
#include "tilewave/circuit/families.h"
#include "tilewave/circuit/inverse.h"

namespace tilewave::oracle {
namespace {

using circuit::Circuit;
using circuit::GateId;

TEST(NaiveSimulator, known_states) {
  Circuit ghz = circuit::make_family("ghz", 3);
  const State s = simulate(ghz);
  EXPECT_NEAR(s[0].real(), std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(s[7].real(), std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(expectation(s, {1, 7, 0}), 1, 1e-15);   // XXX
  EXPECT_NEAR(expectation(s, {1, 7, 3}), -1, 1e-15);  // X on 2, Y on 1 and 0
  EXPECT_NEAR(expectation(s, {1, 0, 3}), 1, 1e-15);   // ZZ on 1 and 0
  EXPECT_NEAR(probabilities(s)[1], 0.5, 1e-15);

  Circuit qft = circuit::make_family("qft", 4);
  Circuit c(4);
  c.add_gate(GateId::kX, {0});
  const State one = simulate(qft, simulate(c));
  // the QFT without its swaps: amplitude k is e^{2 pi i j reversed(k)/16}/4 up to the bit order
  for (const cplx& a : one) EXPECT_NEAR(std::abs(a), 0.25, 1e-15);
}

TEST(NaiveSimulator, controls_act_on_their_values) {
  Circuit c(3);
  const circuit::Qubit controls[] = {1, 2}, target[] = {0};
  c.add_controlled_gate(GateId::kX, controls, 0b10, target);  // qubit 1 on 0, qubit 2 on 1
  for (std::uint64_t i = 0; i < 8; ++i) {
    State s(8);
    s[i] = 1;
    s = simulate(c, s);
    EXPECT_EQ(s[i >> 1 == 0b10 ? i ^ 1 : i], cplx{1}) << i;
  }
}

TEST(NaiveSimulator, teleportation_is_exact_in_every_branch) {
  Circuit c(3, 2);
  c.add_gate(GateId::kU3, {0}, {0.4, 1.1, -0.3});
  const cplx a = std::cos(0.2), b = std::polar(std::sin(0.2), 1.1);
  c.add_gate(GateId::kH, {1});
  c.add_gate(GateId::kCx, {1, 2});
  c.add_gate(GateId::kCx, {0, 1});
  c.add_gate(GateId::kH, {0});
  c.add_measure(0, 0);
  c.add_measure(1, 1);
  c.add_gate(GateId::kX, {2}).condition = c.add_condition({1, 1, {1}});
  c.add_gate(GateId::kZ, {2}).condition = c.add_condition({0, 1, {1}});
  const auto branches = enumerate_branches(c);
  ASSERT_EQ(branches.size(), 4u);
  for (const Branch& branch : branches) {
    EXPECT_NEAR(branch.probability, 0.25, 1e-15);
    EXPECT_NEAR(std::abs(branch.state[branch.clbits] - a), 0, 1e-15);
    EXPECT_NEAR(std::abs(branch.state[branch.clbits | 4] - b), 0, 1e-15);
  }
}

TEST(NaiveSimulator, reset_forgets_and_distributions_sum_to_one) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    circuit::RandomCircuitOptions options;
    options.seed = seed;
    options.num_clbits = 3;
    options.measure = options.reset = options.conditions = true;
    Circuit c = circuit::make_random_circuit(options);
    c.add_reset(2);
    c.add_measure(2, 0);
    double sum = 0;
    for (const auto& [bits, p] : distribution(c)) {
      EXPECT_EQ(bits & 1, 0u) << "seed " << seed;
      sum += p;
    }
    EXPECT_NEAR(sum, 1, 1e-12) << "seed " << seed;
  }
}

TEST(NaiveSimulator, mirrors_of_random_circuits_return) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    circuit::RandomCircuitOptions options;
    options.seed = seed;
    options.num_qubits = 5;
    options.num_ops = 80;
    const State before = random_state(5, seed);
    const State after = simulate(circuit::mirror(circuit::make_random_circuit(options)), before);
    EXPECT_LT(max_difference(before, after), 1e-12) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tilewave::oracle
