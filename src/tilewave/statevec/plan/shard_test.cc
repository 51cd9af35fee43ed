// Plans for states on several ranks: the same state as gate by gate, passes on local positions
// only, few exchanges.
#include "tilewave/statevec/plan/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include <pthread.h>

#include "tilewave/base/seeds_test.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

void check_shares(const Plan& plan) {
  const int local = plan.num_qubits - plan.shard_bits;
  std::uint32_t before = 0;
  for (const Exchange& step : plan.exchanges) {
    ASSERT_GE(step.before_pass, before);
    ASSERT_LE(step.before_pass, plan.passes.size());
    before = step.before_pass;
    std::uint64_t used = 0;
    for (const auto& [a, b] : step.swaps) {
      ASSERT_LT(a, local);
      ASSERT_GE(b, local);
      ASSERT_EQ(used & (bit(a) | bit(b)), 0u);
      used |= bit(a) | bit(b);
    }
    for (const auto& [a, b] : step.relabels) ASSERT_GE(std::min(a, b), local);
    ASSERT_EQ(step.flips & low_mask(local), 0u);
  }
  for (const Pass& pass : plan.passes) {
    ASSERT_FALSE(pass.active.empty());
    ASSERT_LT(pass.active.back(), local);
    ASSERT_LE(static_cast<int>(pass.active.size()), plan.tile_qubits);
    std::uint64_t active = 0;
    for (int p : pass.active) active |= bit(p);
    ASSERT_EQ(active & low_mask(plan.row_bits), low_mask(plan.row_bits));
    for (const Action& a : pass.actions) ASSERT_EQ(a.target_mask() & ~active, 0u);
  }
}

void check(const circuit::Circuit& c, const PlanOptions& options, std::mt19937_64& random) {
  const auto ran = testing::run_planned(c, options, random, check_shares);
  EXPECT_LT(ran.difference, 1e-11) << explain(ran.plan);
  if (options.restore_layout) {
    EXPECT_TRUE(ran.plan.layout_after.is_identity(static_cast<int>(c.num_qubits())));
  }
}

TEST(Shard, random_circuits_give_the_state_of_their_gates) {
  for_each_seed(400, [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 4 + static_cast<int>(random() % 6);
    const circuit::Circuit c =
        testing::random_circuit(n, 1 + static_cast<int>(random() % 80), random);
    PlanOptions options;
    options.cost.shard_bits = 1 + static_cast<int>(random() % 3);
    int widest = 1;
    for (const circuit::Op& op : c.ops())
      widest = std::max(widest, static_cast<int>(c.qubits(op).size()));
    options.cost.shard_bits = std::min(options.cost.shard_bits, n - widest);
    if (options.cost.shard_bits < 1) return;
    options.cost.row_bits = static_cast<int>(random() % 3);
    options.cost.tile_qubits = std::max(5, options.cost.row_bits + 4);
    options.from_zeros = random() % 2;
    options.restore_layout = random() % 3 == 0;
    if (!options.from_zeros) testing::begin_anywhere(options, n, random);
    check(c, options, random);
  });
}

// Of the qubits that leave together, those that are back soonest are on the lowest shard positions,
// whose links are the fastest where they differ.
TEST(Shard, what_comes_back_soonest_is_on_the_lowest_shard_position) {
  int compared = 0;
  for_each_seed(60, [&](std::uint64_t, std::mt19937_64& random) {
    PlanOptions options;
    options.cost.shard_bits = 3;
    const Plan plan = make_plan(testing::random_circuit(10, 120, random), options);
    for (std::size_t e = 0; e < plan.exchanges.size(); ++e) {
      std::vector<std::pair<int, std::size_t>> back;  // shard position, exchange
      for (const auto& [a, b] : plan.exchanges[e].swaps) {
        std::size_t next = e + 1;
        const auto takes = [&, at = int(b)](const Exchange& step) {
          return std::any_of(step.swaps.begin(), step.swaps.end(),
                             [&](const auto& pair) { return pair.second == at; });
        };
        while (next < plan.exchanges.size() && !takes(plan.exchanges[next])) ++next;
        back.emplace_back(b, next);
      }
      std::sort(back.begin(), back.end());
      for (std::size_t k = 1; k < back.size(); ++k) {
        EXPECT_LE(back[k - 1].second, back[k].second);
        compared += back[k - 1].second != back[k].second;
      }
    }
  });
  EXPECT_GT(compared, 20);
}

TEST(Shard, diagonals_controls_and_flips_on_shard_bits_need_no_exchange) {
  circuit::Circuit c(8);
  for (circuit::Qubit q = 0; q < 6; ++q) c.add_gate(circuit::GateId::kH, {q});
  for (circuit::Qubit q = 0; q < 7; ++q) {
    const double angle = 0.3 + q;
    c.add_gate(circuit::GateId::kX, {7});
    c.add_gate(circuit::GateId::kCp, {q, 7}, {angle});
    c.add_gate(circuit::GateId::kRz, {7}, {angle});
    if (q < 6) c.add_gate(circuit::GateId::kCx, {6 + q % 2, q});
  }
  c.add_gate(circuit::GateId::kSwap, {6, 7});
  PlanOptions options = testing::tile_options(5, 1, 2);
  EXPECT_EQ(make_plan(c, options).exchanges.size(), 0u);
  std::mt19937_64 random(3);
  check(c, options, random);
}

// What the search may need at 32 qubits on four ranks, from an arbitrary state.
TEST(Shard, exchanges_at_thirty_two_qubits_stay_few) {
  const std::pair<const char*, std::size_t> kLimits[] = {
      {"qft", 2},    {"ghz", 1},       {"ghz_qft", 2},
      {"random", 2}, {"supremacy", 3}, {"quantum_volume", 3},
      {"ising", 1},  {"qaoa", 2},      {"bv", 1}};
  for (const auto& [family, limit] : kLimits) {
    PlanOptions options = testing::tile_options(12, 3, 2);
    const Plan plan = make_plan(circuit::make_family(family, 32), options);
    check_shares(plan);
    const auto moving = std::count_if(plan.exchanges.begin(), plan.exchanges.end(),
                                      [](const Exchange& step) { return step.bytes > 0; });
    EXPECT_LE(static_cast<std::size_t>(moving), limit) << family;
  }
}

// What a segment has left over runs behind the exchange where it fits: two ranks need about the
// passes that one needs. Greedy plans, for the search for fewer passes has more to choose from
// where nothing is exchanged.
TEST(Shard, exchanges_cost_few_passes) {
  for (const auto family : circuit::family_names()) {
    for (const int bits : {1, 2}) {
      PlanOptions options = testing::tile_options(12, 3);
      options.cost.exposed = 0;  // a pass less saves nothing: no search
      const circuit::Circuit c = circuit::make_family(family, 32);
      const std::size_t one = make_plan(c, options).passes.size();
      options.cost.shard_bits = bits;
      EXPECT_LE(make_plan(c, options).passes.size(), one + 1) << family << " " << bits;
    }
  }
}

// What ranks search for beside, they use only where it saves passes.
TEST(Shard, searched_plans_have_no_more_passes_than_greedy_ones) {
  int fewer = 0;
  for (const auto family : circuit::family_names()) {
    const circuit::Circuit c = circuit::make_family(family, 32);
    for (const int bits : {1, 2, 3}) {
      PlanOptions options = testing::tile_options(12, 3, bits);
      const Plan searched = make_plan(c, options);
      check_shares(searched);
      options.cost.exposed = 0;  // a pass less saves nothing: no search
      const std::size_t greedy = make_plan(c, options).passes.size();
      EXPECT_LE(searched.passes.size(), greedy) << family << " " << bits;
      fewer += searched.passes.size() < greedy;
    }
  }
  EXPECT_GT(fewer, 0);
}

// Slices lie beside what the passes around an exchange touch; what they hide is not counted.
TEST(Shard, passes_hide_exchanges) {
  for (const auto family : circuit::family_names()) {
    PlanOptions options = testing::tile_options(12, 3, 1);
    const circuit::Circuit c = circuit::make_family(family, 32);
    const double apart_s = make_plan(c, options).predicted_s;
    options.cost.overlap = {3, 32, 0.5};
    EXPECT_EQ(make_plan(c, options).predicted_s, apart_s) << "31 local qubits are too few";
    options.cost.overlap.min_local_qubits = 24;
    const Plan plan = make_plan(c, options);
    double hidden = 0;
    std::size_t done = 0;
    for (const Exchange& step : plan.exchanges) {
      const Around around = slices_around(plan, step, done, 3);
      ASSERT_EQ(std::popcount(around.mask), 3) << family;
      ASSERT_LE(done, around.first);
      ASSERT_LE(around.first, step.before_pass);
      ASSERT_GE(around.last, step.before_pass);
      double beside_s = 0;
      for (std::size_t p = around.first; p < around.last; ++p) {
        beside_s += plan.passes[p].predicted_s;
        for (const int a : plan.passes[p].active) ASSERT_FALSE(around.mask >> a & 1);
      }
      for (const auto& [a, b] : step.swaps) ASSERT_FALSE(around.mask >> a & 1);
      hidden += 0.5 * std::min(beside_s, step.predicted_s);
      done = around.last;
    }
    EXPECT_NEAR(plan.predicted_s, apart_s - hidden, 1e-9 * apart_s) << family;
  }
}

// What a circuit of very many passes takes of the stack must not grow with them.
TEST(Shard, deep_circuits_need_no_deep_stack) {
  const auto plan_them = [](void*) -> void* {
    constexpr int kWires = 12, kActions = 40000;
    std::vector<detail::Need> needs;  // each holds back the next
    for (int k = 0; k < kActions; ++k)
      needs.push_back({.x = bit(k % kWires), .z = bit((k + 1) % kWires)});
    const detail::ScheduleOptions passes{.num_wires = kWires, .tile = 3, .first_row = low_mask(2)};
    EXPECT_GE(detail::schedule(needs, passes).size(), kActions / 3);
    const detail::ShardOptions shards{
        .num_wires = kWires, .shard_bits = 1, .remote = bit(kWires - 1)};
    EXPECT_GE(detail::split_shards(needs, shards).size(), kActions / kWires);
    return nullptr;
  };
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, plan_them, nullptr), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Shard, too_many_ranks_are_an_error) {
  circuit::Circuit c(3);
  c.add_gate(circuit::GateId::kH, {0});
  PlanOptions options;
  options.cost.shard_bits = 3;
  expect_error([&] { make_plan(c, options); }, "at most 4", ExitCode::kUsage);
}

}  // namespace
}  // namespace tilewave::statevec
