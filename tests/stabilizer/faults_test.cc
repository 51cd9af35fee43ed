// Shots with a given number of faults: the numbers of faults against sums over all sets of places,
// the shots against full enumeration (enumerator.h, which counts the faults of every branch), and what
// is drawn against what must come out with a fixed probability.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "stabilizer/enumerator.h"
#include "stabilizer/fault_sources.h"
#include "stabilizer/noisy_circuits.h"
#include "stabilizer/random_circuit.h"
#include "stabilizer/shot_counts.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/model_rows.h"
#include "tilewave/stabilizer/sample/strata.h"

namespace tilewave::stabilizer {
namespace {

constexpr double kMostSigma = 5.5;  // of some thousand comparisons

// P(K = k), k = 0 ... n, place by place, in long double.
std::vector<long double> place_by_place(const std::vector<FaultClass>& classes) {
  std::vector<long double> p = {1};
  for (const FaultClass& c : classes) {
    const long double q = c.probability;
    for (std::uint64_t i = 0; i < c.count; ++i) {
      p.push_back(0);
      for (std::size_t k = p.size() - 1; k > 0; --k) p[k] = p[k] * (1 - q) + p[k - 1] * q;
      p[0] *= 1 - q;
    }
  }
  return p;
}

TEST(Faults, numbers_are_those_of_sums_over_all_sets) {
  const std::vector<std::vector<FaultClass>> cases = {
      {{0.001, 500}},
      {{0.001, 300}, {0.002, 77}, {0.3, 5}, {0.9, 2}, {1, 3}},
      {{1e-9, 40}, {1e-4, 10}, {0.5, 20}},
      {{0.02, 1}, {0.03, 1}, {0.05, 1}, {0.07, 1}, {0.11, 1}, {0.13, 1}, {0.17, 1}},
      {{0.999, 50}, {0.4, 50}},
      {{1, 4}},
      {},
  };
  for (const auto& classes : cases) {
    const std::vector<long double> want = place_by_place(classes);
    const std::uint64_t most = want.size() - 1;
    long double above = 0;
    for (std::uint64_t k = most + 1; k-- > 0;) {
      above += want[k];
      if (want[k] == 0) continue;
      // Each number for itself: odds are tilted towards it.
      const FaultNumbers one(classes, {k, k});
      if (want[k] > 1e-300L) {
        EXPECT_NEAR(one.weight() / static_cast<double>(want[k]), 1, 2e-12) << k;
      }
      const FaultNumbers more(classes, {k, FaultRange::kNoLimit});
      if (above > 1e-300L) {
        EXPECT_NEAR(more.weight() / static_cast<double>(above), 1, 2e-12) << k;
      }
    }
    const FaultNumbers all(classes, {});
    for (std::size_t j = 0; j < all.probabilities().size(); ++j) {
      EXPECT_NEAR(all.probabilities()[j], static_cast<double>(want[all.range().first + j]), 1e-14);
    }
    EXPECT_THROW(FaultNumbers(classes, {most + 1, most + 1}), Error);
  }
}

// A million places: what can be said in closed form.
TEST(Faults, numbers_of_a_million_places) {
  constexpr std::uint64_t kPlaces = 1'000'000;
  const auto log_binomial = [](std::uint64_t k, long double p) {
    long double sum = static_cast<long double>(kPlaces - k) * std::log1p(-p);
    for (std::uint64_t j = 0; j < k; ++j)
      sum += std::log(p * static_cast<long double>(kPlaces - j) / static_cast<long double>(j + 1));
    return sum;
  };
  for (const double p : {1e-6, 1e-3}) {
    for (const std::uint64_t k : {0u, 1u, 3u, 900u, 1000u, 1300u}) {
      const FaultNumbers numbers({{p, kPlaces}}, {k, k});
      const long double want = log_binomial(k, p);
      if (want < -700) continue;
      EXPECT_NEAR(numbers.weight() / static_cast<double>(std::exp(want)), 1, 1e-10)
          << p << " " << k;
    }
  }
  // Far below what a double holds the weight is 0, and shots can be drawn all the same.
  EXPECT_EQ(FaultNumbers({{1e-3, kPlaces}}, {2, 2}).weight(), 0);
  // All probabilities different; the exact mean and variance.
  std::vector<FaultClass> classes;
  double mean = 0, variance = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double p = 1e-5 * (1 + static_cast<double>(i) / 1e5);
    classes.push_back({p, 1});
    mean += p, variance += p * (1 - p);
  }
  const FaultNumbers numbers(classes, {});
  double have_mean = 0, have_square = 0;
  for (std::size_t k = 0; k < numbers.probabilities().size(); ++k) {
    have_mean += static_cast<double>(k) * numbers.probabilities()[k];
    have_square += static_cast<double>(k * k) * numbers.probabilities()[k];
  }
  EXPECT_NEAR(numbers.weight(), 1, 1e-12);
  EXPECT_NEAR(have_mean, mean, 1e-11);
  EXPECT_NEAR(have_square - have_mean * have_mean, variance, 1e-11);
}

// Where a hundred thousand faults are usual, the numbers that matter are some thousands.
TEST(Faults, numbers_of_many_faults) {
  const std::vector<FaultClass> classes = {{0.4, 100'000}, {0.42, 50'000}, {0.9, 20'000}};
  double mean = 0, variance = 0;
  for (const FaultClass& c : classes) {
    const auto n = static_cast<double>(c.count);
    mean += n * c.probability, variance += n * c.probability * (1 - c.probability);
  }
  const FaultNumbers numbers(classes, {});
  EXPECT_NEAR(numbers.weight(), 1, 1e-12);
  double have_mean = 0, have_variance = 0;
  for (std::size_t k = 0; k < numbers.probabilities().size(); ++k)
    have_mean += static_cast<double>(k) * numbers.probabilities()[k];
  for (std::size_t k = 0; k < numbers.probabilities().size(); ++k) {
    const double off = static_cast<double>(k) - mean;
    have_variance += off * off * numbers.probabilities()[k];
  }
  EXPECT_NEAR(have_mean / mean, 1, 1e-11);
  EXPECT_NEAR(have_variance / variance, 1, 1e-11);
  expect_error(
      [] {
        FaultNumbers({{0.4, 1'000'000'000}, {0.3, 1'000'000'000}}, {});
      },
      "7e+08 are expected", ExitCode::kResources);
}

TEST(Faults, words) {
  EXPECT_EQ(parse_fault_range("3"), (FaultRange{3, 3}));
  EXPECT_EQ(parse_fault_range("3-8"), (FaultRange{3, 8}));
  EXPECT_EQ(parse_fault_range("3+"), (FaultRange{3, FaultRange::kNoLimit}));
  for (const char* words : {"", "x", "-3", "3-", "8-3", "3+1", "3-8+", "99999999999999999999"})
    EXPECT_THROW(parse_fault_range(words), Error) << words;
  EXPECT_EQ(words_of({3, 3}), "3");
  EXPECT_EQ(words_of({3, 8}), "3-8");
  EXPECT_EQ(words_of({3, FaultRange::kNoLimit}), "3+");
}

// The reference's numbers of faults in cultivation (Poisson numbers of mean 0.518 and 3.564 there).
TEST(Faults, cultivation_has_the_published_numbers_of_faults) {
  const auto d3 = source_of(file_program("msc_d3_inject_cultivate_p1e-3.stim"),
                            ShotOutput::kDetectors, {3, FaultRange::kNoLimit});
  EXPECT_EQ(d3->faults()->program().num_places(), 518u);
  EXPECT_NEAR(d3->faults()->numbers().weight(), 0.0158, 1e-4);
  const auto d5 = source_of(file_program("msc_d5_inject_cultivate_p1e-3.stim"),
                            ShotOutput::kDetectors, {5, FaultRange::kNoLimit});
  EXPECT_EQ(d5->faults()->program().num_places(), 3564u);
  EXPECT_NEAR(d5->faults()->numbers().weight(), 0.29, 5e-3);
}

// Every record is a place's own bit, so a shot says which places fired: any set of k places must come
// as often as its odds say.
TEST(Faults, sets_of_places_have_the_conditional_distribution) {
  constexpr std::uint64_t kShots = 1 << 17;
  const char* const circuits[] = {
      "X_ERROR(0.01) 0 1 2 3 4 5 6\nM 0 1 2 3 4 5 6",
      "X_ERROR(0.01) 0 1 2\nX_ERROR(0.02) 3\nM(0.3) 4 5\nX_ERROR(0.7) 6\nM 0 1 2 3 6",
      "X_ERROR(0.1) 0\nX_ERROR(0.11) 1\nX_ERROR(0.12) 2\nX_ERROR(0.13) 3\nX_ERROR(0.14) 4\nM 0 1 2 "
      "3 "
      "4",
      "X_ERROR(1) 0 1\nX_ERROR(0.01) 2 3 4\nX_ERROR(0.5) 5\nM 0 1 2 3 4 5",
      "REPEAT 6 {\nR 0\nX_ERROR(0.03) 0\nM 0\n}\nREPEAT 2 {\nR 0\nX_ERROR(0.2) 0\nM 0\n}",
  };
  for (const char* text : circuits) {
    const StabProgram program = lower(language::parse_stim(text));
    // The places of a circuit are what its records are: from the distribution without a condition.
    const auto exact = Enumerator(language::parse_stim(text)).distribution();
    const auto faults = [](const std::string& bits) {
      return static_cast<std::uint64_t>(std::count(bits.begin(), bits.end(), '1'));
    };
    for (const FaultRange range : {FaultRange{2, 2}, {3, 3}, {2, 4}, {3, FaultRange::kNoLimit}}) {
      Distribution given;
      double weight = 0;
      for (const auto& [bits, p] : exact) {
        if (faults(bits) < range.first || faults(bits) > range.last) continue;
        given[bits] = p;
        weight += p;
      }
      for (auto& [bits, p] : given) p /= weight;
      const auto source = source_of(program, ShotOutput::kRecords, range);
      EXPECT_NEAR(source->faults()->numbers().weight() / weight, 1, 1e-9);
      EXPECT_LT(deviation(given, count(*source, 7, kShots), kShots), kMostSigma)
          << words_of(range) << " faults in\n"
          << text;
    }
  }
}

// Long lists of faults go another way than short ones (fault_rows.cc).
TEST(Faults, many_faults_of_many_places) {
  const StabProgram program =
      lower(language::parse_stim("REPEAT 1000 {\nR 0\nX_ERROR(0.05) 0\nM 0\n}"));
  for (const std::uint64_t k : {16u, 17u, 500u, 999u, 1000u}) {
    const auto source = source_of(program, ShotOutput::kRecords, {k, k});
    std::vector<std::uint8_t> rows(source->block_shots() * source->row_stride() + 64);
    std::vector<std::uint64_t> ones(1000);
    source->fill(3, 1, 0, rows.data());
    for (std::uint64_t s = 0; s < source->block_shots(); ++s) {
      const std::uint8_t* row = rows.data() + s * source->row_stride();
      std::uint64_t sum = 0;
      for (std::size_t b = 0; b < ones.size(); ++b) {
        const bool set = (row[b / 8] >> (b % 8)) & 1;
        sum += set, ones[b] += set;
      }
      ASSERT_EQ(sum, k);
    }
    const double share = static_cast<double>(k) / 1000,
                 expected = share * static_cast<double>(source->block_shots()),
                 sigma = std::sqrt(expected * (1 - share));
    for (const std::uint64_t n : ones)
      EXPECT_LE(std::abs(static_cast<double>(n) - expected), kMostSigma * sigma + 1e-9);
  }
}

// Rows of more than 512 bits beside amplitudes.
TEST(Faults, long_rows_beyond_clifford) {
  const StabProgram program =
      lower(language::parse_stim("H 0\nT 0\nH 0\nM 0\nREPEAT 600 {\nR 1\nX_ERROR(0.01) 1\nM 1\n}"),
            "<circuit>", Rotations::kKeep);
  const auto source = source_of(program, ShotOutput::kRecords, {3, 3});
  std::vector<std::uint8_t> rows(source->block_shots() * source->row_stride() + 64);
  source->fill(3, 1, 0, rows.data());
  double first = 0;
  for (std::uint64_t s = 0; s < source->block_shots(); ++s) {
    const std::string bits = bits_of(rows.data() + s * source->row_stride(), source->num_bits());
    first += bits[0] == '1';
    ASSERT_EQ(std::count(bits.begin() + 1, bits.end(), '1'), 3);
  }
  const auto shots = static_cast<double>(source->block_shots());
  const double p = 0.5 - std::sqrt(0.125);  // sin^2(pi / 8)
  EXPECT_LE(std::abs(first - p * shots), kMostSigma * std::sqrt(shots * p * (1 - p)));
}

// Beside those of noisy_circuits.h.
const char* const kFurtherCircuits[] = {
    // noise that flips nothing counts
    "X_ERROR(0.2) 0\nMX 0\nZ_ERROR(0.3) 1\nM 1\nX_ERROR(0.1) 1\nM 1",
    // beyond Clifford
    "H 0\nDEPOLARIZE1(0.2) 0\nT 0\nZ_ERROR(0.1) 0\nCX 0 1\nDEPOLARIZE2(0.1) 0 1\nH 0\nM(0.05) "
    "0\nMY 1",
    "H 0 1\nT 0\nE(0.2) X0\nELSE_CORRELATED_ERROR(0.3) Y0 Z1\nR_ZZ(0.3) 0 1\nHERALDED_ERASE(0.2) "
    "0\n"
    "H 0 1\nX_ERROR(0.6) 1\nM 0 1",
};

void compare_with_enumeration(const std::string& text, std::uint64_t seed, std::uint64_t shots) {
  const StabilizerCircuit circuit = language::parse_stim(text);
  const auto exact = Enumerator(circuit).distribution_by_faults();
  const StabProgram program = lower(circuit, "<circuit>", Rotations::kKeep);
  std::vector<FaultRange> ranges = {{2, FaultRange::kNoLimit}, {1, 3}};
  for (const auto& [k, records] : exact) {
    if (k < 4) ranges.push_back({k, k});
  }
  for (const FaultRange range : ranges) {
    Distribution given;
    double weight = 0;
    for (const auto& [k, records] : exact) {
      if (k < range.first || k > range.last) continue;
      for (const auto& [bits, p] : records) given[bits] += p, weight += p;
    }
    if (weight < 1e-9) continue;
    for (auto& [bits, p] : given) p /= weight;
    const auto source = source_of(program, ShotOutput::kRecords, range);
    EXPECT_NEAR(source->faults()->numbers().weight() / weight, 1, 1e-6) << text;
    EXPECT_LT(deviation(given, count(*source, seed, shots), shots), kMostSigma)
        << words_of(range) << " faults, seed " << seed << ", in\n"
        << text;
  }
}

TEST(Faults, shots_have_the_conditional_distribution_of_every_channel) {
  for (const char* text : kNoisyCircuits) compare_with_enumeration(text, 5, 1 << 16);
  for (const char* text : kFurtherCircuits) compare_with_enumeration(text, 5, 1 << 16);
}

// Of an error model every error is a place, one without targets or that flips the same as another
// too: compared with a sum over all sets of errors.
TEST(Faults, errors_of_a_model_have_the_conditional_distribution) {
  const circuit::ErrorModel model = language::parse_dem(
      "error(0.1) D0 D1\nerror(0.1) D0 D1 ^ D2 L0\nerror(0) D3\nerror(1) D1\nerror(0.7) L1\n"
      "error(0.2)\nrepeat 3 {\nerror(0.15) D0 D2 L0\nshift_detectors 1\n}\nerror(0.05) D0");
  const circuit::FlatModel flat = circuit::flatten(model);
  const std::size_t errors = flat.errors.size();
  ASSERT_EQ(errors, 10u);
  for (const bool with_errors : {false, true}) {
    const ModelRows rows = model_rows(model, with_errors, "<model>");
    std::map<int, Distribution> by_faults;
    for (unsigned fired = 0; fired < 1u << errors; ++fired) {
      double p = 1;
      std::string bits(rows.num_bits(), '0');
      const auto flip = [&](std::uint64_t b) { bits[b] = bits[b] == '0' ? '1' : '0'; };
      for (std::size_t e = 0; e < errors; ++e) {
        const circuit::FlatError& error = flat.errors[e];
        if (!((fired >> e) & 1)) {
          p *= 1 - error.probability;
          continue;
        }
        p *= error.probability;
        for (const std::uint64_t d : error.detectors) flip(d);
        for (const std::uint64_t l : error.observables) flip(rows.num_detectors + l);
        if (with_errors) flip(rows.first_error() + e);
      }
      if (p > 0) by_faults[std::popcount(fired)][bits] += p;
    }
    constexpr std::uint64_t kShots = 1 << 16;
    for (const FaultRange range :
         {FaultRange{1, 1}, {2, 2}, {3, 3}, {2, 4}, {4, FaultRange::kNoLimit}}) {
      Distribution given;
      double weight = 0;
      for (const auto& [k, part] : by_faults) {
        if (static_cast<std::uint64_t>(k) < range.first ||
            static_cast<std::uint64_t>(k) > range.last)
          continue;
        for (const auto& [bits, p] : part) given[bits] += p, weight += p;
      }
      for (auto& [bits, p] : given) p /= weight;
      SampleOptions options;
      options.faults = range;
      options.num_threads = 1;
      const auto source = make_shot_source(rows, options);
      EXPECT_NEAR(source->faults()->numbers().weight() / weight, 1, 1e-12);
      EXPECT_LT(deviation(given, count(*source, 11, kShots), kShots), kMostSigma)
          << words_of(range) << " errors";
    }
    SampleOptions options;
    options.faults = FaultRange{0, 0};  // one is certain
    EXPECT_THROW(make_shot_source(rows, options), Error);
    options.faults = FaultRange{10, 10};  // and one impossible
    EXPECT_THROW(make_shot_source(rows, options), Error);
    options.faults = FaultRange{2, 2};
    options.gpus = {0};
    EXPECT_THROW(make_shot_source(rows, options), Error);
  }
}

TEST(Faults, random_circuits_have_the_conditional_distribution) {
  const char* more = std::getenv("TW_NEAR_CLIFFORD_CIRCUITS");
  const int circuits = more ? std::atoi(more) : 40;
  for (int k = 0; k < circuits; ++k) {
    const std::string text =
        RandomCircuit(static_cast<std::uint64_t>(1000 + k)).text(2 + k % 4, 14 + k % 12, {});
    compare_with_enumeration(text, static_cast<std::uint64_t>(k), 1 << 14);
  }
}

// Numbers of faults weighed by their probabilities give back the circuit: a surface code whose loop is
// folded, all detectors, against shots without a condition.
TEST(Faults, weighted_strata_of_a_folded_code_are_its_shots) {
  circuit::CodeOptions o;
  o.distance = 3, o.rounds = 40;
  o.after_clifford_depolarization = o.before_measure_flip_probability = 0.001;
  o.after_reset_flip_probability = o.before_round_data_depolarization = 0.002;
  const StabProgram program = lower(circuit::code_circuit("surface_code", "rotated_memory_z", o));
  constexpr std::uint64_t kBlocks = 40;
  const auto rates = [&](ShotSource& source, std::uint64_t blocks) {
    std::vector<double> ones(source.num_bits());
    std::vector<std::uint8_t> rows(source.block_shots() * source.row_stride() + 64);
    for (std::uint64_t b = 0; b < blocks; ++b) {
      source.fill(9, b, 0, rows.data());
      for (std::uint64_t s = 0; s < source.block_shots(); ++s) {
        const std::uint8_t* row = rows.data() + s * source.row_stride();
        for (std::size_t k = 0; k < ones.size(); ++k) ones[k] += (row[k / 8] >> (k % 8)) & 1;
      }
    }
    for (double& n : ones) n /= static_cast<double>(blocks * source.block_shots());
    return ones;
  };
  SampleOptions options;
  options.num_threads = 1;
  const auto plain = make_shot_source(program, options);
  const std::vector<double> want = rates(*plain, kBlocks);
  const auto source = source_of(program, ShotOutput::kDetectors, {});
  EXPECT_TRUE(source->faults()->program().moves);  // the loop is folded
  std::vector<double> have(want.size()), variance(want.size());
  for (const FaultRange range : {FaultRange{0, 3}, {4, 4}, {5, 9}, {10, FaultRange::kNoLimit}}) {
    source->faults()->set_range(range);
    const double weight = source->faults()->numbers().weight();
    const std::vector<double> part = rates(*source, kBlocks);
    const auto shots = static_cast<double>(kBlocks * source->block_shots());
    for (std::size_t k = 0; k < have.size(); ++k) {
      have[k] += weight * part[k];
      variance[k] += weight * weight * part[k] * (1 - part[k]) / shots;
    }
  }
  const auto shots = static_cast<double>(kBlocks * plain->block_shots());
  for (std::size_t k = 0; k < have.size(); ++k) {
    const double sigma = std::sqrt(variance[k] + want[k] * (1 - want[k]) / shots);
    EXPECT_LE(std::abs(have[k] - want[k]), kMostSigma * sigma) << k;
  }
}

TEST(Faults, shots_depend_on_the_seed_alone) {
  const StabProgram program = file_program("msc_d3_inject_cultivate_p1e-3.stim");
  const auto one = source_of(program, ShotOutput::kDetectors, {3, 3}, 1),
             other = source_of(program, ShotOutput::kDetectors, {0, 8}, 2);
  const std::uint64_t bytes = one->block_shots() * one->row_stride();
  std::vector<std::uint8_t> a(bytes + 64), b(bytes + 64), c(bytes + 64);
  one->fill(4, 6, 0, a.data());
  other->fill(4, 6, 1, b.data());
  EXPECT_NE(a, b);
  other->faults()->set_range({3, 3});
  other->fill(4, 6, 1, b.data());
  other->fill(5, 6, 1, c.data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(Faults, what_cannot_be_drawn_is_refused) {
  const auto refused = [](const char* text, SampleOptions options) {
    const StabProgram program =
        lower(language::parse_stim(text), "c.stim", Rotations::kKeep, Leakage::kKeep);
    return error_of([&] { make_shot_source(program, options); });
  };
  SampleOptions options;
  options.faults = FaultRange{3, 3};
  EXPECT_NE(refused("X_ERROR(0.1) 0 1\nM 0 1", options).find("2 places of noise"),
            std::string::npos);
  EXPECT_NE(refused("LEAKAGE(0.1) 0\nX_ERROR(0.1) 0 1 2\nM 0", options).find("leakage"),
            std::string::npos);
  options.faults = FaultRange{0, 0};  // 0.7 + 0.2 + 0.1 is 1 - 1e-16
  EXPECT_NE(
      refused("PAULI_CHANNEL_1(0.7, 0.2, 0.1) 0\nM 0", options).find("1 of which always fire"),
      std::string::npos);
  options.engine = Engine::kFrame;
  EXPECT_NE(refused("X_ERROR(0.1) 0 1 2\nM 0", options).find("--engine sparse"), std::string::npos);
  options.engine = Engine::kAuto;
  options.gpus = {0};
  EXPECT_NE(refused("X_ERROR(0.1) 0 1 2\nM 0", options).find("--device cpu"), std::string::npos);
}

}  // namespace
}  // namespace tilewave::stabilizer
