// Circuits beyond Clifford against state vectors (enumerator.h): the joint distribution of all records
// and of all detectors, by full enumeration up to six qubits and by drawn shots from seven to twelve;
// and what post-selection keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>

#include "stabilizer/enumerator.h"
#include "stabilizer/random_circuit.h"
#include "stabilizer/shot_counts.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/near_clifford/program.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {
namespace {

std::unique_ptr<ShotSource> source_of(const StabProgram& program, ShotOutput output, Engine engine,
                                      std::uint64_t shots, int threads = 1) {
  SampleOptions options;
  options.output = output;
  options.engine = engine;
  options.num_shots = shots;
  options.num_threads = threads;
  return make_shot_source(program, options);
}

// The parities that detectors and observables take, of the records of every outcome.
std::string detections(const StabilizerCircuit& circuit, const std::string& records) {
  std::string detectors;
  std::string observables(circuit.counts().observables, '0');
  std::size_t measured = 0;
  for (const StabInstruction& op : circuit.instructions()) {
    measured += circuit::count_measurements(circuit, op);
    if (op.kind != StabKind::kDetector && op.kind != StabKind::kObservableInclude) continue;
    bool parity = false;
    for (const StabTarget& t : circuit.targets(op)) parity ^= records[measured - t.value] == '1';
    if (op.kind == StabKind::kDetector) {
      detectors += parity ? '1' : '0';
    } else if (parity) {
      observables[static_cast<std::size_t>(circuit.args(op)[0])] ^= 1;
    }
  }
  return detectors + observables;
}

std::string without_noise(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find("ERROR") != line.npos || line.find("DEPOL") != line.npos ||
        line.find("CHANNEL") != line.npos)
      continue;
    if (line[0] == 'M' && line.find('(') != line.npos)
      line.erase(line.find('('), line.find(')') - line.find('(') + 1);
    out += line + "\n";
  }
  return out;
}

constexpr double kMostSigma = 5.5;  // of some thousand comparisons

TEST(NearClifford, random_circuits_have_the_exact_distribution) {
  constexpr std::uint64_t kShots = 1 << 15;
  const char* more = std::getenv("TW_NEAR_CLIFFORD_CIRCUITS");
  const int circuits = more ? std::atoi(more) : 150;
  const char* wider = std::getenv("TW_NEAR_CLIFFORD_QUBITS");
  const int most_qubits = wider ? std::max(6, std::atoi(wider)) : 6;
  RandomCircuit::Limits limits;
  if (most_qubits > 6) limits = {2, 1, 3, 4};  // branches of wide circuits are long
  int with_rotations = 0;
  for (int k = 0; k < circuits; ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    const std::string text = RandomCircuit(seed).text(
        most_qubits - 4 + k % 5, (14 + 2 * (k % 11)) * most_qubits / 6, limits);
    const StabilizerCircuit circuit = language::parse_stim(text);
    const Distribution exact = Enumerator(circuit).distribution();
    const StabProgram program = lower(circuit, "<circuit>", Rotations::kKeep);
    with_rotations += program.num_rotations > 0;
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      const auto records = source_of(program, ShotOutput::kRecords, engine, kShots);
      EXPECT_LT(deviation(exact, count(*records, seed, kShots), kShots), kMostSigma)
          << "records, circuit " << k << "\n"
          << text;
    }
    if (program.num_rotations == 0) continue;
    // Detectors are told relative to a noiseless shot of the more likely outcomes.
    const std::vector<std::uint64_t> reference =
        compile_near_clifford(program, FrameOutput::kDetectors).reference;
    std::string noiseless = bits_of(reinterpret_cast<const std::uint8_t*>(reference.data()),
                                    circuit.counts().measurements);
    EXPECT_EQ(Enumerator::likeliest_records(language::parse_stim(without_noise(text))), noiseless)
        << "circuit " << k << "\n"
        << text;
    const std::string base = detections(circuit, noiseless);
    Distribution flips;
    for (const auto& [records, p] : exact) {
      std::string bits = detections(circuit, records);
      for (std::size_t b = 0; b < bits.size(); ++b) bits[b] = bits[b] == base[b] ? '0' : '1';
      flips[bits] += p;
    }
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      const auto detectors = source_of(program, ShotOutput::kDetectors, engine, kShots);
      EXPECT_LT(deviation(flips, count(*detectors, seed, kShots), kShots), kMostSigma)
          << "detectors, circuit " << k << "\n"
          << text;
      // Post-selection keeps those rows, in order.
      std::vector<std::uint8_t> all(detectors->block_shots() * detectors->row_stride() + 64),
          kept = all;
      detectors->fill(seed, 3, 0, all.data());
      const std::uint64_t count =
          detectors->fill_kept(seed, 3, 0, detectors->block_shots(), 0, {0b101}, kept.data());
      std::vector<std::string> want, have;
      for (std::uint64_t s = 0; s < detectors->block_shots(); ++s) {
        const std::uint8_t* row = all.data() + s * detectors->row_stride();
        if ((row[0] & 0b101) == 0) want.push_back(bits_of(row, detectors->num_bits()));
      }
      for (std::uint64_t s = 0; s < count; ++s)
        have.push_back(bits_of(kept.data() + s * detectors->row_stride(), detectors->num_bits()));
      EXPECT_EQ(want, have) << "post-selected, circuit " << k << "\n" << text;
    }
  }
  EXPECT_GT(with_rotations, circuits / 2);
}

// The probability that chi-square with this many degrees of freedom is at least so large: Q(n/2, x/2)
// by Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1).
double chi_square_tail(double chi, int degrees) {
  const double x = chi / 2;
  double a = degrees % 2 ? 0.5 : 1, q = degrees % 2 ? std::erfc(std::sqrt(x)) : std::exp(-x);
  for (; a + 0.5 < degrees / 2.0; ++a) q += std::exp(a * std::log(x) - x - std::lgamma(a + 1));
  return q;
}

// The probability that two sets of shots of one distribution differ at least as much: chi-square of two
// samples. Rows that are rare in the smaller set are taken together.
double two_sample_tail(const Counts& a, const Counts& b) {
  std::map<std::string, std::array<double, 2>> cells;
  double total[2] = {0, 0};
  for (const auto& [bits, n] : a) cells[bits][0] += static_cast<double>(n);
  for (const auto& [bits, n] : b) cells[bits][1] += static_cast<double>(n);
  for (const auto& [bits, n] : cells) total[0] += n[0], total[1] += n[1];
  const double share = std::min(total[0], total[1]) / (total[0] + total[1]);
  double chi = 0, rest[2] = {0, 0};
  int used = 0;
  const auto add = [&](double r, double s) {
    const double difference =
        r * std::sqrt(total[1] / total[0]) - s * std::sqrt(total[0] / total[1]);
    chi += difference * difference / (r + s);
    ++used;
  };
  for (const auto& [bits, n] : cells) {
    if ((n[0] + n[1]) * share >= 10) {
      add(n[0], n[1]);
    } else {
      rest[0] += n[0], rest[1] += n[1];
    }
  }
  if (rest[0] + rest[1] > 0) add(rest[0], rest[1]);
  return used < 2 || chi == 0 ? 1 : chi_square_tail(chi, used - 1);
}

Counts chosen_bits(const Counts& all, const std::vector<std::size_t>& which) {
  Counts out;
  for (const auto& [bits, n] : all) {
    std::string few;
    for (const std::size_t b : which) few += bits[b];
    out[few] += n;
  }
  return out;
}

TEST(NearClifford, tails_of_chi_square) {
  EXPECT_NEAR(chi_square_tail(3.841458820694124, 1), 0.05, 1e-12);  // tables
  EXPECT_NEAR(chi_square_tail(5.991464547107979, 2), 0.05, 1e-12);
  EXPECT_NEAR(chi_square_tail(11.070497693516351, 5), 0.05, 1e-12);
  EXPECT_NEAR(chi_square_tail(18.307038053275146, 10), 0.05, 1e-12);
  const double tail = two_sample_tail({{"0", 500}, {"1", 500}}, {{"0", 540}, {"1", 460}});
  EXPECT_NEAR(tail, chi_square_tail(2 * 20 * 20 / 520.0 + 2 * 20 * 20 / 480.0, 1), 1e-12);
}

// From seven to twelve qubits, with as much noise, as many resets and measurements as come: shots of
// state vectors against shots of the engines. The joint distribution of detectors and observables, of
// the last records, and of records chosen at random; Bonferroni over all comparisons.
TEST(NearClifford, wide_random_circuits_have_the_distribution_of_state_vectors) {
  constexpr std::uint64_t kShots = 1 << 15;
  constexpr double kLeast = 1e-3;  // of one such test in a thousand
  const char* more = std::getenv("TW_NEAR_CLIFFORD_CIRCUITS");
  const int circuits = more ? std::atoi(more) : 14;  // the last of which depends on the sign of T
  const std::uint64_t num_drawn = more ? 1 << 12 : 1 << 10;
  double least = 1;
  std::string least_of;
  int comparisons = 0, with_rotations = 0;
  std::array<std::uint64_t, 2> most_k = {
      0, 0};  // active qubits: the most of any circuit, and their sum
  for (int k = 0; k < circuits; ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    const int qubits = 7 + k % 6;
    const std::string text = RandomCircuit(seed ^ 0x77696465)
                                 .text(qubits, 4 * qubits + 3 * (k % 17), {1000, 1000, 12, 6});
    const StabilizerCircuit circuit = language::parse_stim(text);
    const Counts drawn = Enumerator(circuit, num_drawn, seed).shots();
    const StabProgram program = lower(circuit, "<circuit>", Rotations::kKeep);
    with_rotations += program.num_rotations > 0;
    std::mt19937_64 choose(seed);
    const std::size_t records = circuit.counts().measurements;
    std::vector<std::vector<std::size_t>> subsets(4);
    for (std::size_t b = std::min<std::size_t>(records, 6); b > 0; --b)
      subsets[0].push_back(records - b);
    for (std::size_t s = 1; s < subsets.size(); ++s) {
      for (int b = 0; b < 5; ++b) subsets[s].push_back(choose() % records);
    }
    const auto compare = [&](const Counts& want, const Counts& have, const char* what) {
      ++comparisons;
      const double tail = two_sample_tail(want, have);
      if (tail >= least) return;
      least = tail;
      least_of = std::string(what) + ", circuit " + std::to_string(k) + "\n" + text;
    };
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      const Counts seen =
          count(*source_of(program, ShotOutput::kRecords, engine, kShots), seed, kShots);
      compare(drawn, seen, "all records");
      for (const auto& subset : subsets)
        compare(chosen_bits(drawn, subset), chosen_bits(seen, subset), "some records");
    }
    if (program.num_rotations == 0) continue;
    const NearCliffordProgram compiled = compile_near_clifford(program, FrameOutput::kDetectors);
    most_k = {std::max<std::uint64_t>(most_k[0], compiled.most_k), most_k[1] + compiled.most_k};
    const std::string noiseless =
        bits_of(reinterpret_cast<const std::uint8_t*>(compiled.reference.data()), records);
    EXPECT_EQ(Enumerator::likeliest_records(language::parse_stim(without_noise(text))), noiseless)
        << "circuit " << k << "\n"
        << text;
    const std::string base = detections(circuit, noiseless);
    Counts flips;
    for (const auto& [bits, n] : drawn) {
      std::string flipped = detections(circuit, bits);
      for (std::size_t b = 0; b < flipped.size(); ++b)
        flipped[b] = flipped[b] == base[b] ? '0' : '1';
      flips[flipped] += n;
    }
    for (Engine engine : {Engine::kFrame, Engine::kSparse}) {
      const auto source = source_of(program, ShotOutput::kDetectors, engine, kShots);
      compare(flips, count(*source, seed, kShots), "detectors");
    }
  }
  EXPECT_GT(with_rotations, circuits * 9 / 10);
  EXPECT_GT(least * comparisons, kLeast) << least << " of " << comparisons << ": " << least_of;
  std::printf(
      "%d circuits (active qubits: %.1f on average, at most %d), %d comparisons, least p-value "
      "%.3g\n",
      circuits, static_cast<double>(most_k[1]) / std::max(with_rotations, 1),
      static_cast<int>(most_k[0]), comparisons, least);
}

SampleOptions detect_options() {
  SampleOptions options;
  options.output = ShotOutput::kDetectors;
  return options;
}
std::unique_ptr<ShotSource> detectors_of(const std::string& text) {
  return make_shot_source(lower(language::parse_stim(text), "<circuit>", Rotations::kKeep),
                          detect_options());
}

// The example of docs/near_clifford.md.
TEST(NearClifford, two_qubits) {
  const auto source =
      detectors_of("H 0\nT 0\nZ_ERROR(0.1) 0\nCX 0 1\nH 0\nM 0\nMY 1\nDETECTOR rec[-1] rec[-2]\n");
  constexpr std::uint64_t kShots = 1 << 20;
  const Counts counts = count(*source, 7, kShots);
  const double minus = (1 - std::sqrt(0.5)) / 2, p = 0.9 * minus + 0.1 * (1 - minus);
  EXPECT_NEAR(static_cast<double>(counts.at("1")) / kShots, p, 4 * std::sqrt(p * (1 - p) / kShots));
}

// The qubits that something happens to count, not their numbers.
TEST(NearClifford, qubits_may_have_large_numbers) {
  const auto circuit = [](const std::string& a, const std::string& b, const std::string& c) {
    return "H " + a + "\nT " + a + "\nCX " + a + " " + b + "\nR_PAULI(0.25) X" + a + "*Y" + b +
           "\nDEPOLARIZE2(0.1) " + a + " " + b + "\nE(0.1) X" + a + " Z" + b +
           "\nHERALDED_ERASE(0.1) " + b + "\nSWAP " + b + " " + c + "\nCZ sweep[0] " + a + "\nMR " +
           a + "\nCX rec[-1] " + c + "\nMPP X" + a + "*Z" + c + "\nM " + c +
           "\nDETECTOR rec[-1]\nDETECTOR rec[-2]\nDETECTOR rec[-3]\n"
           "DETECTOR rec[-4]\n";
  };
  constexpr std::uint64_t kShots = 4096;
  EXPECT_EQ(count(*detectors_of(circuit("70000", "16777000", "3")), 7, kShots),
            count(*detectors_of(circuit("1", "2", "0")), 7, kShots));
}

// The shot that detectors are told relative to: every outcome is the more likely one after those in
// front of it, hidden outcomes of resets included, and 0 where rounding alone makes a difference.
TEST(NearClifford, reference_shots) {
  struct Row {
    const char* text;
    const char* reference;
    double ones;  // how often the last record differs from it
  };
  const double tilt = (1 - std::cos(0.3 * std::numbers::pi)) / 2;
  const Row rows[] = {
      {"R_X(0.3) 0\nM 0\n", "0", tilt},
      {"R_X(0.7) 0\nM 0\n", "1", tilt},
      {"R_X(0.7) 0\nM !0\n", "0", tilt},
      {"R_X(0.3) 0\nM !0\n", "1", tilt},
      // coins: 0, and 1 where the target has a !
      {"T 0\nH 0\nM !0\n", "1", 0.5},
      {"H 0\nT 0\nM !0\n", "1", 0.5},
      {"H 0\nT 0\nMZZ !0 1\n", "1", 0.5},
      {"H 0\nT 0\nMPP !Z0*Z1\n", "1", 0.5},
      // exact ties of amplitudes
      {"SQRT_ZZ 1 0\nR_Y(0.5) 0\nR_X(0.25) 1\nSQRT_ZZ 0 1\nT 0\nMY 1\nMY 0\n", "00", 0.25},
      {"MX 1\nR_PAULI(0.25) Y0*X1\nR_Y(0.25) 0\nRX 1\nH 1\nR_PAULI(0.3) Y0*X1\n"
       "SQRT_ZZ 0 1\nMZZ 0 1\n",
       "00", 0.25},
      // After the more likely outcome of the reset 1 is more likely; of all shots it is not.
      {"R_X(0.25) 0\nCX 0 1\nSQRT_ZZ 0 1\nRY 0\nR_Y(-0.3) 1\nM 1\n", "1",
       (1 + std::sqrt(0.5) * std::cos(0.3 * std::numbers::pi)) / 2},
  };
  constexpr std::uint64_t kShots = 1 << 16;
  for (const Row& row : rows) {
    const std::string text = std::string(row.text) + "DETECTOR rec[-1]\n";
    const StabilizerCircuit circuit = language::parse_stim(text);
    const NearCliffordProgram compiled = compile_near_clifford(
        lower(circuit, "<circuit>", Rotations::kKeep), FrameOutput::kDetectors);
    EXPECT_EQ(bits_of(reinterpret_cast<const std::uint8_t*>(compiled.reference.data()),
                      circuit.counts().measurements),
              row.reference)
        << text;
    EXPECT_EQ(Enumerator::likeliest_records(circuit), row.reference) << text;
    const double ones = static_cast<double>(count(*detectors_of(text), 5, kShots)["1"]) / kShots;
    EXPECT_NEAR(ones, row.ones, 4 * std::sqrt(row.ones * (1 - row.ones) / kShots)) << text;
  }
}

// Rotations by quarter turns are gates of the frame engine.
TEST(NearClifford, quarter_turns_are_clifford_gates) {
  const std::string turns =
      "R_Z(0.5) 0\nR_X(1) 1\nR_PAULI(-0.5) X0*Y1\nR_YY(2) 0 1\nU3(0.5,0,1) 0\nDEPOLARIZE1(0.1) 0 "
      "1\n"
      "M 0 1\nDETECTOR rec[-1] rec[-2]\n";
  const std::string gates =
      "S 0\nX 1\nSPP_DAG X0*Y1\nZ 0\nSQRT_Y 0\nDEPOLARIZE1(0.1) 0 1\nM 0 1\nDETECTOR rec[-1] "
      "rec[-2]\n";
  const StabProgram program = lower(language::parse_stim(turns));
  EXPECT_EQ(program.num_rotations, 0u);
  for (ShotOutput output : {ShotOutput::kRecords, ShotOutput::kDetectors}) {
    EXPECT_EQ(count(*source_of(program, output, Engine::kAuto, 4096), 3, 4096),
              count(*source_of(lower(language::parse_stim(gates)), output, Engine::kAuto, 4096), 3,
                    4096));
  }
}

// Whoever cannot run a rotation says so, and where.
TEST(NearClifford, others_refuse_rotations) {
  const std::string message = error_of(
      [] { lower(language::parse_stim("H 0\nR_XX(0.3) 0 1\nM 0\n"), "file"); }, ExitCode::kInput);
  EXPECT_TRUE(message.starts_with("file:2: R_XX is no Clifford gate")) << message;
}

// A rotation whose sign noise may change is not added to one in front of the noise; k stays as small
// as it can.
TEST(NearClifford, rotations_add_up_where_their_signs_are_one) {
  const auto compiled = [](const std::string& text) {
    return compile_near_clifford(lower(language::parse_stim(text), "<circuit>", Rotations::kKeep),
                                 FrameOutput::kRecords);
  };
  EXPECT_EQ(compiled("RX 0\nT 0\nT 0\nT_DAG 0\nMX 0\n").num_fused, 2u);
  EXPECT_EQ(compiled("RX 0\nT 0\nX 0\nT 0\nMX 0\n").num_fused, 1u);
  EXPECT_EQ(compiled("RX 0\nT 0\nZ_ERROR(0.1) 0\nT 0\nMX 0\n").num_fused, 1u);
  EXPECT_EQ(compiled("RX 0\nT 0\nX_ERROR(0.1) 0\nT 0\nMX 0\n").num_fused, 0u);
  EXPECT_EQ(compiled("RX 0\nT 0\nR_X(0.1) 0\nT 0\nMX 0\n").num_fused, 0u);
  // One after the other: nothing is kept active that is measured already.
  std::string text;
  for (int k = 0; k < 40; ++k) text += "RX 0\nT 0\nMX 0\n";
  EXPECT_EQ(compiled(text).most_k, 1u);
  EXPECT_EQ(compiled("RX 0 1\nT 0 1\nM 0 1\n").dense.size(), 0u);  // Z is measured: T is a phase
  std::string wide;
  for (int q = 0; q < 30; ++q)
    wide += "RX " + std::to_string(q) + "\nT " + std::to_string(q) + "\n";
  wide += "MPP X0";
  for (int q = 1; q < 30; ++q) wide += "*X" + std::to_string(q);
  EXPECT_THROW(compiled(wide + "\n"), Error);
  EXPECT_THROW(compiled("RX 0\nT 0\nOBSERVABLE_INCLUDE(0) X0\nMX 0\n"), Error);
  EXPECT_THROW(compiled("T 0\nREPEAT 1000000000000 {\nH 0\n}\nM 0\n"), Error);
  EXPECT_THROW(compiled("REPEAT 1000000000000 {\nT 0\n}\nM 0\n"), Error);  // all added to one
  const char* nothing =
      "REPEAT 1000000000000 {\nREPEAT 1000000000000 {\nTICK\n}\n}\nRX 0\nT 0\nMX 0\n";
  EXPECT_EQ(compiled(nothing).most_k, 1u);
}

// Every measurement of a long circuit is certain while no error happens: one way of outcomes, however
// many there are, in memory that grows with the circuit and not with its square.
TEST(NearClifford, many_certain_measurements) {
  constexpr int kRounds = 40000;
  std::string text;
  for (int k = 0; k < kRounds; ++k)
    text += "R 0\nH 0\nT 0\nX_ERROR(0.001) 0\nT_DAG 0\nH 0\nM 0\nDETECTOR rec[-1]\n";
  constexpr std::uint64_t kShots = 64;
  SampleOptions options = detect_options();
  options.num_shots = kShots;
  const auto source =
      make_shot_source(lower(language::parse_stim(text), "<circuit>", Rotations::kKeep), options);
  std::uint64_t ones = 0;
  for (const auto& [bits, seen] : count(*source, 5, kShots))
    ones += seen * static_cast<std::uint64_t>(std::count(bits.begin(), bits.end(), '1'));
  // Behind an error the state is X T_DAG X T = S_DAG of |+>, up to a phase: the outcome is a coin.
  const double mean = 0.001 / 2 * kRounds * kShots;
  EXPECT_NEAR(static_cast<double>(ones), mean, 5 * std::sqrt(mean));
}

}  // namespace
}  // namespace tilewave::stabilizer
