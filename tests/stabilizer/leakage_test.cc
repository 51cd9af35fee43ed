// Leakage in the frame engine against full enumeration of small circuits (enumerator.h): a bit of every
// qubit beside a state vector, and every branch of what the words say followed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "stabilizer/enumerator.h"
#include "stabilizer/random_leakage.h"
#include "stabilizer/shot_counts.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/detections.h"
#include "tilewave/stabilizer/error_analysis.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

StabProgram lower_text(const std::string& text) {
  return lower(language::parse_stim(text), "<circuit>", Rotations::kKeep, Leakage::kKeep);
}

// Rows of shots one behind the other.
std::vector<std::uint8_t> sample(const StabProgram& program, SampleOptions options) {
  const auto source = make_shot_source(program, options);
  std::vector<std::uint8_t> out;
  ShotPipeline pipeline;
  pipeline.format = [&](std::uint8_t* rows, std::size_t n, formats::ByteBuffer&) {
    return std::span<const char>(reinterpret_cast<const char*>(rows), n * source->row_stride());
  };
  pipeline.write = [&](std::span<const char> bytes, std::size_t) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return true;
  };
  EXPECT_EQ(run_shots(*source, options, pipeline), options.num_shots);
  EXPECT_EQ(source->engine(), "frame");
  return out;
}

Counts count(const std::vector<std::uint8_t>& rows, std::uint64_t num_bits) {
  RowCounts counts(num_bits);
  for (std::size_t at = 0; at < rows.size(); at += (num_bits + 7) / 8) counts.add(&rows[at]);
  return counts.counts();
}

constexpr std::uint64_t kShots = 1 << 20;

void expect_drawn_from(const std::map<std::string, double>& exact,
                       const std::map<std::string, std::uint64_t>& counts,
                       const std::string& text) {
  for (const auto& [bits, n] : counts)
    EXPECT_TRUE(exact.count(bits)) << "impossible " << bits << " in\n" << text;
  for (const auto& [bits, p] : exact) {
    const double expected = p * kShots, sigma = std::sqrt(expected * (1 - p));
    const auto it = counts.find(bits);
    const double drawn = it == counts.end() ? 0 : static_cast<double>(it->second);
    // 5 sigma, one more for the thousands of comparisons, and one shot for rare outcomes
    EXPECT_LE(std::abs(drawn - expected), 6 * sigma + 1) << bits << " in\n" << text;
  }
}

struct Case {
  bool gates_scramble;
  const char* text;
  const char* spelled_out = nullptr;  // what is enumerated instead, where a word hides gates
};

const Case kCases[] = {
    // ---- deltakit's words: gates depolarise partners
    {true, "RX 0\nLEAKAGE(0.3) 0 1\nHERALD_LEAKAGE_EVENT 0 1\nM 1\nMX 0 0\nHERALD_LEAKAGE_EVENT 0"},
    {true, "R 0 1\nLEAKAGE(0.3) 0\nCX 0 1\nM 1 0\nHERALD_LEAKAGE_EVENT(0.25) 0 1"},
    {true, "RX 0 1\nLEAKAGE(0.3) 0 1\nCX 0 1\nMX 0 1\nHERALD_LEAKAGE_EVENT(0.1, 0.2) 0 1"},
    {true, "H 0\nCX 0 1\nLEAKAGE(0.4) 1\nCZ 1 2\nM 0 1 2"},
    {true,
     "RX 0 1\nR 2\nLEAKAGE(0.4) 1\nCX(0.3, 0.2, 0.4, 0.1) 0 1 1 2\n"
     "HERALD_LEAKAGE_EVENT 0 1 2\nMX 0 1\nM 2"},
    {true,
     "RY 0\nR 1\nLEAKAGE(0.3) 0 1\nCY(0.5, 0.25, 0.5, 0.75) 0 1\nRELAX(0.4) 0\nCY 1 0\n"
     "HERALD_LEAKAGE_EVENT 0 1\nMY 0\nM 1"},
    {true,
     "LEAKAGE(0.5) 0\nSQRT_XX(0.2, 0, 0.6, 0) 0 1\nSQRT_XX_DAG(0, 0.7, 0, 0) 0 1\n"
     "HERALD_LEAKAGE_EVENT 0 1\nM 0 1"},
    {true, "LEAKAGE(0.5) 0 1\nMR 0\nRL 1\nCX 0 1\nM 1\nHERALD_LEAKAGE_EVENT 0 1"},
    {true, "RX 0\nLEAKAGE(0.4) 0\nRL 0\nCX 0 1\nMX 0\nM 1"},
    // what the second qubit does comes behind what the first does, which may have leaked it
    {true, "LEAKAGE(0.5) 0\nM 0\nCZ(0.5, 0, 0, 0) 0 1\nM 0\nHERALD_LEAKAGE_EVENT 0 1\nM 1"},
    {true, "LEAKAGE(0.5) 0 1\nM 0 1\nCX(0.3, 0.6, 0.4, 0.7) 0 1\nM 0 1\nHERALD_LEAKAGE_EVENT 0 1"},
    {true, "LEAKAGE(0.5) 1\nM 1\nCX(0, 0.6, 0, 0.7) 0 1\nM 0 1\nHERALD_LEAKAGE_EVENT 0 1"},
    // gates that are not among those that depolarise, and feedback
    {true, "RX 0\nLEAKAGE(0.4) 0\nXCZ 1 0\nSQRT_ZZ 0 1\nMX 0\nM 1\nCX rec[-1] 0\nM 0"},
    // a herald that corrects
    {true, "LEAKAGE(0.3) 0\nHERALD_LEAKAGE_EVENT 0\nRL 0\nCX rec[-1] 1\nM 1 0"},
    // flags go where qubits go
    {true, "LEAKAGE(0.4) 0\nSWAP 0 1\nISWAP 1 2\nHERALD_LEAKAGE_EVENT 0 1 2\nCX 2 0\nM 0 1 2"},
    {true,
     "REPEAT 3 {\nLEAKAGE(0.2) 0\nH 0\nCX(0.1, 0.2, 0.3, 0.4) 0 1\nSWAP 0 1\nMR 1\n}\n"
     "HERALD_LEAKAGE_EVENT 0 1"},
    // single places, which gather in lists of sites
    {true,
     "LEAKAGE(0.012) 0 1\nH 0\nX_ERROR(0.01) 0\nCX(0.3, 0.2, 0.1, 0) 0 1\nLEAKAGE(0.008) 0\n"
     "DEPOLARIZE1(0.01) 1\nRELAX(0.5) 0\nHERALD_LEAKAGE_EVENT(0.1) 0 1\nMX 0\nM(0.01) 1"},
    // products are the gates that Stim decomposes them to
    {true, "RX 0\nLEAKAGE(0.4) 1\nMPP Z0*Z1*Z2 Z1*X0\nM 0 1 2",
     "RX 0\nLEAKAGE(0.4) 1\nCX 1 0 2 0\nM 0\nCX 1 0 2 0\nH 0\nCX 0 1\nM 1\nCX 0 1\nH 0\nM 0 1 2"},
    {true, "RX 0 1\nLEAKAGE(0.4) 0\nSPP Z0*Z1\nMX 0 1",
     "RX 0 1\nLEAKAGE(0.4) 0\nCX 1 0\nS 0\nCX 1 0\nMX 0 1"},
    {true, "LEAKAGE(0.4) 1\nMZZ 0 1 1 2\nM 0 1 2"},
    // ---- cuStabilizer's words: nothing but what is written
    {false, "RX 0\nLEAKAGE_MARK1(0.3) 0 1\nCX 0 1\nHERALD_LEAKAGE_EVENT 0 1\nMX 0\nM 1"},
    {false,
     "LEAKAGE_MARK2(0.1, 0.2, 0.3) 0 1\nLEAKAGE_SCRAMBLE 0 1\nCX 0 1\n"
     "HERALD_LEAKAGE_EVENT 0 1\nM 0 1"},
    {false,
     "LEAKAGE_MARK2(0.1, 0.2, 0.3) 0 1\nLEAKAGE_SCRAMBLE_PARTNER 0 1 1 2\n"
     "HERALD_LEAKAGE_EVENT 0 1\nM 0 1 2"},
    {false,
     "LEAKAGE_MARK2(0.1, 0.2, 0.3) 0 1\nLEAKAGE_PROPAGATE_MARK(0.5, 0.1, 0.2, 0.7) 0 1 1 2\n"
     "HERALD_LEAKAGE_EVENT 0 1 2\nM 0 1 2"},
    {false,
     "LEAKAGE_MARK1(0.5) 0\nLEAKAGE_PROPAGATE(0.5, 0.1, 0.2, 0.7) 0 1 2 1\n"
     "HERALD_LEAKAGE_EVENT 0 1 2\nM 0 1 2"},
    {false, "LEAKAGE_MARK1(0.5) 0\nLEAKAGE_PROPAGATE(0, 0, 0, 0) 0 1\nM 0 1"},
    // LEAKAGE1 and LEAKAGE2 depolarise what was not leaked before
    {false, "LEAKAGE_MARK1(0.5) 0\nLEAKAGE1(0.4) 0\nM 0\nHERALD_LEAKAGE_EVENT 0"},
    {false, "LEAKAGE_MARK1(0.5) 0\nLEAKAGE2(0.3, 0.2, 0.4) 0 1\nM 0 1\nHERALD_LEAKAGE_EVENT 0 1"},
    {false,
     "LEAKAGE_MARK1(0.5) 0\nLEAKAGE1(0.012) 0 0\nLEAKAGE2(0.004, 0.003, 0.005) 0 1\n"
     "LEAKAGE_MARK2(0.004, 0.003, 0.005) 1 2\nM 0 1\nHERALD_LEAKAGE_EVENT(0, 0.01) 0 1 2"},
    {false,
     "LEAKAGE1(1) 0\nLEAKAGE_RELAX(0.3) 0 0\nHERALD_LEAKAGE_EVENT 0\nLEAKAGE_RESET 0\n"
     "HERALD_LEAKAGE_EVENT 0\nM 0"},
    {false,
     "H 1\nLEAKAGE_MARK1(0.4) 0 1\nLEAKAGE_PAULI1(0.1, 0.2, 0.05, 0.3, 0, 0.6) 0 1\n"
     "HERALD_LEAKAGE_EVENT 0 1\nM 0\nMX 1"},
    {false,
     "C_XYZ 0\nLEAKAGE_MARK1(0.4) 0\nLEAKAGE_PAULI1(0, 0, 0, 0.2, 0.1, 0.4) 0\n"
     "LEAKAGE_PAULI1(0.01, 0, 0.002, 0, 0, 0) 0\nC_ZYX 0\nM 0\nHERALD_LEAKAGE_EVENT 0"},
    {false,
     "H 1\nLEAKAGE_MARK1(0.4) 0 1\nLEAKAGE_PAULI2("
     ".01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08,"
     ".3,0,0,0,0,.1,0,0,0,0,0,0,.2,0,0,"
     "0,.2,0,0,0,0,.1,0,0,0,0,0,0,0,.4,"
     "0,0,0,.2,0,0,0,.3,0,.1,0,0,0,0,.05) 0 1\nHERALD_LEAKAGE_EVENT 0 1\nM 0\nMX 1"},
};

TEST(Leakage, records_have_the_exact_joint_distribution) {
  for (const Case& c : kCases) {
    const std::string enumerated = c.spelled_out ? c.spelled_out : c.text;
    const auto full = Enumerator(language::parse_stim(enumerated), c.gates_scramble).distribution();
    const StabProgram program = lower_text(c.text);
    std::map<std::string, double> exact;
    double total = 0;
    for (const auto& [records, p] : full) total += p, exact[records] += p;
    ASSERT_NEAR(total, 1, 1e-9) << c.text;
    SampleOptions options;
    options.output = ShotOutput::kRecords;
    options.num_shots = kShots;
    options.seed = 11;
    options.num_threads = 1;
    expect_drawn_from(exact, count(sample(program, options), program.counts.measurements), c.text);
  }
}

// More of them: TW_LEAKAGE_CIRCUITS=2000 test_stabilizer_leakage.
TEST(Leakage, random_circuits_have_the_exact_joint_distribution) {
  const char* wanted = std::getenv("TW_LEAKAGE_CIRCUITS");
  const int circuits = wanted ? std::atoi(wanted) : 60;
  std::mt19937_64 random(2026);
  for (int k = 0; k < circuits; ++k) {
    const bool deltakit = k % 2 == 0;
    const std::string text = random_leakage_circuit(random, deltakit);
    const auto exact = Enumerator(language::parse_stim(text), deltakit).distribution();
    const StabProgram program = lower_text(text);
    SampleOptions options;
    options.output = ShotOutput::kRecords;
    options.num_shots = kShots;
    options.seed = static_cast<std::uint64_t>(k);
    options.num_threads = 1;
    expect_drawn_from(exact, count(sample(program, options), program.counts.measurements), text);
  }
}

// Detectors of heralds and of measurements, and m2d, which takes heralds for records.
TEST(Leakage, heralds_are_records_of_detectors) {
  const std::string text =
      "R 0 1\nLEAKAGE(0.1) 0\nCX(0.3, 0, 0.2, 0) 0 1\nX_ERROR(0.2) 1\n"
      "HERALD_LEAKAGE_EVENT(0.1, 0.05) 0 1\nM 1\n"
      "DETECTOR rec[-3]\nDETECTOR rec[-2] rec[-1]\nDETECTOR rec[-1]\n"
      "OBSERVABLE_INCLUDE(0) rec[-3] rec[-1]";
  std::map<std::string, double> exact;
  for (const auto& [r, p] : Enumerator(language::parse_stim(text), true).distribution()) {
    const auto parity = [&, &r = r](std::size_t a, std::size_t b) {
      return r[a] == r[b] ? '0' : '1';
    };
    exact[{r[0], parity(1, 2), r[2], parity(0, 2)}] += p;
  }
  const StabProgram program = lower_text(text);
  SampleOptions options;
  options.num_shots = kShots;
  options.seed = 3;
  expect_drawn_from(exact, count(sample(program, options), 4), text);
  options.output = ShotOutput::kRecords;
  const auto records = sample(program, options);
  std::vector<std::uint8_t> converted(kShots);
  DetectionConverter(program, true)
      .convert(records.data(), 1, nullptr, 0, kShots, converted.data());
  expect_drawn_from(exact, count(converted, 4), text);
}

TEST(Leakage, that_of_no_qubit_changes_no_gate) {
  const StabProgram program = lower_text("LEAKAGE(0.1)\nH 0\nCX 0 1\nM 0 1\n");
  EXPECT_FALSE(program.has_leakage);
  for (const Prim& p : program.blocks[0]) EXPECT_NE(p.kind, PrimKind::kScramblePartner);
  EXPECT_TRUE(lower_text("LEAKAGE(0.1) 0\nCX 0 1\n").has_leakage);
}

// A hundred qubits, loops, all kinds of operations: the bytes do not depend on threads or batches.
TEST(Leakage, shots_of_a_seed_do_not_depend_on_threads) {
  std::string qubits, pairs;
  for (int q = 0; q < 100; ++q) qubits += " " + std::to_string(q);
  for (int q = 0; q < 99; q += 2) pairs += " " + std::to_string(q) + " " + std::to_string(q + 1);
  const std::string text = "RX" + qubits + "\nREPEAT 5 {\nLEAKAGE(0.002)" + qubits +
                           "\nDEPOLARIZE1(0.01)" + qubits + "\nCX(0.1, 0.2, 0.3, 0.1)" + pairs +
                           "\nLEAKAGE(0.3) 5\nRELAX(0.2)" + qubits + "\nSWAP 0 7\nCZ" + pairs +
                           "\nHERALD_LEAKAGE_EVENT(0.1, 0.01)" + qubits + "\nMX(0.01)" + qubits +
                           "\n}";
  const StabProgram program = lower_text(text);
  SampleOptions options;
  options.output = ShotOutput::kRecords;
  options.num_shots = 20000;
  options.seed = 77;
  options.num_threads = 1;
  const auto one = sample(program, options);
  options.num_threads = 3;
  EXPECT_TRUE(sample(program, options) == one);
  options.first_shot = 5000;
  options.num_shots = 1000;
  const std::size_t row = (program.counts.measurements + 7) / 8;
  EXPECT_TRUE(sample(program, options) ==
              std::vector<std::uint8_t>(one.begin() + static_cast<std::ptrdiff_t>(5000 * row),
                                        one.begin() + static_cast<std::ptrdiff_t>(6000 * row)));
  options.seed = 78;
  EXPECT_FALSE(sample(program, options) ==
               std::vector<std::uint8_t>(one.begin() + static_cast<std::ptrdiff_t>(5000 * row),
                                         one.begin() + static_cast<std::ptrdiff_t>(6000 * row)));
}

// Leakage that never happens changes no bit of what happens.
TEST(Leakage, a_circuit_whose_leakage_never_happens_has_the_records_of_one_without) {
  const std::string text = "RX 0\nDEPOLARIZE1(0.3) 0\nCX 0 1\nX_ERROR(0.2) 1\nM 1\nMX 0";
  SampleOptions options;
  options.output = ShotOutput::kRecords;
  options.engine = Engine::kFrame;
  options.num_shots = 10000;
  options.seed = 5;
  const auto without = sample(lower_text(text), options);
  std::string spreading = text;
  spreading.replace(spreading.find("CX"), 2, "CX(0.6, 0.1, 0.3, 0.2)");
  for (const std::string& of : {"LEAKAGE_MARK1(0) 0\n" + text, "LEAKAGE(0) 0\n" + text, spreading,
                                "RELAX(0) 0\nSPP X0*X1\nSPP_DAG X0*X1\n" + text}) {
    EXPECT_FALSE(lower_text(of).has_leakage) << of;
    EXPECT_TRUE(sample(lower_text(of), options) == without) << of;
  }
}

TEST(Leakage, what_cannot_be_run_is_refused) {
  const std::string text = "LEAKAGE(0.1) 0\nM 0";
  SampleOptions options;
  const auto run = [&](const std::string& of) {
    return error_of([&] { make_shot_source(lower_text(of), options); });
  };
  options.engine = Engine::kSparse;
  EXPECT_NE(run(text).find("sparse engine cannot run"), std::string::npos);
  options.engine = Engine::kAuto;
  EXPECT_NE(run("LEAKAGE(0.1) 0\nT 0\nM 0").find("beyond Clifford"), std::string::npos);
  EXPECT_NE(run("LEAKAGE(0.1) 0\nLEAKAGE_MARK1(0.1) 0").find("LEAKAGE_MARK1 (line 2)"),
            std::string::npos);
  EXPECT_NE(run("CX(0, 0, 0, 0) 0 1\nREPEAT 2 {\nLEAKAGE_RESET 0\n}").find("CX with arguments"),
            std::string::npos);
  EXPECT_NE(error_of([&] { lower(language::parse_stim(text)); }).find("is leakage"),
            std::string::npos);
}

TEST(Leakage, arguments_are_checked) {
  for (const char* bad :
       {"CX(0.1) 0 1", "CX(0.1, 0.1, 0.1, 1.5) 0 1", "CX(0.1, 0.1, 0.1, 0.1, 1) 0 1",
        "SWAP(0.1, 0.1, 0.1, 0.1) 0 1", "LEAKAGE 0", "LEAKAGE(-0.1) 0", "RL(0.1) 0",
        "LEAKAGE_MARK2(0.5, 0.4, 0.2) 0 1", "LEAKAGE_MARK2(0.1, 0.1, 0.1) 0 0",
        "LEAKAGE_PROPAGATE(0.6, 0, 0.5, 0) 0 1", "LEAKAGE_PAULI1(0.1, 0.1, 0.1, 0.5, 0.4, 0.2) 0",
        "HERALD_LEAKAGE_EVENT(0.1, 0.2, 0.3) 0", "LEAKAGE_SCRAMBLE_PARTNER 0 1 2"})
    EXPECT_THROW(language::parse_stim(bad), Error) << bad;
  const std::string good =
      "CX(0.6, 0.7, 0.8, 0.9) 0 1 2 3\nCX 0 1\nLEAKAGE_PROPAGATE(0.6, 0.7, 0.4, 0.3) 0 1\n"
      "LEAKAGE_PAULI1(0.5, 0.5, 0, 0, 0.5, 0.5) 0\nHERALD_LEAKAGE_EVENT(0.9, 0.8) 0\n";
  EXPECT_EQ(language::print_stim(language::parse_stim(good)), good);
}

}  // namespace
}  // namespace tilewave::stabilizer
