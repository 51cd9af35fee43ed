// Machines that are described in a file: what crosses their links, and what that takes.
#include "tilewave/simulate/topology.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {
namespace {

// What each level of a machine carries follows from the pairs of an exchange.
TEST(Topology, exchanges_are_priced_by_the_levels_they_cross) {
  const std::string path = ::testing::TempDir() + "topology.txt";
  {
    std::ofstream out(path);
    out << "# two levels\npass 1000\nlevel inner 2 100\nlevel outer 4 10  # three shard bits\n";
  }
  const Topology t = read_topology(path);
  ASSERT_EQ(t.num_ranks(), 8);
  statevec::Plan plan;
  plan.num_qubits = 13;
  plan.shard_bits = 3;
  statevec::Exchange step;
  step.swaps = {{8, 10}, {9, 12}};  // one bit of the inner level, one of the outer
  step.bytes = 8 * 3e9;             // 3 GB out of each rank: 1 GB to each of three others
  plan.exchanges = {step};
  const std::vector<double> sent = price_exchanges(plan, t);
  EXPECT_DOUBLE_EQ(sent[0], 1e9);
  EXPECT_DOUBLE_EQ(sent[1], 2e9);
  EXPECT_DOUBLE_EQ(plan.predicted_s, 0.2);
  for (const char* bad :
       {"hidden 2", "level a 3 100", "level a 4", "links 4", "pass -1", "level a 2 1 2", ""}) {
    std::ofstream(path) << bad << "\n";
    SCOPED_TRACE(bad);
    expect_error([&] { read_topology(path); }, path, ExitCode::kInput);
  }
}

// Ten families at 32 qubits, FP64, arbitrary input, on one and two H200 (docs/many.md).
TEST(Topology, predicts_what_was_measured) {
  const std::string path = ::testing::TempDir() + "two_gpus.txt";
  std::ofstream(path) << "level nvlink 2 343\n";
  const Topology two = read_topology(path);
  statevec::CostModel one = two.cost;
  one.shard_bits = 0;
  one.bandwidth /= 2;
  for (double* s : {&one.lift_s, &one.flip_s, &one.rotate_s, &one.phase_s, &one.multiply_s})
    *s *= 2;
  const struct {
    const char* family;
    double one_ms, two_ms;
  } measured[] = {{"qft", 136, 119},
                  {"invqft", 146, 94},
                  {"ghz", 116, 91},
                  {"ghz_qft", 225, 180},
                  {"random", 398, 209},
                  {"supremacy", 654, 355},
                  {"quantum_volume", 953, 538},
                  {"ising", 584, 320},
                  {"qaoa", 313, 196}};
  std::printf("| circuit | 1 GPU (model) | 2 GPUs (model) | 1 to 2 (model) |\n");
  for (const auto& m : measured) {
    const circuit::Circuit c = circuit::make_family(m.family, 32);
    statevec::PlanOptions options;
    options.cost = one;
    const double one_ms = 1e3 * statevec::make_plan(c, options).predicted_s;
    options.cost = two.cost;
    statevec::Plan plan = statevec::make_plan(c, options);
    price_exchanges(plan, two);
    const double two_ms = 1e3 * plan.predicted_s;
    std::printf("| %s | %.0f (%.0f) | %.0f (%.0f) | %.2f (%.2f) |\n", m.family, m.one_ms, one_ms,
                m.two_ms, two_ms, m.one_ms / m.two_ms, one_ms / two_ms);
    EXPECT_NEAR(one_ms / m.one_ms, 1, 0.15) << m.family;
    EXPECT_NEAR(two_ms / m.two_ms, 1, 0.15) << m.family;
  }
}

}  // namespace
}  // namespace tilewave::simulate
