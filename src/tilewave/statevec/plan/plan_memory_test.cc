#include "tilewave/statevec/plan/plan_memory.h"

#include <gtest/gtest.h>

namespace tilewave::statevec {
namespace {

PlanMemory::Needs needs_of(std::uint64_t number, std::size_t size) {
  PlanMemory::Needs needs(size);
  for (std::size_t k = 0; k < size; ++k) needs[k] = {.x = number + k, .z = number, .weight = 1};
  return needs;
}

TEST(PlanMemory, finds_what_is_equal_and_nothing_else) {
  PlanMemory memory;
  detail::ScheduleOptions options;
  options.tile = 5;
  const auto a = needs_of(1, 10), b = needs_of(2, 10);
  memory.keep_schedule(a, options, {1, 2, 3});
  memory.keep_way(a, {7, 8}, {{.wide = true}, true});
  EXPECT_EQ(memory.find_schedule(a, options), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_FALSE(memory.find_schedule(b, options));
  options.tile = 6;
  EXPECT_FALSE(memory.find_schedule(a, options));
  ASSERT_TRUE(memory.find_way(a, {7, 8}));
  EXPECT_TRUE(memory.find_way(a, {7, 8})->way.wide);
  EXPECT_FALSE(memory.find_way(a, {7, 9}));
  EXPECT_FALSE(memory.find_way(b, {7, 8}));
  memory.keep_way(a, {7, 8}, {{}, false});
  EXPECT_FALSE(memory.find_way(a, {7, 8})->is_final);
  memory.clear();
  EXPECT_FALSE(memory.find_way(a, {7, 8}));
  EXPECT_EQ(memory.num_bytes(), 0u);
}

TEST(PlanMemory, stays_within_its_bounds_and_keeps_what_was_used_last) {
  PlanMemory memory;
  const detail::ScheduleOptions options;
  const auto first = needs_of(1, 3000);
  memory.keep_schedule(first, options, {1});
  for (std::uint64_t k = 2; k < 3000; ++k) {
    memory.keep_schedule(needs_of(k * 10000, 3000), options, {k});
    ASSERT_TRUE(memory.find_schedule(first, options)) << k;
  }
  EXPECT_LT(memory.num_bytes(), 60u << 20);
  EXPECT_FALSE(memory.find_schedule(needs_of(20000, 3000), options));
  memory.keep_schedule(needs_of(5, 30000), options, {1});  // too many for one
  EXPECT_FALSE(memory.find_schedule(needs_of(5, 30000), options));
}

}  // namespace
}  // namespace tilewave::statevec
