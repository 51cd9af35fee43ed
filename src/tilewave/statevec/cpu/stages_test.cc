#include "tilewave/statevec/cpu/stages.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tilewave/base/seeds_test.h"
#include "tilewave/statevec/cpu/split_terms_test.h"

namespace tilewave::statevec::cpu {
namespace {

constexpr int kRowBits = 4, kOutsideBits = 2;
constexpr int kInside = kLowBits + kRowBits, kBits = kInside + kOutsideBits;
void apply_flip(Vector& v, int target, int control) {
  for (std::uint64_t x = 0; x < v.size(); ++x) {
    const std::uint64_t y = x | std::uint64_t{1} << target;
    if (x != y && (x >> control & 1)) std::swap(v[x], v[y]);
  }
}

// In the order in which the kernels run, and only what they can do.
void run_on(Vector& v, const std::vector<Stage>& stages) {
  for (const Stage& stage : stages) {
    run_on(v, stage.terms, kRowBits);
    const std::uint32_t reflected = stage.lifts.reflected >> kLowBits;
    ASSERT_TRUE(!reflected || reflected == stage.lifts.mask >> kLowBits) << "of rows all or none";
    run_on(v, stage.lifts);
    ASSERT_LE(stage.links.size(), static_cast<std::size_t>(kMaxLinks));
    for (const StageLink& link : stage.links) {
      for (const SplitTerm& t : link.terms) ASSERT_EQ(t.rows, 0u);
      ASSERT_EQ(link.lifts.mask >> kLowBits, 0u);
      run_on(v, link.terms, kRowBits);
      run_on(v, link.lifts);
    }
    for (const StageSweep& sweep : stage.sweeps) {
      ASSERT_EQ(std::popcount(sweep.mask()), sweep.num_bits) << "a bit twice";
      for (const SplitTerm& t : sweep.before) ASSERT_EQ(t.low, 0u);
      run_on(v, sweep.before, kRowBits);
      for (int k = 0; k < sweep.num_bits; ++k) {
        apply_lift(v, kLowBits + sweep.bits[k], sweep.t[k], sweep.reflected >> k & 1);
        for (const SplitTerm& t : sweep.after[k]) {
          ASSERT_EQ(t.low, 0u);
          ASSERT_EQ(t.rows & ~sweep.mask(), 0u);
        }
        run_on(v, sweep.after[k], kRowBits);
      }
    }
  }
}

SplitTerm random_term(std::mt19937_64& random, std::uint32_t with) {
  std::uint64_t mask = with;
  for (std::uint64_t degree = random() % 3; degree; --degree) mask |= 1u << random() % kBits;
  return split_term(mask, random(), kRowBits);
}

// Lifts, terms and controlled X in random order: thick layers, runs of a lift and terms of its
// place as in a QFT, and everything between.
TEST(Stages, do_what_their_layers_do) {
  for_each_seed(300, [&](std::uint64_t seed, std::mt19937_64& random) {
    Vector expected(std::size_t{1} << kBits);
    for (auto& z : expected) z = {static_cast<double>(random() % 1000) - 500, 1.0};
    Vector got = expected;
    Stages stages;
    const std::uint64_t flips = seed % 3 == 0 ? 0 : seed % 3 * 3, lifts = 5 + random() % 60;
    const bool as_in_qft = seed % 2;
    int place = 0;
    for (int k = 0; k < 60; ++k) {
      const std::uint64_t kind = random() % 100;
      if (kind < flips) {
        const int target = static_cast<int>(random() % kInside),
                  control = (target + 1 + static_cast<int>(random() % (kBits - 1))) % kBits;
        apply_flip(expected, target, control);
        const std::uint32_t looks_at = control < kInside ? 1u << control : 0;
        run_on(got, stages.take_before(1u << target, looks_at));
        apply_flip(got, target, control);
      } else if (kind < flips + lifts) {
        place = as_in_qft ? (place + kInside - 1) % kInside : static_cast<int>(random() % kInside);
        const double t = random() % 2 ? 1 : 0.01 * static_cast<double>(random() % 200) - 1;
        if (random() % 2) {  // a Hadamard gate where t is 1
          const SplitTerms half = {split_term(bit(place), bit(63), kRowBits)};
          run_on(expected, half, kRowBits);
          stages.add(half);
        }
        apply_lift(expected, place, t);
        stages.add_lift(place, t);
      } else {
        SplitTerms terms;
        for (std::uint64_t n = random() % 4; n; --n)
          terms.push_back(random_term(random, as_in_qft ? 1u << place : 0));
        run_on(expected, terms, kRowBits);
        stages.add(terms);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    run_on(got, stages.take());
    ASSERT_TRUE(stages.take().empty());
    expect_near(got, expected, 1e-12);
  });
}

// A QFT on the bits of a block, from the top: sweeps of three bits, then one stage inside rows.
TEST(Stages, a_qft_takes_few_sweeps) {
  Stages stages;
  for (int k = kInside - 1; k >= 0; --k) {
    stages.add_lift(k, 1);
    SplitTerms terms;
    for (int j = 0; j < k; ++j)
      terms.push_back(split_term(bit(k) | bit(j), bit(63 - (k - j)), kRowBits));
    stages.add(terms);
  }
  const std::vector<Stage> taken = stages.take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_FALSE(taken[0].has_inside());
  EXPECT_EQ(taken[0].sweeps.size(), (kRowBits + kSweepBits - 1) / kSweepBits);
  EXPECT_EQ(taken[1].links.size(), kLowBits - 1u);
  EXPECT_TRUE(taken[1].sweeps.empty());
}

}  // namespace
}  // namespace tilewave::statevec::cpu
