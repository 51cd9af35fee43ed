// Every rewrite of plans, forced and forbidden in turn: plans have it or not, and give the state of
// the circuit either way.
#include "tilewave/statevec/plan/rewrites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tilewave/base/seeds_test.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

// Rows that move between gates of one and two qubits.
circuit::Circuit any_circuit(int num_qubits, std::mt19937_64& random) {
  using circuit::GateId;
  circuit::Circuit c(static_cast<std::uint32_t>(num_qubits));
  const auto n = static_cast<std::uint64_t>(num_qubits);
  for (int part = 0; part < 3; ++part) {
    const bool only_moves = random() % 2;
    for (std::uint64_t k = random() % 40; k > 0; --k) {
      const auto a = static_cast<circuit::Qubit>(random() % n);
      const auto b = static_cast<circuit::Qubit>((a + 1 + random() % (n - 1)) % n);
      const double angle = 0.1 + 0.2 * static_cast<double>(random() % 9);
      switch (only_moves ? 5 : random() % 6) {
        case 0:
          c.add_gate(GateId::kCz, {a, b});
          break;
        case 1:
          c.add_gate(GateId::kX, {a});
          break;
        case 2:
        case 3:
          c.add_gate(GateId::kRx, {a}, {angle});
          break;
        default:
          c.add_gate(GateId::kCx, {a, b});
      }
    }
  }
  return c;
}

double price(const Plan&, const Pass& pass, const CostModel&) {
  return 1 + static_cast<double>(pass.active.size());
}

Rewrites checked_rewrites(const circuit::Circuit& c, const PlanOptions& options,
                          std::mt19937_64& random) {
  const auto ran = testing::run_planned(c, options, random, [](const Plan&) {});
  EXPECT_LT(ran.difference, 1e-11) << explain(ran.plan);
  return ran.plan.rewrites;
}

TEST(Rewrites, forced_and_forbidden_plans_give_the_same_state) {
  for (int k = 0; k < kNumRewrites; ++k) {
    const auto rewrite = static_cast<Rewrite>(k);
    SCOPED_TRACE(name_of(rewrite));
    const bool of_ranks = rewrite == Rewrite::kDeferred || rewrite == Rewrite::kHandedOver;
    const bool of_moves = rewrite == Rewrite::kMergedMoves || rewrite == Rewrite::kTakenMoves;
    int forced = 0, forbidden = 0;
    for_each_seed(of_moves ? 400 : 60, [&](std::uint64_t, std::mt19937_64& random) {
      const int n = 8 + static_cast<int>(random() % 3);
      const circuit::Circuit c = any_circuit(n, random);
      PlanOptions options = testing::tile_options(5, 1);
      options.cost.bandwidth = 1e5;
      options.restore_layout = random() % 2;
      testing::begin_anywhere(options, n, random);
      if (of_ranks) {
        options.cost.shard_bits = 1 + static_cast<int>(random() % 2);
      } else if (of_moves || rewrite == Rewrite::kSmallTile) {
        options.cost.price = price;
        options.cost.move_positions = n;
        options.cost.small_tile_qubits = 3;
      } else {
        options.cost.wide_tile_qubits = 6;
        options.cost.wide_bandwidth = 1e5;
        options.cost.mixed_tiles = true;
      }
      options.rewrites = {{rewrite}, {}};
      if (rewrite == Rewrite::kNarrowed || rewrite == Rewrite::kOneMore)
        options.rewrites.forced.add(Rewrite::kSearched);
      forced += checked_rewrites(c, options, random).has(rewrite);
      options.rewrites = {{}, {rewrite}};
      forbidden += checked_rewrites(c, options, random).has(rewrite);
    });
    EXPECT_GT(forced, 10);
    EXPECT_EQ(forbidden, 0);
  }
}

}  // namespace
}  // namespace tilewave::statevec
