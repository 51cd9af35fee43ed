#include "tilewave/statevec/plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "tilewave/base/seeds_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/testing/reference.h"

namespace tilewave::statevec {
namespace {

// Tiles of 13 qubits in memory so slow that passes count more than arithmetic.
PlanOptions costly_passes() {
  PlanOptions options = testing::tile_options(13, 3);
  options.cost.bandwidth = 1e9;
  return options;
}

// Rows change places, nothing else.
bool only_moves(const Plan& plan, const Pass& pass) {
  const auto is_of_rows = [&](const Action& a) {
    return a.kind == ActionKind::kFlip && std::has_single_bit(a.control_mask) &&
           !((a.control_mask | a.target_mask()) & low_mask(plan.row_bits));
  };
  bool row_stays = true;
  for (int p = 0; p < plan.row_bits; ++p) row_stays &= pass.dest[p] == p;
  return row_stays && !pass.known_zero_before &&
         std::all_of(pass.actions.begin(), pass.actions.end(), is_of_rows);
}

// Passes that only move rows may change or look at `most_moved` positions.
void check_structure(const Plan& plan, int most_moved = 0) {
  for (const Pass& pass : plan.passes) {
    std::uint64_t active = 0, dest = 0;
    for (int p : pass.active) active |= bit(p);
    for (int p : pass.dest) dest |= bit(p);
    ASSERT_EQ(active, dest);
    ASSERT_EQ(pass.active.size(), pass.dest.size());
    ASSERT_TRUE(std::is_sorted(pass.active.begin(), pass.active.end()));
    if (static_cast<int>(pass.active.size()) > plan.tile_qubits) {
      ASSERT_TRUE(only_moves(plan, pass));
      std::uint64_t moved = active & ~low_mask(plan.row_bits);
      for (const Action& a : pass.actions) moved |= a.control_mask;
      ASSERT_LE(std::popcount(moved), most_moved);
    }
    ASSERT_EQ(active & low_mask(plan.row_bits), low_mask(plan.row_bits));
    ASSERT_GT(std::abs(pass.scale), plan.precision == Precision::kSingle ? 0x1p-100 : 0x1p-910);
    for (const Action& a : pass.actions) {
      ASSERT_EQ(a.target_mask() & ~active, 0u);
      ASSERT_EQ(a.target_mask() & a.control_mask, 0u);
      if (a.kind == ActionKind::kLift) {
        ASSERT_LE(std::abs(a.m[0]), 1.0 + 1e-15);
      }
    }
  }
}

// Every plan gives the state that the circuit gives gate by gate.
void check(const circuit::Circuit& c, const PlanOptions& options, std::mt19937_64& random,
           const char* what) {
  SCOPED_TRACE(what);
  const auto ran = testing::run_planned(c, options, random, [&](const Plan& plan) {
    check_structure(plan, options.cost.move_positions);
  });
  EXPECT_LT(ran.difference, 1e-11) << explain(ran.plan);
  if (options.restore_layout) {
    EXPECT_TRUE(ran.plan.layout_after.is_identity(static_cast<int>(c.num_qubits())));
  }
}

TEST(Planner, random_circuits_give_the_state_of_their_gates) {
  std::size_t num_wide = 0, num_narrow = 0;  // of plans that may have both
  for_each_seed(300, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = 1 + static_cast<int>(random() % 8);
    const circuit::Circuit c =
        testing::random_circuit(n, 1 + static_cast<int>(random() % 60), random);
    PlanOptions options;
    options.cost.row_bits = static_cast<int>(random() % 3);
    options.cost.tile_qubits = std::max(5, options.cost.row_bits + 4);
    options.from_zeros = random() % 2;
    options.restore_layout = random() % 3 == 0;
    if (!options.from_zeros) testing::begin_anywhere(options, n, random);
    if (seed % 2) {  // larger tiles for all passes, or for those that need them
      options.cost.wide_tile_qubits = options.cost.tile_qubits + 1;
      options.cost.wide_bandwidth = 1e3 * options.cost.bandwidth;
      options.cost.mixed_tiles = seed % 4 == 1;
    }
    check(c, options, random, "random circuit");
    if (::testing::Test::HasFailure()) return;
    if (!options.cost.mixed_tiles) return;
    const Plan plan = make_plan(c, options);
    if (plan.tile_qubits < options.cost.wide_tile_qubits) return;
    for (const Pass& pass : plan.passes) {
      ++(static_cast<int>(pass.active.size()) == plan.tile_qubits ? num_wide : num_narrow);
    }
  });
  EXPECT_GT(num_wide, 4u);
  EXPECT_GT(num_narrow, 4u);
}

// Products of gates that are almost diagonal, or almost X: entries that are rounding have any
// angle.
TEST(Planner, angles_near_zero) {
  using circuit::GateId;
  static constexpr GateId kGates[] = {GateId::kU2, GateId::kU3, GateId::kRy,  GateId::kRx,
                                      GateId::kRz, GateId::kH,  GateId::kSy,  GateId::kCry,
                                      GateId::kCp, GateId::kCx, GateId::kCu3, GateId::kR};
  for_each_seed(200, [&](std::uint64_t, std::mt19937_64& random) {
    const std::uint64_t n = 2 + random() % 4;
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    for (int k = 0; k < 40; ++k) {
      const circuit::GateInfo& gate = circuit::gate_info(kGates[random() % std::size(kGates)]);
      const auto a = static_cast<circuit::Qubit>(random() % n);
      const auto b = static_cast<circuit::Qubit>((a + 1 + random() % (n - 1)) % n);
      std::vector<double> params(static_cast<std::size_t>(gate.num_params));
      for (double& p : params) {
        p = std::pow(10, -static_cast<double>(random() % 18)) * (random() % 2 ? 1 : -1);
      }
      const circuit::Qubit qubits[] = {a, b};
      const auto arity = static_cast<std::size_t>(gate.num_controls + gate.num_targets);
      c.add_controlled_gate(gate.id, {}, 0, std::span(qubits).first(arity), params);
    }
    check(c, {}, random, "angles near zero");
  });
}

std::size_t num_lifts(const circuit::Circuit& c) {
  const Plan plan = make_plan(c, {});
  std::size_t lifts = 0;
  for (const Pass& pass : plan.passes) {
    for (const Action& a : pass.actions) lifts += a.kind == ActionKind::kLift;
  }
  return lifts;
}

// H before and after gates that turn into others between them.
TEST(Planner, hadamards_cancel_around_cx_and_cz) {
  using circuit::GateId;
  static constexpr GateId kGates[] = {GateId::kH,  GateId::kH,  GateId::kH,  GateId::kH,
                                      GateId::kCx, GateId::kCx, GateId::kCz, GateId::kCz,
                                      GateId::kX,  GateId::kS,  GateId::kRy};
  for_each_seed(200, [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 2 + static_cast<int>(random() % 6);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    testing::add_drawn_gates(c, 40, kGates, random);
    PlanOptions options = testing::tile_options(5, 1);
    options.from_zeros = random() % 2;
    if (!options.from_zeros) options.layout.flips = random() & low_mask(n);
    check(c, options, random, "many H");
  });
  EXPECT_EQ(num_lifts(circuit::make_family("bv", 12)), 1u);  // the ancilla stays in |->
  circuit::Circuit cz(2);
  cz.add_gate(GateId::kT, {1});
  cz.add_gate(GateId::kH, {1});
  cz.add_gate(GateId::kCx, {0, 1});
  cz.add_gate(GateId::kH, {1});
  EXPECT_EQ(num_lifts(cz), 0u);
}

TEST(Planner, every_gate_alone_on_every_order_of_qubits) {
  std::mt19937_64 random(5);
  for (const circuit::GateInfo& g : circuit::gate_table()) {
    const int arity = g.num_controls + g.num_targets;
    std::vector<circuit::Qubit> order = {0, 1, 2, 3, 4, 5};
    do {
      circuit::Circuit c(6);
      std::vector<double> params;
      for (int k = 0; k < g.num_params; ++k) params.push_back(0.3 + 0.7 * k);
      c.add_gate(g.id, std::span(order).first(arity), params);
      PlanOptions options = testing::tile_options(5, 1);
      check(c, options, random, g.name.data());
      if (::testing::Test::HasFailure()) return;
      std::reverse(order.begin() + arity, order.end());
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// A plan may not need more passes than a plain greedy planner of whole gates needs with 12 active
// qubits and rows of 128 bytes.
TEST(Planner, long_passes_stay_in_the_range_of_the_numbers) {
  std::mt19937_64 random(7);
  circuit::Circuit c(6);
  for (int k = 0; k < 3000; ++k) {
    const auto q = static_cast<circuit::Qubit>(random() % 6);
    c.add_gate(circuit::GateId::kH, {q});
    c.add_gate(circuit::GateId::kT, {q});
    const circuit::Qubit control = (q + 1) % 6;
    c.add_controlled_gate(circuit::GateId::kX, {&control, 1}, 1, {&q, 1});
  }
  for (Precision precision : {Precision::kSingle, Precision::kDouble}) {
    PlanOptions options;
    options.precision = precision;
    check(c, options, random, "a long circuit");
  }
}

// With a memory, the plan of a circuit of this structure is searched for the second time, and
// stays.
TEST(Planner, circuits_that_come_again_get_better_plans) {
  const circuit::Circuit c = circuit::make_family("random", 30);
  PlanMemory memory;
  PlanOptions options = costly_passes();
  const auto num_passes = [&](Effort effort, PlanMemory* from) {
    options.effort = effort;
    options.memory = from;
    const Plan plan = make_plan(c, options);
    check_structure(plan);
    return plan.passes.size();
  };
  const std::size_t greedy = num_passes(Effort::kOnce, nullptr);
  const std::size_t searched = num_passes(Effort::kRepeated, nullptr);
  EXPECT_LT(searched, greedy);
  EXPECT_EQ(num_passes(Effort::kOnce, &memory), greedy);
  const std::size_t first = num_passes(Effort::kAuto, &memory);
  EXPECT_EQ(num_passes(Effort::kAuto, &memory), searched);
  EXPECT_EQ(num_passes(Effort::kAuto, &memory), searched);
  EXPECT_EQ(num_passes(Effort::kOnce, &memory), greedy);
  memory.clear();
  EXPECT_EQ(num_passes(Effort::kAuto, &memory), first);
}

// A plan says what it was chosen from: each candidate is the plan that is made where the choice is
// taken away, and the one that was taken comes first.
TEST(Planner, plans_name_the_candidates_they_were_chosen_from) {
  const circuit::Circuit c = circuit::make_family("random", 30);
  PlanOptions options = costly_passes();
  options.effort = Effort::kRepeated;
  const Plan plan = make_plan(c, options);
  options.rewrites.forbidden.add(Rewrite::kSearched);
  const Plan greedy = make_plan(c, options);
  EXPECT_TRUE(greedy.candidates.empty());  // there was nothing to choose
  ASSERT_EQ(plan.candidates.size(), 2u) << explain(plan);
  EXPECT_TRUE(plan.candidates[0].way.has(Rewrite::kSearched));
  EXPECT_EQ(plan.candidates[0].num_passes, plan.passes.size());
  EXPECT_EQ(plan.candidates[0].predicted_s, plan.predicted_s);
  EXPECT_TRUE(plan.candidates[1].way.empty());
  EXPECT_EQ(plan.candidates[1].num_passes, greedy.passes.size());
  EXPECT_EQ(plan.candidates[1].predicted_s, greedy.predicted_s);
  EXPECT_LT(plan.predicted_s, greedy.predicted_s);
  const std::string text = explain(plan);
  const auto searched = text.find("chosen by predicted time: searched ("),
             other = text.find("; greedy (" + std::to_string(greedy.passes.size()) + " passes, ");
  EXPECT_NE(searched, std::string::npos) << text;
  EXPECT_NE(other, std::string::npos) << text;
  // and still does where the way to make it is remembered
  PlanMemory memory;
  options.rewrites = {};
  options.memory = &memory;
  for (int time = 0; time < 2; ++time) EXPECT_EQ(explain(make_plan(c, options)), text);
}

// Searched plans give the state that the circuit gives gate by gate too.
TEST(Planner, searched_plans_are_right) {
  using circuit::GateId;
  static constexpr GateId kGates[] = {GateId::kRx, GateId::kRx, GateId::kCx, GateId::kCz,
                                      GateId::kRzz};
  for_each_seed(20, std::random_device{}(), [&](std::uint64_t, std::mt19937_64& random) {
    const int n = 9 + static_cast<int>(random() % 3);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    testing::add_drawn_gates(c, 150, kGates, random);
    PlanOptions options = testing::tile_options(5, 1);
    options.cost.bandwidth = 1e5;  // a pass takes as long as one over 30 qubits
    options.cost.search_from_qubits = 0;
    options.cost.wide_tile_qubits = random() % 2 ? 6 : 0;
    options.cost.wide_bandwidth = 1e5;
    options.cost.mixed_tiles = random() % 2;
    options.from_zeros = random() % 2;
    PlanMemory memory;
    options.memory = &memory;
    for (int again = 0; again < 3; ++again) check(c, options, random, "searched");
  });
}

// Larger tiles cost more, passes that only move rows little.
double move_price(const Plan& plan, const Pass& pass, const CostModel&) {
  return only_moves(plan, pass) ? 2 : 1 + static_cast<double>(pass.active.size());
}

TEST(Planner, passes_that_only_move_rows_may_be_wide) {
  using circuit::GateId;
  static constexpr GateId kGates[] = {GateId::kCx, GateId::kCx,   GateId::kCx, GateId::kCx,
                                      GateId::kCx, GateId::kSwap, GateId::kH,  GateId::kX,
                                      GateId::kCz, GateId::kT,    GateId::kCcx};
  static constexpr GateId kFlips[] = {GateId::kCx};
  std::size_t num_wide = 0, num_small = 0;
  for_each_seed(1500, [&](std::uint64_t seed, std::mt19937_64& random) {
    const int n = 7 + static_cast<int>(random() % 4);
    circuit::Circuit c(static_cast<std::uint32_t>(n));
    testing::add_drawn_gates(c, random() % 12, kFlips, random);
    testing::add_drawn_gates(c, random() % 12, kGates, random);
    testing::add_drawn_gates(c, random() % 12, kFlips, random);
    PlanOptions options;
    options.cost.row_bits = 1 + static_cast<int>(random() % 2);
    options.cost.tile_qubits = 5;
    options.cost.move_positions = n - static_cast<int>(random() % 3);
    options.cost.small_tile_qubits = 3 + static_cast<int>(random() % 2);
    options.cost.price = move_price;
    options.from_zeros = random() % 4 == 0;
    options.restore_layout = random() % 3 == 0;
    if (!options.from_zeros) testing::begin_anywhere(options, n, random);
    if (seed % 3) options.layout.flips = 0;
    check(c, options, random, "flips");
    if (::testing::Test::HasFailure()) return;
    const Plan plan = make_plan(c, options);
    double sum = 0;
    for (const Pass& pass : plan.passes) {
      num_wide += static_cast<int>(pass.active.size()) > plan.tile_qubits;
      num_small += static_cast<int>(pass.active.size()) == options.cost.small_tile_qubits;
      EXPECT_EQ(pass.predicted_s, move_price(plan, pass, options.cost));
      sum += pass.predicted_s;
    }
    EXPECT_DOUBLE_EQ(plan.predicted_s, sum);
  });
  EXPECT_GT(num_wide, 100u);
  EXPECT_GT(num_small, 100u);
}

// All but the first gates of a GHZ circuit move rows: one pass for them, however many qubits.
TEST(Planner, a_ghz_circuit_is_two_passes) {
  for (const int n : {24, 30, 33}) {
    PlanOptions options;
    options.cost.tile_qubits = 14;
    options.cost.move_positions = n - 8;
    options.cost.small_tile_qubits = 10;
    options.cost.price = move_price;
    const Plan plan = make_plan(circuit::make_family("ghz", n), options);
    check_structure(plan, options.cost.move_positions);
    ASSERT_EQ(plan.passes.size(), 2u) << n << '\n' << explain(plan);
    EXPECT_EQ(plan.passes[0].active.size(), 10u) << n;
    EXPECT_TRUE(only_moves(plan, plan.passes[1])) << n;
    const auto num_gates = [](const Plan& of) {
      std::uint32_t all = 0;
      for (const Pass& pass : of.passes) all += pass.num_gates;
      return all;
    };
    options.cost.move_positions = 0;
    EXPECT_EQ(num_gates(plan), num_gates(make_plan(circuit::make_family("ghz", n), options)));
  }
}

// Phases stay numbers of turns beside lifts: those of a chain are multiples of one another to the
// last bit, so that rows of a tile have few different factors.
TEST(Planner, equal_phases_stay_equal_beside_lifts) {
  PlanOptions options;
  options.cost.tile_qubits = 8;
  const Plan plan = make_plan(circuit::make_family("ising", 12), options);
  std::uint64_t pair = 0;
  for (const PhaseTerm& t : plan.terms) {
    if (std::popcount(t.mask) != 2) continue;
    if (pair == 0) pair = t.turns;
    EXPECT_EQ(t.turns, pair);
  }
  ASSERT_NE(pair, 0u);
  const std::uint64_t quarter = std::uint64_t{1} << 62, inner = ~pair + 1;
  for (const PhaseTerm& t : plan.terms) {
    if (std::popcount(t.mask) != 1 || t.turns % quarter == 0) continue;
    EXPECT_TRUE((t.turns - inner) % quarter == 0 || (t.turns - inner / 2) % quarter == 0)
        << std::hex << t.turns << " beside " << pair;
  }
}

TEST(Planner, passes_at_thirty_qubits_do_not_exceed_the_greedy_ones) {
  const std::pair<const char*, std::size_t> kLimits[] = {
      {"qft", 3},    {"ghz", 3},        {"ghz_qft", 5},
      {"random", 7}, {"supremacy", 10}, {"quantum_volume", 13},
      {"ising", 6},  {"qaoa", 6},       {"bv", 3}};
  for (const auto& [family, limit] : kLimits) {
    const circuit::Circuit c = circuit::make_family(family, 30);
    PlanOptions options = testing::tile_options(12, 3);
    const Plan plan = make_plan(c, options);
    check_structure(plan);
    EXPECT_LE(plan.passes.size(), limit) << family;
  }
}

}  // namespace
}  // namespace tilewave::statevec
