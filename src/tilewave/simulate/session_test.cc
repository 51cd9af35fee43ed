// What a session remembers, and that what is printed is what ran.
#include "tilewave/simulate/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tilewave/circuit/families.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {
namespace {

statevec::PlanOptions small_tiles() {
  statevec::PlanOptions options;
  options.cost.tile_qubits = 8;
  options.cost.row_bits = 2;
  options.cost.bandwidth = 1e6;  // passes of 16 qubits as long as larger ones are
  options.cost.search_from_qubits = 0;
  options.from_zeros = true;
  return options;
}

std::size_t passes(const PlanPtr& plan) { return plan->plan.passes.size(); }

TEST(Session, a_plan_is_searched_for_when_it_comes_again_and_then_stays) {
  const circuit::Circuit c = circuit::make_family("random", 30);
  statevec::PlanOptions options;
  options.cost.tile_qubits = 13;
  options.cost.row_bits = 3;
  options.cost.bandwidth = 1e9;  // passes count more than arithmetic
  Session session;
  options.effort = Effort::kOnce;
  const std::size_t greedy = passes(session.plan(c, c.ops(), options));
  options.effort = Effort::kRepeated;
  const std::size_t searched = passes(session.plan(c, c.ops(), options));
  ASSERT_LT(searched, greedy);
  options.effort = Effort::kAuto;
  const PlanPtr first = session.plan(c, c.ops(), options);
  const PlanPtr second = session.plan(c, c.ops(), options);
  EXPECT_EQ(passes(second), searched);
  EXPECT_EQ(second->plan.effort, Effort::kRepeated);
  EXPECT_EQ(session.plan(c, c.ops(), options), second)
      << "the same object: nothing is planned again";
  EXPECT_LE(passes(second), passes(first));
  session.clear();
  EXPECT_EQ(session.num_bytes(), 0u);
  EXPECT_NE(session.plan(c, c.ops(), options), second);
  EXPECT_EQ(passes(second), searched) << "what is in use stays";
}

TEST(Session, plans_are_found_by_all_that_they_depend_on) {
  Session session;
  circuit::Circuit c(10);
  for (circuit::Qubit q = 0; q < 10; ++q) c.add_gate(circuit::GateId::kRx, {q}, {0.1 * q});
  const statevec::PlanOptions options = small_tiles();
  const PlanPtr plan = session.plan(c, c.ops(), options);
  EXPECT_EQ(session.plan(c, c.ops(), options), session.plan(c, c.ops(), options));
  const auto differs = [&](const circuit::Circuit& circuit, const statevec::PlanOptions& o) {
    return session.plan(circuit, circuit.ops(), o) != session.plan(c, c.ops(), options);
  };
  circuit::Circuit other(10);
  for (circuit::Qubit q = 0; q < 10; ++q)
    other.add_gate(circuit::GateId::kRx, {q}, {q == 7 ? 0.71 : 0.1 * q});
  EXPECT_TRUE(differs(other, options)) << "another angle";
  for (int change = 0; change < 4; ++change) {
    statevec::PlanOptions o = options;
    if (change == 0) o.precision = statevec::Precision::kSingle;
    if (change == 1) o.from_zeros = false;
    if (change == 2) o.cost.tile_qubits = 7;
    if (change == 3) o.restore_layout = true;
    EXPECT_TRUE(differs(c, o)) << change;
  }
  EXPECT_NE(session.plan(c, c.ops().first(9), options), session.plan(c, c.ops(), options));
}

TEST(Session, stays_within_its_bounds) {
  Session session;
  const circuit::Circuit large = circuit::make_family("random", 16);
  for (int k = 0; k < 400; ++k) {
    circuit::Circuit c = large;
    for (int j = 0; j < 20; ++j) c.add_gate(circuit::GateId::kRx, {0}, {0.001 * (k + j)});
    session.plan(c, c.ops(), small_tiles());
  }
  EXPECT_LT(session.num_bytes(), 200u << 20);
}

TEST(Session, several_threads_plan_at_once) {
  Session session;
  const circuit::Circuit c = circuit::make_family("ising", 14);
  std::vector<std::thread> threads;
  std::vector<std::size_t> found(4);
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) found[t] = passes(session.plan(c, c.ops(), small_tiles()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t count : found) EXPECT_EQ(count, found[0]);
}

// As a user runs it: from the second run on a circuit has the plan that the benchmark has, and what
// is printed are the passes that ran.
TEST(Session, repeated_runs_get_the_searched_plan_and_print_it) {
  const circuit::Circuit c = circuit::make_family("random", 22);
  Options options;
  options.session = std::make_shared<Session>();
  options.shots = 1;
  options.seed = 1;
  options.explain = true;
  std::vector<std::uint64_t> passes_of;
  for (int k = 0; k < 3; ++k) {
    const Result r = simulate(c, options);
    passes_of.push_back(r.plan.passes);
    EXPECT_NE(r.plan.text.find("total: " + std::to_string(r.plan.passes) + " passes"),
              std::string::npos)
        << r.plan.text;
    EXPECT_TRUE(k == 0 || r.plan.effort == Effort::kRepeated);
  }
  options.session = std::make_shared<Session>();
  options.effort = Effort::kRepeated;
  const std::uint64_t best = simulate(c, options).plan.passes;
  options.effort = Effort::kOnce;
  const std::uint64_t greedy = simulate(c, options).plan.passes;
  EXPECT_EQ(passes_of[1], best);
  EXPECT_EQ(passes_of[2], best);
  EXPECT_LE(best, greedy);
}

TEST(Session, the_memory_of_a_state_serves_again) {
  Session session;
  const auto take = [&](std::uint32_t n, Precision precision) {
    return session.take_state(n, precision, 1, DeviceSet::cpu(), {});
  };
  auto state = take(10, Precision::kDouble);
  circuit::Circuit c(10);
  for (circuit::Qubit q = 0; q < 10; ++q) c.add_gate(circuit::GateId::kH, {q}, {});
  state->apply(c, c.ops());
  const statevec::State* const before = state.get();
  session.give_back(std::move(state), 1, DeviceSet::cpu());
  EXPECT_GE(session.num_bytes(), 16384u);
  EXPECT_NE(take(10, Precision::kSingle).get(), before);
  EXPECT_NE(take(9, Precision::kDouble).get(), before);
  state = take(10, Precision::kDouble);
  EXPECT_EQ(state.get(), before);
  EXPECT_NEAR(state->probability(3, 1), 0, 1e-15) << "it is in |0...0> again";
  session.give_back(std::move(state), 1, DeviceSet::cpu());
  session.clear();
  EXPECT_EQ(session.num_bytes(), 0u);
}

TEST(Session, what_is_printed_is_what_runs) {
  circuit::Circuit c(12);
  for (int k = 0; k < 4; ++k) {
    for (circuit::Qubit q = 0; q < 12; ++q) c.add_gate(circuit::GateId::kRy, {q}, {0.3 * q + k});
    for (circuit::Qubit q = 0; q + 1 < 12; ++q)
      c.add_controlled_gate(circuit::GateId::kX, std::vector{q}, 1, std::vector{q + 1});
  }
  const bool has_gpu = !runtime::cuda_devices().empty();
  {  // a plan that was looked at is the one that the first run has
    Options options;
    options.device = DeviceSet::cpu();
    options.probabilities = options.explain = options.dry_run = true;
    options.session = std::make_shared<Session>();
    const std::string looked = simulate(c, options).plan.text;
    EXPECT_EQ(simulate(c, options).plan.text, looked);
    options.dry_run = false;
    EXPECT_EQ(simulate(c, options).plan.text, looked);
  }
  for (const int ranks : {0, 1, 2, 4}) {  // 0: on a GPU
    if (ranks == 0 && !has_gpu) continue;
    for (const Effort effort : {Effort::kOnce, Effort::kRepeated, Effort::kAuto}) {
      Options options;
      options.device = ranks == 0 ? DeviceSet::cuda({0}) : DeviceSet::cpu();
      options.distribution.num_logical_ranks = std::max(ranks, 1);
      options.effort = effort;
      options.probabilities = options.explain = true;
      options.session = std::make_shared<Session>();
      const std::string ran = simulate(c, options).plan.text;
      options.session = std::make_shared<Session>();
      options.dry_run = true;
      EXPECT_EQ(simulate(c, options).plan.text, ran) << ranks << " ranks, " << name_of(effort);
    }
  }
}

}  // namespace
}  // namespace tilewave::simulate
