#include "tilewave/statevec/cuda/program_store.h"

#include <gtest/gtest.h>

namespace tilewave::statevec::cuda {
namespace {

ProgramStore::Plan programs(std::size_t code_bytes) {
  tile::TilePass one;
  one.code.resize(code_bytes);
  ProgramStore::Plan plan;
  plan.programs = {{one}};
  return plan;
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
  store.clear();
  EXPECT_EQ(store.num_bytes(), 0u);
  EXPECT_FALSE(store.find(4));
}

// Plans of a large state in the workspace of a small one: they are there again for the next large one.
TEST(ProgramStore, finds_what_there_is_room_for) {
  ProgramStore store(1 << 20);
  store.keep(1, programs(1000));
  EXPECT_FALSE(store.find(1, 1000));
  EXPECT_TRUE(store.find(1, 1000 + kProgramPadding));
  ProgramStore::Plan plan = programs(1000);
  plan.compiled = {{{programs(5000).programs[0][0], {}}}};
  store.keep(1, plan);
  EXPECT_FALSE(store.find(1, 5000));
  EXPECT_TRUE(store.find(1, 6000));
}

// What both together are too much for: those of compiled kernels go, and the plan stays final, so
// that nobody writes them again in every run.
TEST(ProgramStore, compiled_programs_that_do_not_fit_are_left_out) {
  ProgramStore store(3000 + 2 * sizeof(CompiledPass));
  const auto with_compiled = [](std::size_t code_bytes) {
    ProgramStore::Plan plan = programs(1000);
    plan.compiled = {{{programs(code_bytes).programs[0][0], {}}}};
    plan.is_final = true;
    return plan;
  };
  EXPECT_EQ(store.keep(1, with_compiled(1000))->compiled.size(), 1u);
  const auto kept = store.keep(1, with_compiled(3000));
  ASSERT_TRUE(kept);
  EXPECT_EQ(store.find(1), kept);
  EXPECT_EQ(kept->programs.size(), 1u);
  EXPECT_TRUE(kept->compiled.empty());
  EXPECT_TRUE(kept->is_final);
  EXPECT_LE(store.num_bytes(), store.most_bytes());
}

}  // namespace
}  // namespace tilewave::statevec::cuda
