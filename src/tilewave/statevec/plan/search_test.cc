#include "tilewave/statevec/plan/search.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/families.h"
#include "tilewave/statevec/plan/lower.h"

namespace tilewave::statevec::detail {
namespace {

bool hold_each_other_back(const Need& a, const Need& b) {
  return (a.x & (b.x | b.z)) != 0 || (a.z & b.x) != 0;
}

// Every action once, targets active, what does not commute in order, and a row kept from pass to
// pass.
void check(const std::vector<Need>& needs, const ScheduleOptions& options,
           const std::vector<WirePass>& passes) {
  const int row = std::popcount(options.first_row);
  std::vector<int> pass_of(needs.size(), -1);
  std::uint64_t before = options.first_row;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const WirePass& pass = passes[p];
    ASSERT_LE(std::popcount(pass.active), options.tile);
    ASSERT_EQ(pass.active & ~options.wires, 0u);
    ASSERT_EQ(pass.row & ~(pass.active & before), 0u);
    ASSERT_EQ(std::popcount(pass.row), row);
    ASSERT_EQ(options.fixed & ~pass.active, 0u);
    before = pass.active;
    for (std::size_t k = 0; k < pass.actions.size(); ++k) {
      const std::uint32_t action = pass.actions[k];
      ASSERT_EQ(pass_of[action], -1);
      pass_of[action] = static_cast<int>(p);
      ASSERT_EQ(needs[action].x & ~pass.active, 0u);
      if (k > 0) {
        ASSERT_LT(pass.actions[k - 1], action);
      }
    }
  }
  for (std::size_t b = 0; b < needs.size(); ++b) {
    ASSERT_GE(pass_of[b], 0);
    for (std::size_t a = 0; a < b; ++a) {
      if (hold_each_other_back(needs[a], needs[b])) {
        ASSERT_LE(pass_of[a], pass_of[b]);
      }
    }
  }
}

std::vector<Need> random_needs(std::mt19937_64& random, std::uint64_t wires, std::size_t count) {
  const auto any = [&] {
    std::uint64_t left = wires;
    for (auto k = random() % static_cast<std::uint64_t>(std::popcount(wires)); k > 0; --k) {
      left &= left - 1;
    }
    return left & (~left + 1);
  };
  std::vector<Need> needs;
  for (std::size_t k = 0; k < count; ++k) {
    Need need;
    switch (random() % 6) {
      case 0:  // phases
      case 1:
        need.z = any() | any() | (random() % 3 ? 0 : any());
        need.weight = 0.05f;
        break;
      case 2:  // under controls
        need.x = any();
        need.z = (any() | any()) & ~need.x;
        break;
      case 3:
        need.x = any() | any();
        need.weight = 4;
        break;
      default:
        need.x = any();
    }
    needs.push_back(need);
  }
  return needs;
}

ScheduleOptions options_of(int num_wires, int tile, int row, std::uint64_t steps) {
  ScheduleOptions options;
  options.num_wires = num_wires;
  options.tile = tile;
  options.first_row = low_mask(row);
  options.search_steps = steps;
  return options;
}

TEST(Search, schedules_of_random_actions_are_valid_and_no_longer) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int shorter = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int num_wires = 9 + static_cast<int>(random() % 10);
    const int row = static_cast<int>(random() % 3);
    const int tile = row + 3 + static_cast<int>(random() % 3);
    ScheduleOptions options = options_of(num_wires, tile, row, 8000);
    if (random() % 2) options.narrow_tile = options.tile - 1;
    if (random() % 3 == 0) options.wires = ~(std::uint64_t{3} << (options.num_wires - 3));
    if (random() % 4 == 0) options.near = random();
    if (random() % 4 == 0) options.fixed = bit(row);
    const std::uint64_t wires = low_mask(options.num_wires) & options.wires;
    const auto needs = random_needs(random, wires, 40 + random() % 160);
    const auto greedy = schedule(needs, options);
    check(needs, options, greedy);
    const auto [found, before] = fewer_passes(needs, options, greedy);
    check(needs, options, found);
    if (!before.empty()) {
      check(needs, options, before);
      EXPECT_GT(before.size(), found.size());
    }
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_LE(found.size(), greedy.size());
    shorter += found.size() < greedy.size();
  }
  EXPECT_GT(shorter, 10);
}

TEST(Search, an_action_wider_than_a_pass_may_bring_in_is_the_machine_s_error) {
  const std::vector<Need> wide = {{.x = 0b1111000000}};
  EXPECT_EQ(schedule(wide, options_of(12, 7, 3, 0)).size(), 1u);
  expect_error(
      [&] { schedule(wide, options_of(12, 6, 3, 0)); },
      "a gate changes 4 qubits, and a pass over tiles of 6 qubits with rows of 3 brings in "
      "at most 3",
      ExitCode::kUsage);
}

// The schedule of a family of circuits, given plenty of steps.
std::size_t passes_of(const char* family, int num_qubits, int tile, int row, std::uint64_t steps) {
  const circuit::Circuit c = circuit::make_family(family, static_cast<std::uint32_t>(num_qubits));
  const Lowered lowered = lower(c, c.ops(), 0, 0, CostModel{});
  const std::vector<Need> needs = needs_of(lowered);
  const ScheduleOptions options = options_of(num_qubits, tile, row, steps);
  const auto passes = fewer_passes(needs, options, schedule(needs, options)).passes;
  check(needs, options, passes);
  return passes.size();
}

TEST(Search, finds_plans_that_greed_does_not) {
  EXPECT_EQ(passes_of("random", 30, 13, 4, 0), 6u);
  EXPECT_EQ(passes_of("random", 30, 13, 4, 100'000), 5u);
  EXPECT_EQ(passes_of("supremacy", 30, 13, 4, 0), 10u);
  EXPECT_LE(passes_of("supremacy", 30, 13, 4, 100'000), 9u);
  EXPECT_EQ(passes_of("qft", 30, 12, 3, 100'000), 3u);  // as few as any plan can have
}

TEST(Search, is_the_same_for_any_number_of_threads) {
  std::mt19937_64 random(11);
  const ScheduleOptions options = options_of(16, 7, 2, 8000);
  const auto needs = random_needs(random, low_mask(16), 150);
  const auto greedy = schedule(needs, options);
  const int threads = omp_get_max_threads();
  std::vector<std::uint64_t> sets[3];
  for (int k = 0; k < 3; ++k) {
    omp_set_num_threads(k == 0 ? 1 : k == 1 ? 2 : 7);
    for (const WirePass& pass : fewer_passes(needs, options, greedy).passes) {
      sets[k].push_back(pass.active);
    }
  }
  omp_set_num_threads(threads);
  EXPECT_EQ(sets[0], sets[1]);
  EXPECT_EQ(sets[0], sets[2]);
}

TEST(Search, remembered_schedules_are_those_found_first) {
  std::mt19937_64 random(12);
  PlanMemory memory;
  const ScheduleOptions options = options_of(14, 6, 2, 6000);
  for (int trial = 0; trial < 5; ++trial) {
    const auto needs = random_needs(random, low_mask(14), 100);
    const auto first = find_schedule(needs, options, &memory),
               again = find_schedule(needs, options, &memory);
    check(needs, options, first);
    ASSERT_EQ(first.size(), again.size());
    for (std::size_t p = 0; p < first.size(); ++p) {
      EXPECT_EQ(first[p].active, again[p].active);
      EXPECT_EQ(first[p].actions, again[p].actions);
    }
    auto other = needs;
    other[50].x = other[50].x ? std::rotl(other[50].x, 1) & low_mask(14) : 1;
    if (!other[50].x) other[50].x = 1;
    other[50].z &= ~other[50].x;
    check(other, options, find_schedule(other, options, &memory));
  }
}

}  // namespace
}  // namespace tilewave::statevec::detail
