#include "tilewave/statevec/cuda/program_store.h"

#include <gtest/gtest.h>

namespace tilewave::statevec::cuda {
namespace {

ProgramStore::Plan programs(std::size_t code_bytes) {
  tile::TilePass one;
  one.code.resize(code_bytes);
  return {{{one}}, {}};
}

// Within the bytes: what was used longest ago goes, what is too long is not kept.
TEST(ProgramStore, KeepsWhatWasUsedLast) {
  const std::size_t each = 1000 + 2 * sizeof(tile::TilePass);
  ProgramStore store(3 * each);
  for (const std::uint64_t key : {1, 2, 3}) store.keep(key, programs(1000));
  EXPECT_LE(store.num_bytes(), store.most_bytes());
  ASSERT_TRUE(store.find(1));
  EXPECT_EQ(store.find(1)->programs.at(0).at(0).code.size(), 1000u);
  const auto held = store.find(2);
  store.find(1);
  store.keep(4, programs(each));
  EXPECT_FALSE(store.find(3));
  EXPECT_TRUE(store.find(1));
  EXPECT_TRUE(store.find(4));
  EXPECT_EQ(held->programs.at(0).at(0).code.size(), 1000u);  // who has them keeps them
  store.keep(5, programs(4 * each));
  EXPECT_FALSE(store.find(5));
  EXPECT_TRUE(store.find(4));
  store.keep(4, programs(10));  // known: the later ones
  EXPECT_EQ(store.find(4)->programs.at(0).at(0).code.size(), 10u);
  EXPECT_LE(store.num_bytes(), store.most_bytes());
  EXPECT_EQ(store.num_final(4), 0u);
  store.keep(4, programs(10), 1);
  EXPECT_EQ(store.num_final(4), 1u);
  EXPECT_FALSE(store.is_prepared(4) || store.is_prepared(7));
  store.keep(4, programs(10), 1, true);
  EXPECT_TRUE(store.is_prepared(4));
  store.keep(6, programs(2 * each));
  store.keep(7, programs(each));  // 4 goes, and is to be prepared again
  EXPECT_FALSE(store.is_prepared(4));
  store.keep(4, programs(10), 1);
  store.clear();
  EXPECT_EQ(store.num_final(4), 0u);
  EXPECT_EQ(store.num_bytes(), 0u);
  EXPECT_FALSE(store.find(4));
}

// What both together are too much for: those of compiled kernels go, and the plan counts as final,
// so that nobody writes them again in every run.
TEST(ProgramStore, compiled_programs_that_do_not_fit_are_left_out) {
  ProgramStore store(3000 + 2 * sizeof(tile::TilePass));
  ProgramStore::Plan plan = programs(1000);
  plan.compiled = programs(1000).programs;
  store.keep(1, plan, 1);
  EXPECT_EQ(store.find(1)->compiled.size(), 1u);
  plan.compiled = programs(3000).programs;
  store.keep(1, plan, 1);
  ASSERT_TRUE(store.find(1));
  EXPECT_EQ(store.find(1)->programs.size(), 1u);
  EXPECT_TRUE(store.find(1)->compiled.empty());
  EXPECT_EQ(store.num_final(1), 1u);
  EXPECT_LE(store.num_bytes(), store.most_bytes());
}

}  // namespace
}  // namespace tilewave::statevec::cuda
