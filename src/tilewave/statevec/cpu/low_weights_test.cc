#include "tilewave/statevec/cpu/low_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <random>

#include "tilewave/base/seeds_test.h"
#include "tilewave/statevec/cpu/cpu_tuning.h"

namespace tilewave::statevec::cpu {
namespace {

using Row = std::vector<double>;  // phases commute with factors, and are left out

LayerStep<double> random_lifts(std::mt19937_64& random) {
  static constexpr double kNumbers[] = {0.15, -0.15, 0.15, 0.7, 1e-5, 1};
  LayerStep<double> lifts;
  lifts.mask = random() & random() & (kRowLength - 1);
  if (random() % 2) lifts.mask = kRowLength - 1;
  const bool same = random() % 2;
  for (double& t : lifts.t) t = same ? 0.15 : kNumbers[random() % std::size(kNumbers)];
  lifts.reflected = random() % 4 ? 0 : lifts.mask & random();
  return lifts;
}

SplitTerms random_terms(std::mt19937_64& random) {
  SplitTerms terms;
  for (std::uint64_t k = random() % 3; k > 0; --k) {
    SplitTerm t;
    t.low = 1u << random() % kLowBits;
    if (random() % 3 == 0) t.rows = 1;
    terms.push_back(t);
  }
  return terms;
}

std::vector<OutlineStep> random_steps(std::mt19937_64& random, const Action& action) {
  std::vector<OutlineStep> steps(1 + random() % 12);
  for (OutlineStep& step : steps) {
    if (random() % 8 == 0) {
      step.action = &action;
      continue;
    }
    step.stage.terms = random_terms(random);
    step.stage.lifts = random_lifts(random);
    for (std::uint64_t l = random() % 4 ? 0 : random() % 3; l > 0; --l)
      step.stage.links.push_back({random_terms(random), random_lifts(random)});
  }
  return steps;
}

bool has_table(const SplitTerms& terms) {
  return std::any_of(terms.begin(), terms.end(),
                     [](const SplitTerm& t) { return t.low && !t.rows; });
}

// As the kernels do it.
void run(Row& row, const LayerStep<double>& lifts, const LowWeights& weights) {
  for (std::uint32_t a = 0; a < kRowLength; ++a) {
    for (int b = 0; b < kLowBits; ++b) row[a] *= a >> b & 1 ? weights.factors[b] : 1;
  }
  for (int b = 0; b < kLowBits; ++b) {
    if (!(lifts.mask >> b & 1)) continue;
    const double t = lifts.t[b];
    for (std::uint32_t a = 0; a < kRowLength; ++a) {
      if (a >> b & 1) continue;
      double &x = row[a], &y = row[a | 1u << b];
      const double x0 = x, y0 = y;
      if (weights.weighted >> b & 1) {
        x = x0 - y0, y = t * t * x0 + y0;
      } else if (lifts.reflected >> b & 1) {
        x = x0 + y0, y = x0 - y0;
      } else {
        x = x0 - t * y0, y = t * x0 + y0;
      }
    }
  }
}

// Weights come and go with tables, and the result is as without.
void check(std::mt19937_64& random, int& num_weighted) {
  const Action action;
  const std::vector<OutlineStep> steps = random_steps(random, action);
  const auto weights = choose_low_weights(steps);
  ASSERT_EQ(weights.size(), steps.size());
  Row row(kRowLength), expected;
  for (double& x : row) x = 0.001 * static_cast<double>(random() % 2000) - 1;
  expected = row;
  const auto visit = [&](const SplitTerms& terms, const LayerStep<double>& lifts,
                         const LowWeights& w, bool phased) {
    ASSERT_TRUE(!w.has_factors() || has_table(terms));
    ASSERT_EQ(w.weighted & ~(lifts.mask & ~lifts.reflected), 0u);
    ASSERT_TRUE(phased || !w.weighted) << "the kernels weigh lifts after phases";
    num_weighted += std::popcount(w.weighted);
    run(row, lifts, w);
    run(expected, lifts, {});
  };
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (steps[k].action) continue;
    const Stage& stage = steps[k].stage;
    ASSERT_EQ(weights[k].size(), 1 + stage.links.size());
    const bool phased = !stage.terms.empty();
    visit(stage.terms, stage.lifts, weights[k][0], phased);
    for (std::size_t l = 0; l < stage.links.size(); ++l)
      visit(stage.links[l].terms, stage.links[l].lifts, weights[k][l + 1], phased);
    if (::testing::Test::HasFatalFailure()) return;
  }
  double size = 0;
  for (const double x : expected) size = std::max(size, std::abs(x));
  for (std::size_t a = 0; a < row.size(); ++a) ASSERT_NEAR(row[a], expected[a], 1e-11 * size);
}

TEST(LowWeights, leave_what_the_lifts_do) {
  int num_weighted = 0;
  for_each_seed(2000, [&](std::uint64_t, std::mt19937_64& random) { check(random, num_weighted); });
  EXPECT_GT(num_weighted, 1000);
}

// The layers of an Ising chain: all but the last are weighted.
TEST(LowWeights, layers_between_phases_are_weighted) {
  std::vector<OutlineStep> steps(6);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (k > 0) steps[k].stage.terms = {{3, 0, 0, 1}};
    steps[k].stage.lifts.mask = kRowLength - 1;
    for (double& t : steps[k].stage.lifts.t) t = 0.15;
  }
  const auto weights = choose_low_weights(steps);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const LowWeights& w = weights[k][0];
    const bool inside = k > 0 && k + 1 < steps.size();
    EXPECT_EQ(w.weighted, inside ? 63u : 0u) << k;
    EXPECT_EQ(w.factors[5], k == 1 ? 0.15 : k == 5 ? 1 / 0.15 : 1) << k;
  }
}

}  // namespace
}  // namespace tilewave::statevec::cpu
