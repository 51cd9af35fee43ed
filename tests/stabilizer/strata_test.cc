// Estimates from strata of shots with given numbers of faults: intervals against exact rates and tables,
// and cultivation against published shots.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>

#include "stabilizer/fault_sources.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sample/post_select.h"
#include "tilewave/stabilizer/sample/strata.h"

namespace tilewave::stabilizer {
namespace {

TEST(Strata, words_cover_all_numbers) {
  const auto source = source_of(lower(language::parse_stim("X_ERROR(1) 0\nX_ERROR(0.1) 1 2 3 4 5\n"
                                                           "M 0 1 2 3 4 5")),
                                ShotOutput::kRecords, {});
  const auto words = [&](const char* text, std::uint64_t distance = 0) {
    std::string out;
    for (const FaultRange& r : parse_strata(text, *source->faults(), distance))
      out += (out.empty() ? "" : " ") + words_of(r);
    return out;
  };
  EXPECT_EQ(words("2-3"), "1 2 3 4+");
  EXPECT_EQ(words("2,5"), "1 2 3-4 5 6+");
  EXPECT_EQ(words("4+,1-2"), "1 2 3 4+");
  EXPECT_EQ(words("4-5", 3), "1-2 3 4 5 6+");
  EXPECT_EQ(words("0+"), "1+");
  EXPECT_EQ(words("auto"), "1 2 3 4 5 6");
  EXPECT_EQ(words("auto", 4), "1-3 4 5 6");
  EXPECT_EQ(words("auto", 7), "1+");  // no shot has so many faults
  EXPECT_EQ(words("2-3", 7), "1 2 3 4+");
  for (const char* text : {"", "3,3", "2-4,4+", "7", "x", "0-9999"})
    EXPECT_THROW(words(text), Error) << text;
  EXPECT_THROW(words("1+", 3), Error);
}

TEST(Strata, gamma_distribution) {
  EXPECT_NEAR(gamma_share(1, 2), 1 - std::exp(-2.0), 1e-14);
  EXPECT_NEAR(gamma_share(0.5, 0.5), std::erf(std::sqrt(0.5)), 1e-14);
  EXPECT_NEAR(gamma_share(3, 10), 1 - std::exp(-10.0) * (1 + 10 + 50), 1e-14);
  // chi-square of tables: the quantile of n degrees of freedom is twice that of the shape n / 2
  EXPECT_NEAR(2 * gamma_quantile(0.5, 0.95), 3.841458820694124, 1e-11);
  EXPECT_NEAR(2 * gamma_quantile(2.5, 0.95), 11.070497693516351, 1e-11);
  EXPECT_NEAR(2 * gamma_quantile(5, 0.95), 18.307038053275146, 1e-11);
  for (const double shape : {0.3, 4.0, 250.0, 2e5, 3e7}) {
    for (const double share : {0.001, 0.025, 0.5, 0.975}) {
      EXPECT_NEAR(gamma_share(shape, gamma_quantile(shape, share)), share, 1e-8) << shape;
    }
  }
  // Poisson intervals of tables (Garwood 1936): 0, 3 and 10 events
  EventWeights weights;
  weights.add(1e-9, 1e-3);
  const auto events = [&](double n) {
    return weighted_interval(n * 1e-9, n * 1e-18, weights, 0.95);
  };
  EXPECT_NEAR(events(0).high, 3.688879e-9, 1e-15);
  EXPECT_NEAR(events(3).low, 0.618672e-9, 1e-15);
  EXPECT_NEAR(events(3).high, 8.767273e-9, 1e-15);
  EXPECT_NEAR(events(10).low, 4.795389e-9, 1e-15);
  EXPECT_NEAR(events(10).high, 18.390356e-9, 1e-15);
  EventWeights all;
  all.add(1e-3, 1);
  const Estimate most = weighted_interval(1, 0, all, 0.95);
  EXPECT_EQ(most.high, 1);
  EXPECT_NEAR(most.low, 1 - 3.688879e-3, 1e-9);
  // A stratum of a few shots that are all events, beside one of many without any.
  all.add(1e-6, 0);
  const Estimate few = weighted_interval(0.01, 0, all, 0.95);
  EXPECT_LT(few.low, 0.008);
  EXPECT_GT(few.low, 0);
  EXPECT_NEAR(few.high, 0.01, 0.005);
}

StrataTable table_of(const StabProgram& program, const char* words, StrataOptions options,
                     int threads = 1) {
  const auto source = source_of(program, ShotOutput::kDetectors, {}, threads);
  options.num_detectors = program.counts.detectors;
  options.num_observables = program.counts.observables;
  options.num_threads = threads;
  const auto strata = parse_strata(words, *source->faults(), options.fault_distance);
  return sample_strata(*source, strata, options, [](std::uint64_t) { return true; });
}

// A repetition code of five bits: a shot is wrong where three or more are flipped, and then kept where
// the two watched checks are silent. All in closed form, by enumeration of the 2^5 errors.
TEST(Strata, intervals_cover_the_exact_rates) {
  constexpr double p = 0.01;
  const StabProgram program = lower(language::parse_stim(
      "X_ERROR(0.01) 0 1 2 3 4\nM 0 1 2 3 4\nDETECTOR rec[-1] rec[-2]\nDETECTOR rec[-4] rec[-5]\n"
      "OBSERVABLE_INCLUDE(0) rec[-1]\nOBSERVABLE_INCLUDE(1) rec[-3]"));
  double kept = 0, wrong = 0, other = 0, any = 0;
  for (unsigned e = 0; e < 32; ++e) {
    const auto bit = [&](unsigned q) { return (e >> q) & 1; };
    if (bit(4) != bit(3) || bit(1) != bit(0)) continue;
    const double chance = std::pow(p, std::popcount(e)) * std::pow(1 - p, 5 - std::popcount(e));
    kept += chance;
    wrong += bit(4) ? chance : 0, other += bit(2) ? chance : 0;
    any += bit(4) || bit(2) ? chance : 0;
  }
  int inside[4] = {0, 0, 0, 0}, runs = 400;
  double sum = 0, sum_even = 0;
  for (int run = 0; run < runs; ++run) {
    StrataOptions options;
    options.num_shots = 4000;
    options.seed = static_cast<std::uint64_t>(run);
    options.must_be_zero = {3};
    options.even = run % 2;
    const StrataTable t = table_of(program, run % 4 < 2 ? "0-3" : "1,2+", options);
    EXPECT_EQ(t.attempted, 4000u);
    const auto covers = [](const Estimate& e, double truth) {
      EXPECT_LE(e.low, e.value);
      EXPECT_LE(e.value, e.high);
      return e.low <= truth && truth <= e.high;
    };
    inside[0] += covers(t.kept, kept);
    inside[1] += covers(t.errors[0], wrong / kept);
    inside[2] += covers(t.errors[1], other / kept);
    inside[3] += covers(t.any_error, any / kept);
    (options.even ? sum_even : sum) += 2 * t.errors[0].value / runs;
  }
  // 95% of 400 is 380 with a standard deviation of 4.4; gamma intervals cover at least that.
  for (const int n : inside) EXPECT_GE(n, 366);
  EXPECT_NEAR(sum / (wrong / kept), 1, 0.06);
  EXPECT_NEAR(sum_even / (wrong / kept), 1, 0.06);
}

// One fault in ten leaves the observable as it is: a few shots with one fault are often all wrong, and
// then say little about how many are not.
TEST(Strata, intervals_cover_where_nearly_all_of_a_stratum_are_wrong) {
  const StabProgram program = lower(language::parse_stim(
      "X_ERROR(0.01) 0 1 2 3 4 5 6 7 8 9\nM 0 1 2 3 4 5 6 7 8\nOBSERVABLE_INCLUDE(0) rec[-1] "
      "rec[-2] rec[-3] rec[-4] rec[-5] rec[-6] rec[-7] rec[-8] rec[-9]"));
  const double truth = (1 - std::pow(0.98, 9)) / 2;  // an odd number of nine
  for (const bool even : {false, true}) {
    for (const std::uint64_t shots : {24u, 80u, 400u}) {
      constexpr int kRuns = 300;
      int inside = 0;
      for (int run = 0; run < kRuns; ++run) {
        StrataOptions options;
        options.num_shots = shots;
        options.seed = static_cast<std::uint64_t>(run);
        options.even = even;
        const Estimate e = table_of(program, "1,2+", options).errors[0];
        inside += e.low <= truth && truth <= e.high;
      }
      EXPECT_GE(inside, 275) << shots;  // 95% is 285 with a standard deviation of 3.8
    }
  }
}

TEST(Strata, even_strata_have_as_many_shots_each) {
  const StabProgram program =
      lower(language::parse_stim("X_ERROR(0.5) 0 1 2 3 4 5 6 7 8 9\nX_ERROR(0.3) 0 1 2 3 4 5 6 7 8 "
                                 "9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 "
                                 "31 32 33 34 35 36 37\nM 0\nDETECTOR rec[-1]"));
  StrataOptions options;
  options.even = true;
  options.num_shots = 49 * 8;
  const StrataTable table = table_of(program, "0-48", options);
  ASSERT_EQ(table.strata.size(), 49u);
  for (const Stratum& s : table.strata) EXPECT_EQ(s.attempted, 8u) << words_of(s.faults);
}

TEST(Strata, a_first_shot_is_refused) {
  const StabProgram program = lower(language::parse_stim("X_ERROR(0.5) 0\nM 0\nDETECTOR rec[-1]"));
  StrataOptions options;
  options.num_shots = 100;
  EXPECT_EQ(sample_strata(program, "0-1", options).attempted, 100u);
  options.first_shot = 1;
  expect_error([&] { sample_strata(program, "0-1", options); }, "another seed", ExitCode::kUsage);
}

TEST(Strata, cultivation_agrees_with_plain_shots) {
  const StabProgram program = file_program("msc_d3_inject_cultivate_p1e-3.stim");
  StrataOptions options;
  options.num_shots = 4'000'000;
  options.seed = 12;
  options.confidence = 0.9999;
  options.fault_distance = 2;
  options.must_be_zero = post_selection_mask("all", program.counts.detectors);
  const StrataTable one = table_of(program, "auto", options, 1);
  // SymFT published 686,805,652 kept and 616 wrong of a thousand million.
  EXPECT_LT(one.kept.low, 0.686806);
  EXPECT_GT(one.kept.high, 0.686806);
  EXPECT_LT(one.any_error.low, 616 / 686805652.0);
  EXPECT_GT(one.any_error.high, 616 / 686805652.0);
  // Of four million plain shots two or three are wrong.
  std::uint64_t seen = 0;
  for (const Stratum& stratum : one.strata) seen += stratum.any_error;
  EXPECT_GT(seen, 20u);
  const StrataTable two = table_of(program, "auto", options, 2);
  for (std::size_t k = 0; k < one.strata.size(); ++k) {
    EXPECT_EQ(one.strata[k].attempted, two.strata[k].attempted);
    EXPECT_EQ(one.strata[k].kept, two.strata[k].kept);
    EXPECT_EQ(one.strata[k].any_error, two.strata[k].any_error);
  }
  // Two faults can do it: a larger distance is found out.
  options.fault_distance = 3;
  options.num_shots = 30'000'000;
  EXPECT_THROW(table_of(program, "2", options), Error);
}

}  // namespace
}  // namespace tilewave::stabilizer
