// Sources of compiled passes: which programs share one, and which operations share code in it.
#include "tilewave/statevec/tile/jit_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "tilewave/circuit/families.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/tile/emulator_test.h"
#include "tilewave/statevec/tile/jit_blocks.h"
#include "tilewave/statevec/tile/random_pass.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {
namespace {

/// What the steps run, as the operations of the program they stand for.
void expect_same_program(const CodeBlocks& blocks, const std::vector<int>& kind,
                         const std::vector<std::uint32_t>& place) {
  std::size_t next = 0;
  for (const CodeBlocks::Step& step : blocks.steps) {
    const CodeBlocks::Block& block = blocks.blocks[step.block];
    const std::uint32_t offset = place[step.first] - place[block.first];
    ASSERT_EQ(step.first, next);
    for (std::size_t k = block.first; k < block.last; ++k, ++next) {
      ASSERT_LT(next, kind.size());
      EXPECT_EQ(kind[k], kind[next]);
      EXPECT_EQ(place[k] + offset, place[next]);
    }
  }
  EXPECT_EQ(next, kind.size());
}

TEST(CodeBlocks, a_short_program_is_one_block) {
  const auto blocks = code_blocks(std::vector<int>{0, 1, 0}, std::vector<std::uint32_t>{0, 32, 64},
                                  std::vector<int>{10, 10}, 30, 30);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->blocks.size(), 1u);
  EXPECT_EQ(blocks->steps.size(), 1u);
}

TEST(CodeBlocks, runs_that_come_again_share_their_code) {
  const std::vector<int> kind = {0, 1, 2, 3, 0, 1, 2, 4, 0, 1, 2};
  std::vector<std::uint32_t> place;
  for (std::uint32_t k = 0; k < kind.size(); ++k) place.push_back(32 * k);
  const auto blocks = code_blocks(kind, place, std::vector<int>(5, 10), 50, 50);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->steps.size(), 5u);  // 012 3 012 4 012
  EXPECT_EQ(blocks->blocks.size(), 3u);
  expect_same_program(*blocks, kind, place);
  EXPECT_FALSE(code_blocks(kind, place, std::vector<int>(5, 10), 109, 49));
}

TEST(CodeBlocks, numbers_at_other_distances_are_another_block) {
  const std::vector<int> kind = {0, 1, 2, 0, 1, 3, 0, 1};
  const std::vector<std::uint32_t> place = {0, 16, 64, 96, 128, 160, 192, 208};
  const auto blocks = code_blocks(kind, place, std::vector<int>(4, 10), 60, 60);
  ASSERT_TRUE(blocks);
  expect_same_program(*blocks, kind, place);
  const auto straight = code_blocks(kind, place, std::vector<int>(4, 10), 80, 60);
  ASSERT_TRUE(straight);
  EXPECT_EQ(straight->steps.size(), 1u) << "fits, if nothing is shared";
}

TEST(CodeBlocks, random_programs_stay_what_they_are) {
  std::mt19937_64 random(5);
  for (int seed = 0; seed < 300; ++seed) {
    const int num_kinds = 1 + static_cast<int>(random() % 12);
    std::vector<int> kind, bytes;
    std::vector<std::uint32_t> place;
    std::uint32_t at = 0;
    int all = 0;
    for (int k = 0; k < num_kinds; ++k)
      bytes.push_back(static_cast<int>(random() % 40)), all += bytes.back();
    const int count = 1 + static_cast<int>(random() % 120);
    for (int k = 0; k < count; ++k) {
      kind.push_back(static_cast<int>(random() % static_cast<unsigned>(num_kinds)));
      at = random() % 30 ? at + (random() % 8 ? 32 : 16) : 0;
      place.push_back(at);
    }
    const int most = all + static_cast<int>(random() % 200);
    const auto blocks = code_blocks(kind, place, bytes, most, most);
    ASSERT_TRUE(blocks) << "seed " << seed;
    expect_same_program(*blocks, kind, place);
    int total = 0;
    for (const CodeBlocks::Block& block : blocks->blocks)
      for (std::size_t k = block.first; k < block.last; ++k)
        total += bytes[static_cast<std::size_t>(kind[k])];
    EXPECT_LE(total, most) << "seed " << seed;
  }
}

Plan plan_of(const char* family, std::uint32_t n, Precision precision) {
  return make_plan(circuit::make_family(family, n), plan_options({13, 5, 4, precision}));
}

// The passes of a plan, written for kernels of their own.
std::vector<TilePass> passes_for_kernels(const Plan& plan, const Shape& shape) {
  std::vector<TilePass> passes;
  for (std::size_t p = 0; p < plan.passes.size(); ++p)
    passes.push_back(lower_pass(plan, p, shape, chunk_limits(shape), 3, true));
  return passes;
}

TEST(JitSource, depends_on_the_structure_alone) {
  const Shape shape{13, 5, 4, Precision::kSingle};
  // the second circuit has other angles in the same places
  circuit::Circuit a(16), b(16);
  for (circuit::Qubit q = 0; q < 12; ++q) {
    a.add_gate(circuit::GateId::kRy, {q}, {0.3 + 0.1 * q});
    b.add_gate(circuit::GateId::kRy, {q}, {0.7 + 0.05 * q});
  }
  std::vector<std::string> sources;
  std::vector<std::vector<std::byte>> numbers;
  for (const circuit::Circuit* c : {&a, &b}) {
    const Plan plan = make_plan(*c, plan_options(shape, false));
    const auto source = jit_source(lower_pass(plan, 0, shape), 2);
    ASSERT_TRUE(source);
    sources.push_back(source->text);
    numbers.push_back(source->numbers);
  }
  EXPECT_EQ(numbers[0].size(), numbers[1].size());
  EXPECT_NE(numbers[0], numbers[1]);
  EXPECT_EQ(sources[0], sources[1]);
  // one more gate is another program
  a.add_gate(circuit::GateId::kRy, {13}, {0.2});
  const Plan plan = make_plan(a, plan_options(shape, false));
  EXPECT_NE(jit_source(lower_pass(plan, 0, shape), 2)->text, sources[0]);
}

TEST(JitSource, arguments_are_numbers_of_the_program_and_not_too_many) {
  const Shape shape{12, 5, 3, Precision::kDouble};
  std::size_t most = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomPassOptions options;
    options.num_qubits = 14;
    options.num_actions = seed % 2 ? 20 : 150;
    options.max_targets = 1;
    options.max_degree = 2;
    options.quarter_turns = seed % 3 == 0;
    std::mt19937_64 random(seed);
    const TilePass pass =
        lower_pass(random_pass(options, random), 0, shape, chunk_limits(shape), 1, true);
    const auto source = jit_source(pass, 3);
    if (!source) continue;
    const std::vector<std::byte>& numbers = source->numbers;
    most = std::max(most, numbers.size());
    EXPECT_LE(numbers.size(), std::size_t{kJitNumberBytes});
    EXPECT_NE(source->text.find("kNumbers = " + std::to_string(numbers.size() / 8) + ";"),
              std::string::npos);
    const auto number = [](const std::vector<std::byte>& from, std::size_t at) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, from.data() + at, sizeof bits);
      return bits;
    };
    std::set<std::uint64_t> of_program;
    for (std::size_t at = 0; at + 8 <= pass.code.size(); at += 8)
      of_program.insert(number(pass.code, at));
    for (std::size_t at = 0; at < numbers.size(); at += 8)
      EXPECT_TRUE(of_program.contains(number(numbers, at))) << "seed " << seed;
  }
  EXPECT_GT(most, 200u);
}

TEST(JitSource, long_passes_share_code_and_matrices_of_double_precision_have_none) {
  const Plan ising = plan_of("ising", 26, Precision::kSingle);
  const Shape single{13, 5, 4, Precision::kSingle};
  bool shares = false;
  for (const TilePass& pass : passes_for_kernels(ising, single)) {
    const auto source = jit_source(pass, 2);
    ASSERT_TRUE(source);
    shares = shares || source->text.find("k = 1u; p.offset") != std::string::npos;
  }
  EXPECT_TRUE(shares);
  const Plan volume = plan_of("quantum_volume", 16, Precision::kDouble);
  const Shape twice{13, 5, 3, Precision::kDouble, 1};
  EXPECT_FALSE(jit_source(lower_pass(volume, 0, twice), 3));
}

int num_jumps(const JitSource& source) {
  int jumps = 0;
  for (std::size_t at = 0; (at = source.text.find("; goto block_", at)) != std::string::npos; ++at)
    ++jumps;
  return jumps;
}

// Jumps between operations that share code are counted; code that fits has none.
TEST(JitSource, steps_are_the_runs_of_code) {
  const Plan ising = plan_of("ising", 26, Precision::kSingle);
  const Shape shape{13, 5, 4, Precision::kSingle};
  int most = 0;
  for (const TilePass& pass : passes_for_kernels(ising, shape)) {
    const auto source = jit_source(pass, 2);
    ASSERT_TRUE(source);
    const int jumps = num_jumps(*source);
    EXPECT_EQ(jit_steps(pass), jumps + 1);
    most = std::max(most, jumps);
  }
  EXPECT_GT(most, 1);
  const Plan volume = plan_of("quantum_volume", 16, Precision::kDouble);
  const Shape twice{13, 5, 3, Precision::kDouble, 1};
  EXPECT_EQ(jit_steps(lower_pass(volume, 0, twice)), 0) << "matrices of two qubits";
}

// What came out too long is written again so that more operations share code; what is short as it is
// stays so.
TEST(JitSource, shortened_passes_share_more_code) {
  const Plan ising = plan_of("ising", 26, Precision::kSingle);
  const Shape shape{13, 5, 4, Precision::kSingle};
  int changed = 0, unchanged = 0;
  for (const TilePass& pass : passes_for_kernels(ising, shape)) {
    const auto longest = jit_source(pass, 2);
    ASSERT_TRUE(longest);
    std::string text = longest->text;
    int jumps = num_jumps(*longest);
    for (int shortenings = 1; shortenings <= kJitMostShortenings; ++shortenings) {
      const auto shorter = jit_source(pass, 2, shortenings);
      if (!shorter) break;
      if (shorter->text == text) {
        ++unchanged;
        continue;
      }
      ++changed;
      EXPECT_GT(num_jumps(*shorter), jumps);
      text = shorter->text;
      jumps = num_jumps(*shorter);
    }
  }
  EXPECT_GT(changed, 0);
  EXPECT_GT(unchanged, 0);
}

// Threads that part at a controlled operation must not meet different barriers.
TEST(JitSource, operations_that_part_threads_share_no_code) {
  const Shape shape{12, 5, 3, Precision::kDouble};
  int long_ones = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomPassOptions options;
    options.num_qubits = 15;
    options.num_actions = 300;
    options.max_targets = 1;
    options.max_degree = 2;
    options.matrices = false;
    std::mt19937_64 random(seed);
    const Plan plan = random_pass(options, random);
    const TilePass pass = lower_pass(plan, 0, shape);
    const auto source = jit_source(pass, 3);
    bool parts = false;
    for (std::uint32_t k = pass.frame.first_op; k < std::min(pass.frame.end_op, kInlineOps); ++k)
      parts = parts || pass.frame.first_ops[k].word.controlled();
    if (!parts) continue;
    long_ones += !source;
    if (source) {
      EXPECT_EQ(source->text.find("goto block_"), std::string::npos) << "seed " << seed;
    }
  }
  EXPECT_GT(long_ones, 0);
}

Plan plan_without_matrices(const circuit::Circuit& c, const Shape& shape) {
  PlanOptions options = plan_options(shape);
  options.cost.multiply_s = 10 * options.cost.rotate_s;
  return make_plan(c, options);
}

// A rotation under a register bit is half as long as one of all pairs: passes of many have kernels.
TEST(JitSource, passes_of_controlled_rotations_fit) {
  circuit::Circuit c(26);
  for (circuit::Qubit q = 0; q < 13; ++q) {
    for (int k = 0; k < 4; ++k)
      c.add_gate(k % 2 ? circuit::GateId::kCrx : circuit::GateId::kCry, {q, q + 13},
                 {0.3 + 0.1 * k});
  }
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    const bool is_double = precision == Precision::kDouble;
    const Shape shape{is_double ? 12 : 13, 5, is_double ? 3 : 4, precision};
    const Plan plan = plan_without_matrices(c, shape);
    for (const TilePass& pass : passes_for_kernels(plan, shape)) {
      const auto source = jit_source(pass, 2);
      ASSERT_TRUE(source);
      EXPECT_EQ(source->text.find("goto block_"), std::string::npos);
    }
  }
}

bool has_signs(const TilePass& pass) {
  std::set<std::uint32_t> kinds;
  add_kinds(pass, kinds);
  const std::uint32_t choices = kNumOpCodes + 2 * ChoiceLift::kSigned;
  return kinds.contains(choices) || kinds.contains(choices + 2 * ChoiceLift::kReversed);
}

// ZZ of a register bit and another one is a constant phase with a sign.
TEST(JitSource, phases_with_a_sign_agree_with_their_meaning) {
  constexpr int kQubits = 15;
  int with_signs = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> angle(-3, 3);
    circuit::Circuit c(kQubits);
    for (int layer = 0; layer < 3; ++layer) {
      for (int k = 0; k < 14; ++k) {
        const auto a = static_cast<circuit::Qubit>(random() % kQubits);
        const auto b = static_cast<circuit::Qubit>((a + 1 + random() % (kQubits - 1)) % kQubits);
        const double theta = seed % 3 ? angle(random) : 0.4;
        c.add_gate(circuit::GateId::kCx, {a, b}, {});
        c.add_gate(circuit::GateId::kRz, {b}, {theta});
        c.add_gate(circuit::GateId::kCx, {a, b}, {});
      }
      for (circuit::Qubit q = 0; q < kQubits; ++q)
        c.add_gate(circuit::GateId::kRx, {q}, {angle(random)});
    }
    const bool wide = seed % 2;
    const Shape shape =
        wide ? Shape{13, 5, 3, Precision::kDouble, 1} : Shape{12, 5, 3, Precision::kDouble};
    const Plan plan = plan_without_matrices(c, shape);
    for (std::size_t p = 0; p < plan.passes.size(); ++p) {
      const TilePass pass = lower_pass(plan, p, shape, chunk_limits(shape), 3, true);
      with_signs += has_signs(pass);
      EXPECT_FALSE(has_signs(lower_pass(plan, p, shape, chunk_limits(shape), 3)));
      EXPECT_LT(emulated_error(plan, p, pass, random), 1e-13) << "seed " << seed << " pass " << p;
    }
  }
  EXPECT_GE(with_signs, 8);
}

/// Programs written for kernels of their own mean the same to the interpreter.
TEST(JitSource, programs_for_kernels_agree_with_their_meaning) {
  std::set<std::uint32_t> kinds, others;
  for (const Shape& shape :
       {Shape{12, 5, 3, Precision::kDouble}, Shape{13, 5, 3, Precision::kDouble, 1}}) {
    for (std::uint64_t seed = 0; seed < 36; ++seed) {
      RandomPassOptions options = pass_options(shape, 13 + static_cast<int>(seed % 3));
      options.num_actions = 60;
      options.max_degree = 2;
      options.known_zeros = seed % 4 == 3;
      options.quarter_turns = seed % 2;
      std::mt19937_64 random(seed);
      const Plan plan = seed < 24 ? random_pass(options, random) : random_chain(options, random);
      const TilePass program = lower_pass(plan, 0, shape, chunk_limits(shape), 4, true);
      std::set<std::uint32_t> own;
      add_kinds(program, own);
      EXPECT_EQ(program.needs_kernel, own.lower_bound(kFirstCompiledCode) != own.end())
          << "seed " << seed;
      kinds.insert(own.begin(), own.end());
      const TilePass interpreted = lower_pass(plan, 0, shape, chunk_limits(shape), 4);
      EXPECT_FALSE(interpreted.needs_kernel) << "seed " << seed;
      add_kinds(interpreted, others);
      EXPECT_LT(emulated_error(plan, 0, program, random), 1e-12) << "seed " << seed;
    }
  }
  EXPECT_TRUE(has_compiled_kinds(kinds));
  EXPECT_LT(*others.rbegin(), kFirstCompiledCode) << "the interpreter does not know it";
}

// What lifts with phases leave out adds up over a pass: never to more than numbers hold.
TEST(JitSource, long_chains_stay_in_range) {
  const Shape shape{13, 5, 4, Precision::kSingle};
  int with_choices = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    RandomPassOptions options = pass_options(shape, 13);
    options.num_actions = seed % 2 ? 1200 : 200;
    std::mt19937_64 random(seed);
    const Plan plan = random_chain(options, random);
    const TilePass program = lower_pass(plan, 0, shape, chunk_limits(shape), 1, true);
    std::set<std::uint32_t> kinds;
    add_kinds(program, kinds);
    EXPECT_LT(emulated_error(plan, 0, program, random), 1e-5) << "seed " << seed;
    with_choices += kinds.contains(kChoiceLift);
  }
  EXPECT_GE(with_choices, 3);
}

}  // namespace
}  // namespace tilewave::statevec::tile
