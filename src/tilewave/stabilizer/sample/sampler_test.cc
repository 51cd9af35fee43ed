// What both engines must do exactly: certain outcomes, traps of the language, sameness of shots.
#include "tilewave/stabilizer/sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/reference_sample.h"
#include "tilewave/stabilizer/sample/fill_shots.h"
#include "tilewave/stabilizer/sample/post_select.h"

namespace tilewave::stabilizer {
namespace {

std::vector<std::uint8_t> rows(const std::string& text, SampleOptions options) {
  const auto source = make_shot_source(lower(language::parse_stim(text)), options);
  std::vector<std::uint8_t> out;
  ShotPipeline pipeline;
  pipeline.format = [&](std::uint8_t* from, std::size_t n, formats::ByteBuffer&) {
    return std::span(reinterpret_cast<const char*>(from), n * source->row_bytes());
  };
  pipeline.write = [&](std::span<const char> bytes, std::size_t) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return true;
  };
  EXPECT_EQ(run_shots(*source, options, pipeline), options.num_shots);
  return out;
}

std::string first_error(const std::function<void()>& f) {
  try {
    f();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

// Counts are those of the rows, whatever their length.
TEST(Sampler, kept_shots_and_their_ones_are_those_of_the_rows) {
  for (const std::uint64_t bits : {1u, 8u, 19u, 25u, 44u, 64u, 97u, 121u, 337u}) {
    std::string text = "X_ERROR(0.1)";
    for (std::uint64_t q = 0; q < bits; ++q) text += " " + std::to_string(q);
    text += "\nM";
    for (std::uint64_t q = 0; q < bits; ++q) text += " " + std::to_string(q);
    for (std::uint64_t q = 0; q < bits; ++q)
      text += "\nDETECTOR rec[-" + std::to_string(bits - q) + "]";
    SampleOptions options;
    options.seed = 4;
    options.num_threads = 2;
    options.first_shot = 7;
    options.num_shots = 20'000;
    const std::uint64_t stride = (bits + 7) / 8;
    const std::vector<std::uint8_t> all = rows(text, options);
    const auto is_set = [&](std::uint64_t s, std::uint64_t b) {
      return (all[s * stride + b / 8] >> (b % 8)) & 1;
    };
    options.must_be_zero.resize((bits + 63) / 64);
    for (const std::uint64_t b : {std::uint64_t{0}, bits / 2, bits - 1})
      options.must_be_zero[b / 64] |= std::uint64_t{1} << (b % 64);
    std::uint64_t kept = 0;
    std::vector<std::uint64_t> ones(bits);
    for (std::uint64_t s = 0; s < options.num_shots; ++s) {
      if (is_set(s, 0) || is_set(s, bits / 2) || is_set(s, bits - 1)) continue;
      ++kept;
      for (std::uint64_t b = 0; b < bits; ++b) ones[b] += is_set(s, b);
    }
    const auto source = make_shot_source(lower(language::parse_stim(text)), options);
    KeptShots found = count_kept(*source, options, [](std::uint64_t) { return true; });
    EXPECT_EQ(found.attempted, options.num_shots);
    EXPECT_EQ(found.kept, kept);
    found.ones.resize(bits);
    EXPECT_EQ(found.ones, ones) << bits;
  }
}

// Parts of the sequence in memory are what run_shots() writes, from any shot on and on any threads.
TEST(Sampler, filled_shots_are_those_in_order) {
  const std::string text = "H 0 1 2\nX_ERROR(0.3) 3\nM 0 1 2 3 0 1 2 3 0 1";
  SampleOptions options;
  options.output = ShotOutput::kRecords;
  options.seed = 11;
  options.num_threads = 2;
  const auto source = make_shot_source(lower(language::parse_stim(text)), options);
  options.num_shots = 3 * source->block_shots() + 5;
  const std::vector<std::uint8_t> all = rows(text, options);
  const std::uint64_t bytes = source->row_bytes(), block = source->block_shots();
  for (const auto& [first, count] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 1}, {0, block}, {block - 1, 2}, {3, 3 * block + 2}, {2 * block, block}, {7, 0}}) {
    for (const int threads : {1, 2}) {
      std::vector<std::uint8_t> got(count * bytes, 0xFF);
      fill_shots(*source, options.seed, first, count, threads, [&](const FilledRows& part) {
        EXPECT_LT(part.thread, 2);
        for (std::uint64_t k = 0; k < part.count; ++k) {
          std::copy_n(part.rows + k * source->row_stride(), bytes,
                      got.data() + (part.first + k) * bytes);
        }
      });
      EXPECT_TRUE(std::equal(got.begin(), got.end(),
                             all.begin() + static_cast<std::ptrdiff_t>(first * bytes)))
          << first << " + " << count;
    }
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;
  EXPECT_NO_THROW(check_shot_numbers(kMost - 10, 9, "x"));
  for (const auto& [first, count] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{kMost - 10, 10},
                                                            {kMost, 0},
                                                            {0, kMost},
                                                            {~std::uint64_t{0}, 2},
                                                            {2, ~std::uint64_t{0}}}) {
    EXPECT_THROW(check_shot_numbers(first, count, "x"), Error) << first << " + " << count;
  }
  EXPECT_EQ(shot_gpus("cuda:2-3"), (std::vector<int>{2, 3}));
  EXPECT_TRUE(shot_gpus("cpu").empty());
  EXPECT_THROW(shot_gpus("cpu+cuda:0"), Error);
}

struct Certain {
  const char* circuit;
  const char* records;
};
// Circuits whose records are the same in every shot.
constexpr Certain kCertain[] = {
    {"M 0 !0", "01"},
    {"X 0\nM 0\nM !0 0", "101"},
    {"X_ERROR(1) 0\nM 0", "1"},
    {"Y_ERROR(1) 0\nM 0\nMX 1\nMX 1", nullptr},
    {"X 0\nMR 0 0", "10"},  // a repeated target sees the reset
    {"X_ERROR(1) 0\nMR 0 0\nM 0", "100"},
    {"MR(1) 0 0", "11"},  // the flip is of the record, not of the qubit
    {"M(1) 0\nM 0", "10"},
    {"RX 0\nMX 0 !0", "01"},
    {"RY 0\nMY 0\nMRY !0", "01"},
    {"MPP X0*X0 !Z1", "01"},
    {"MPP X0*Y0*Z0*X1*Y1*Z1", "1"},  // (i)(i) = -1
    {"SPP Z0\nSPP Z0\nRX 1\nSPP Z1\nSPP Z1\nMX 1", "1"},
    {"H 0\nS 0\nS_DAG 0\nH 0\nM 0", "0"},
    {"H 0\nCX 0 1\nMZZ 0 1\nMXX 0 1\nMYY 0 1", "001"},
    {"H 0\nCX 0 1\nMZZ !0 1 0 1", "10"},
    {"MPAD 0 1 1", "011"},
    {"MPAD(1) 0 1", "10"},
    {"X 0\nM 0\nCX rec[-1] 1\nM 1", "11"},
    {"X_ERROR(1) 0\nM 0\nCX rec[-1] 1\nM 1", "11"},
    {"RX 0\nX_ERROR(1) 1\nM 1\nCZ rec[-1] 0\nMX 0", "11"},
    {"X 0\nM 0\nXCZ 1 rec[-1]\nYCZ 1 rec[-1]\nM 1", "10"},
    {"CX sweep[5] 0\nM 0", "0"},  // absent sweep bits are 0
    {"REPEAT 5 {\nX 0\nM 0\n}", "10101"},
    {"REPEAT 3 {\nREPEAT 2 {\nX_ERROR(1) 0\n}\nX 0\nM 0\n}", "101"},
    {"E(1) X0 X1\nELSE_CORRELATED_ERROR(1) X2\nM 0 1 2", "110"},
    {"E(0) X0\nELSE_CORRELATED_ERROR(1) X2\nM 0 2", "01"},
    {"E(0) X0\nH 1\nTICK\nELSE_CORRELATED_ERROR(1) X2\nELSE_CORRELATED_ERROR(1) X0\nM 0 2", "01"},
    {"ELSE_CORRELATED_ERROR(1) X0\nM 0", "1"},
    {"HERALDED_PAULI_CHANNEL_1(0,1,0,0) 0\nM 0", "11"},
    {"HERALDED_ERASE(0) 0 1\nM 0", "000"},
    {"REPEAT 3 {\nHERALDED_PAULI_CHANNEL_1(0,1,0,0) 0\nCX rec[-1] 1\nM 1\n}", "111011"},
    {"PAULI_CHANNEL_1(0,0,1) 0\nM 0\nRX 1\nPAULI_CHANNEL_1(0,0,1) 1\nMX 1", "01"},
    {"PAULI_CHANNEL_2(0,0,0,1,0,0,0,0,0,0,0,0,0,0,0) 0 1\nM 0 1", "10"},
    {"SWAP 0 1\nX 0\nREPEAT 3 {\nSWAP 0 1\nH 2\nS 0\n}\nM 0 1", "01"},
    {"I_ERROR(0.5) 0\nII_ERROR(0.1, 0.2) 0 1\nII 0 1\nM 0", "0"},
};

TEST(Sampler, certain_records_come_out_of_both_engines) {
  for (const Certain& c : kCertain) {
    if (!c.records) continue;
    const std::string want = c.records;
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      SampleOptions o;
      o.output = ShotOutput::kRecords;
      o.engine = engine;
      o.num_shots = 70;
      const auto got = rows(c.circuit, o);
      const std::size_t bytes = (want.size() + 7) / 8;
      ASSERT_EQ(got.size(), 70 * bytes) << c.circuit;
      for (std::size_t s = 0; s < 70; ++s) {
        std::string text;
        for (std::size_t b = 0; b < want.size(); ++b)
          text += static_cast<char>('0' + ((got[s * bytes + b / 8] >> (b % 8)) & 1));
        ASSERT_EQ(text, want) << c.circuit << " engine " << static_cast<int>(engine) << " shot "
                              << s;
      }
    }
  }
}

TEST(Sampler, certain_detectors) {
  const std::string text =
      "X_ERROR(1) 0\nM 0 1\nDETECTOR rec[-2]\nDETECTOR\nDETECTOR rec[-1] rec[-2]\nDETECTOR rec[-2] "
      "rec[-2]\n"
      "OBSERVABLE_INCLUDE(2) rec[-2]\nOBSERVABLE_INCLUDE(2) X1\nZ_ERROR(1) "
      "1\nOBSERVABLE_INCLUDE(4) X1\n";
  for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
    SampleOptions o;
    o.engine = engine;
    o.num_shots = 3;
    const auto got = rows(text, o);
    ASSERT_EQ(got.size(), 6u);
    // detectors 1 0 1 0, observables 0 0 1 0 1; the X of qubit 1 is random, equally in both
    // observables
    EXPECT_EQ(got[0] & 0x3F, 0b000101) << static_cast<int>(engine);
    for (int s = 0; s < 3; ++s) {
      const int low = (got[2 * s] >> 6) & 1, high = got[2 * s + 1] & 1;
      EXPECT_NE(low ^ 1, high ^ 0) << static_cast<int>(engine);
    }
  }
}

const char* const kNoisy =
    "R 0 1 2\nREPEAT 40 {\nDEPOLARIZE2(0.02) 0 1 1 2\nX_ERROR(0.1) "
    "2\nPAULI_CHANNEL_1(0.01,0.02,0.03) 0\nMR(0.05) 1\nDETECTOR rec[-1]\n"
    "H 0\nSWAP 0 2\n}\nM 0 1 2\nDETECTOR rec[-1]\nOBSERVABLE_INCLUDE(0) rec[-2]";

// Loops in which nothing is recorded, of more iterations than anybody can wait for.
TEST(Sampler, long_loops_without_records_are_folded) {
  SampleOptions options;
  options.seed = 5;
  options.num_shots = 4096;
  options.output = ShotOutput::kRecords;
  const struct {
    const char* text;
    const char* want;  // of every record: 0, 1 or ? at random
  } cases[] = {
      {"REPEAT 1000000000001 {\nX 0\n}\nM 0\n", "1"},
      {"REPEAT 1000000000000 {\nH 0\n}\nM 0\n", "0"},
      {"REPEAT 1000000000001 {\nH 0\n}\nM 0\n", "?"},
      {"REPEAT 1000000000000 {\nX_ERROR(0.1) 0\n}\nM 0 1\n", "?0"},
      {"REPEAT 1000000000000 {\nR 0\nH 0\n}\nM 0 1\n", "?0"},
      {"REPEAT 1000000000001 {\nREPEAT 1000000000000 {\nH 0\nCX 0 1\n}\nX 2\n}\nM 2\n", "1"},
      {"X 1\nM 1\nREPEAT 1000000000001 {\nCX rec[-1] 0\n}\nM 0\n", "11"},
      {"MPAD 1\nREPEAT 1000000000000 {\nCX rec[-1] 0\nTICK\n}\nM 0\n", "10"},
  };
  for (const auto& c : cases) {
    const std::vector<std::uint8_t> all = rows(c.text, options);
    for (std::size_t b = 0; c.want[b] != '\0'; ++b) {
      std::uint64_t ones = 0;
      for (const std::uint8_t row : all) ones += row >> b & 1;
      if (c.want[b] == '?') {
        EXPECT_NEAR(static_cast<double>(ones), 2048, 160) << c.text << b;
      } else {
        EXPECT_EQ(ones, c.want[b] == '1' ? all.size() : 0) << c.text << b;
      }
    }
  }
  // and what cannot be
  for (const Engine engine : {Engine::kAuto, Engine::kFrame}) {
    options.engine = engine;
    EXPECT_NE(first_error([&] {
                rows("REPEAT 1000000000000000 {\nELSE_CORRELATED_ERROR(0.1) X0\n}\nM 0\n", options);
              })
                  .find("days (the frame engine goes through every iteration of a REPEAT block): "
                        "shorten the REPEAT blocks"),
              std::string::npos);
  }
}

TEST(Sampler, shots_do_not_depend_on_threads_or_where_a_range_starts) {
  for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
    for (ShotOutput output : {ShotOutput::kRecords, ShotOutput::kDetectors}) {
      SampleOptions o;
      o.engine = engine;
      o.output = output;
      o.num_shots = 30000;
      o.seed = 99;
      o.num_threads = 1;
      const auto all = rows(kNoisy, o);
      o.num_threads = 3;
      EXPECT_EQ(rows(kNoisy, o), all);
      o.first_shot = 12345;
      o.num_shots = 9999;
      const std::size_t bytes = all.size() / 30000;
      const auto part = rows(kNoisy, o);
      EXPECT_TRUE(std::equal(part.begin(), part.end(),
                             all.begin() + static_cast<std::ptrdiff_t>(12345 * bytes)));
      o.seed = 100;
      EXPECT_NE(rows(kNoisy, o), part);
    }
  }
}

TEST(Sampler, resumed_ranges_take_the_same_engine) {
  SampleOptions o;
  o.num_shots = 1;
  const StabProgram p = lower(language::parse_stim(kNoisy));
  const std::string few = make_shot_source(p, o)->explain();
  o.num_shots = 1 << 30;
  EXPECT_EQ(make_shot_source(p, o)->explain(), few);
}

// Rounded to single precision, 1 - 2e-8 would be 1, and 0.1 + 0.2 + 0.7 more than 1.
TEST(Sampler, probabilities_keep_double_precision) {
  const double p = 1 - 2e-8;
  const StabProgram program =
      lower(language::parse_stim("X_ERROR(0.99999998) 0\nM 0\nDETECTOR rec[-1]"));
  const FrameProgram frames = compile_frames(program, FrameOutput::kDetectors);
  ASSERT_EQ(frames.channels.size(), 1u);
  EXPECT_EQ(frames.channels[0].probability, p);
  EXPECT_EQ(frames.channels[0].inv_log, 1 / std::log1p(-p));
  const SparseProgram sparse = build_sparse(program, SymptomKind::kDetectors);
  EXPECT_EQ(sparse.always, std::vector<std::uint32_t>{0});
  EXPECT_NEAR(sparse.events_per_shot, 2e-8, 1e-14);
  const auto model = analyze_errors(program, {});
  EXPECT_EQ(model.instructions[0].args, std::vector<double>{p});
  // An error in every shot, never none: the branches fill the whole of 2^24.
  for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
    SampleOptions o;
    o.engine = engine;
    o.num_shots = 20000;
    const auto got = rows(
        "MPP X0*X1 Z0*Z1\nPAULI_CHANNEL_1(0.1, 0.2, 0.7) 0\nMPP X0*X1 Z0*Z1\nDETECTOR rec[-1] "
        "rec[-3]\nDETECTOR rec[-2] rec[-4]\nRX 2\nZ_ERROR(1e-30) 2\nMX 2\nDETECTOR rec[-1]",
        o);
    std::size_t none = 0, beside = 0;
    for (std::uint8_t row : got) none += (row & 3) == 0, beside += row >> 2;
    EXPECT_EQ(none, 0u) << static_cast<int>(engine);
    EXPECT_EQ(beside, 0u) << static_cast<int>(engine);
  }
}

TEST(ReferenceSample, folds_loops_of_any_period) {
  // Qubit 0 counts modulo 2, so the state has period 2; then an odd tail.
  const auto bits = reference_sample(
      lower(language::parse_stim("REPEAT 1000001 {\nX 0\nM 0\n}\nM 0\nCX rec[-2] 1\nM 1")));
  for (std::uint64_t r : {0, 1, 2, 999999, 1000000}) {
    EXPECT_EQ((bits[r / 64] >> (r % 64)) & 1, (r + 1) % 2) << r;
  }
  EXPECT_EQ((bits[1000001 / 64] >> (1000001 % 64)) & 1, 1u);
  EXPECT_EQ((bits[1000002 / 64] >> (1000002 % 64)) & 1, 1u);
}

// Measured together (in blocks of 64 and chunks of 512) and one by one, at the end and before more
// gates, qubits have the same outcomes.
TEST(ReferenceSample, does_not_depend_on_how_many_are_measured_together) {
  for (const auto& [n, seed] : {std::pair{70u, 1u}, {300u, 2u}, {700u, 3u}}) {
    std::uint64_t state = seed;
    const auto draw = [&](std::uint32_t below) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      return static_cast<std::uint32_t>((state >> 33) % below);
    };
    std::string gates;
    const char* const kOne[] = {"H", "S", "SQRT_X_DAG", "C_XYZ", "C_ZYX", "Y", "H_YZ"};
    const char* const kTwo[] = {"CX", "CZ", "YCX", "ISWAP", "SWAP", "XCX"};
    for (std::uint32_t k = 0; k < 6 * n; ++k) {
      const std::uint32_t a = draw(n), b = (a + 1 + draw(n - 1)) % n;
      if (k % 2)
        gates += std::string(kOne[draw(7)]) + " " + std::to_string(a) + "\n";
      else
        gates +=
            std::string(kTwo[draw(6)]) + " " + std::to_string(a) + " " + std::to_string(b) + "\n";
    }
    const char* const kBasis[] = {"M", "MX", "MRY"};
    std::string together, alone;
    for (int part = 0; part < 3; ++part) {
      together += gates + kBasis[part];
      alone += gates;
      for (std::uint32_t q = 0; q < n; ++q) {
        together += " " + std::to_string(q);
        // A gate between them keeps measurements apart.
        alone += std::string(kBasis[part]) + " " + std::to_string(q) + "\nX " +
                 std::to_string((q + 1) % n) + "\nX " + std::to_string((q + 1) % n) + "\n";
      }
      together += "\n";
    }
    EXPECT_TRUE(reference_sample(lower(language::parse_stim(together))) ==
                reference_sample(lower(language::parse_stim(alone))))
        << n;
  }
}

// The tableau holds the qubits that are used: one far away costs nothing, and changes no record.
TEST(ReferenceSample, qubits_may_have_large_numbers) {
  const std::string text =
      "H @0\nCX @0 @1 @1 @2\nX @2\nMPP X@0*X@1*X@2 Z@0*Z@1\nM @0 @1 @2\nCX rec[-1] @0\nSWAP @0 @2\n"
      "REPEAT 6 {\nH @1\nMR @1 @2\nCX rec[-2] @2\n}\nMX @0\nMY !@1 @2\n";
  const auto with = [&](const std::array<const char*, 3>& numbers) {
    std::string out = text;
    for (std::size_t at = 0; (at = out.find('@', at)) != std::string::npos;)
      out.replace(at, 2, numbers[static_cast<std::size_t>(out[at + 1] - '0')]);
    return reference_sample(lower(language::parse_stim(out)));
  };
  EXPECT_TRUE(with({"0", "1", "2"}) == with({"5", "1000000", "7000001"}));
  EXPECT_TRUE(with({"2", "0", "1"}) == with({"7000001", "5", "1000000"}));
}

// What stands behind the last measurement, such as what undoes the gates of a product, is left out:
// the records are those of the same circuit with more measurements behind.
TEST(ReferenceSample, gates_behind_the_last_measurement_change_nothing) {
  const std::string parts[] = {"H 0\nCX 0 1 1 2\nMPP X0*X1*X2 Z0*Z1 !Y0*Y1*Z3",
                               "X 0\nMR 0\nCX rec[-1] 1\nMXX 1 2", "REPEAT 3 {\nMPP X0*Z1\nX 0\n}",
                               "X 2\nMYY 1 2\nCZ rec[-1] 0\nMPP !X0*Z2*Y3"};
  const std::string behind[] = {"", "H 0\nCX 0 1\nR 0 2", "CX rec[-1] 0\nRX 1\nMPAD 1 0",
                                "X 3\nSPP X0*Y3\nHERALDED_ERASE(0) 1"};
  const std::string more = "\nM 0 1 2 3\nREPEAT 2 {\nMX 0\n}";
  for (const std::string& a : parts) {
    for (const std::string& b : parts) {
      for (const std::string& c : behind) {
        const std::string text = a + "\n" + b + "\n" + c + "\n";
        const StabProgram program = lower(language::parse_stim(text));
        const auto short_one = reference_sample(program);
        const auto long_one = reference_sample(lower(language::parse_stim(text + more)));
        const std::uint64_t mask = (std::uint64_t{1} << program.counts.measurements) - 1;
        EXPECT_EQ(short_one[0], long_one[0] & mask) << text;
      }
    }
  }
}

// One product of many factors at the end: a tableau of its qubits would take 6 GB.
TEST(ReferenceSample, one_wide_product_takes_little_memory) {
  std::string text = "MPP ";
  for (int q = 0; q < 80000; ++q) {
    text += std::string(q ? "*" : "") + "XYZ"[q % 3] + std::to_string(q);
  }
  const std::uint64_t before = runtime::peak_resident_bytes();
  EXPECT_EQ(reference_sample(lower(language::parse_stim(text + "\n")))[0], 0u);
  EXPECT_LT(runtime::peak_resident_bytes() - before, std::uint64_t{256} << 20);
}

TEST(Lower, refuses_what_has_no_meaning) {
  EXPECT_THROW(lower(language::parse_stim("MPP X0*Y0")), Error);
  EXPECT_THROW(lower(language::parse_stim("M 0\nDETECTOR rec[-2]")), Error);
  EXPECT_THROW(lower(language::parse_stim("REPEAT 1000000000000 {\nCX rec[-1] 0\nM 0\n}")), Error);
  EXPECT_NO_THROW(lower(language::parse_stim("M 0\nREPEAT 1000000000000 {\nCX rec[-1] 0\nM 0\n}")));
}

}  // namespace
}  // namespace tilewave::stabilizer
