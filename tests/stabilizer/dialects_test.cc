// Circuits written in other tools' dialects of Stim's language: what is written, read again, has the joint
// distribution of records that the circuit has, compared exactly by enumeration (enumerator.h).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "stabilizer/enumerator.h"
#include "stabilizer/random_circuit.h"
#include "stabilizer/random_leakage.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/circuit/leakage_words.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {
namespace {

using language::Dialect;
using language::parse_stim;
using language::print_dialect;

std::map<std::string, double> distribution(const std::string& text) {
  const StabilizerCircuit circuit = parse_stim(text);
  return Enumerator(circuit, circuit::leakage_words(circuit).deltakit_leaks).distribution();
}

// The largest difference of the probabilities of any outcome.
double difference(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  double most = 0;
  for (const auto& [records, p] : a)
    most = std::max(most, std::abs(p - (b.count(records) ? b.at(records) : 0)));
  for (const auto& [records, p] : b) most = std::max(most, a.count(records) ? 0 : p);
  return most;
}
constexpr double kRounding = 1e-9;

std::string written(const std::string& text, const std::string& dialect) {
  return print_dialect(parse_stim(text, "file"), language::parse_dialect(dialect), "file");
}

std::string refusal(const std::string& text, const std::string& dialect) {
  return error_of([&] { written(text, dialect); }, ExitCode::kInput);
}

constexpr const char* kClifford = "stim deltakit custabilizer";  // dialects
constexpr const char* kPlain = "stim clifft symft tsim";         // without leakage

struct Word {
  std::string text;
  std::string refused_by;             // dialects
  const char* spelled_out = nullptr;  // what is enumerated instead, where a word hides gates
};

std::vector<Word> words() {
  std::vector<Word> all;
  // Every Clifford gate, in every dialect.
  for (const circuit::GateInfo& gate : circuit::gate_table()) {
    if (gate.stim.empty()) continue;
    const std::string name(gate.stim.substr(0, gate.stim.find(' ')));
    all.push_back({name + (circuit::gate_arity(gate.id) == 1 ? " 0 2" : " 0 1 1 2"), ""});
  }
  const std::vector<Word> others = {
      // Pauli noise
      {"X_ERROR(0.1) 0 1", ""},
      {"Y_ERROR(0.1) 0 1", ""},
      {"Z_ERROR(0.1) 0 1", ""},
      {"DEPOLARIZE1(0.1) 0", ""},
      {"DEPOLARIZE2(0.1) 0 1", ""},
      {"PAULI_CHANNEL_1(0.1, 0.2, 0.05) 1", ""},
      {"PAULI_CHANNEL_2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08) 1 0", ""},
      {"E(0.1) X0", ""},
      {"E(0.1) Y0 Z2", ""},
      {"E(0.1) X0 Y1 Z2", ""},
      {"E(0.1) X0*Z0 Y1", ""},
      {"E(0.2) X0\nELSE_CORRELATED_ERROR(0.3) Y0 Z1\nELSE_CORRELATED_ERROR(0.4) Z0 X1 Y2\nE(0.1) "
       "X2",
       ""},
      {"HERALDED_ERASE(0.2) 0 1", ""},
      {"HERALDED_PAULI_CHANNEL_1(0.1, 0.2, 0.05, 0.3) 0", ""},
      {"E(0.5) X0\nELSE_CORRELATED_ERROR(0.3) Z0\nHERALD_LEAKAGE_EVENT(0.1, 0.2) 0\nMPAD 1\n"
       "HERALDED_ERASE(0.1) 1\nE(0.2) Z1\nMPAD(0.1) 0",
       ""},
      {"I_ERROR(0.1) 0", ""},
      {"II_ERROR(0.1) 0 1", ""},
      // collapses
      {"M(0.1) 0 !1", ""},
      {"MX !0 1", ""},
      {"MY(0.2) !0", ""},
      {"MR !0 1", ""},
      {"MRX(0.1) 0", ""},
      {"MRY 0", ""},
      {"R 0\nRX 1\nRY 2", ""},
      {"MXX(0.1) 0 !1 1 2", ""},
      {"MYY !0 !1", ""},
      {"MZZ 0 1 2 !0", ""},
      {"MPP(0.1) !X0*Y1*Z2 Z1", ""},
      {"MPP X0*Z0*Y1*X1 !Z2*Z2 X2*X2", ""},
      {"MPAD(0.1) 0 1\nMPAD 1", ""},
      {"SPP X0*!Y1 Z2\nSPP_DAG Y0*Y1*X2", ""},
      {"SPP X0*X1*Z0*Z1 Z2*Z2", ""},
      // feedback
      {"M 0\nCX rec[-1] 1\nCY rec[-1] 0\nCZ rec[-1] 2", "custabilizer"},
      {"M 0\nCZ 1 rec[-1] rec[-1] rec[-1] 0 1\nXCZ 1 rec[-1]\nYCZ 2 rec[-1]", "custabilizer"},
      {"CX sweep[0] 1", "clifft symft tsim custabilizer"},
      // annotations
      {"QUBIT_COORDS(1, 2) 0\nSHIFT_COORDS(1)\nTICK\nM 0\nDETECTOR(1) rec[-1]\n"
       "OBSERVABLE_INCLUDE(1) rec[-1]\nREPEAT 2 {\nH 0\nM 0\n}",
       ""},
      {"OBSERVABLE_INCLUDE(0) X0 Z1", "clifft tsim custabilizer"},
      // beyond Clifford
      {"T 0 1", kClifford},
      {"T_DAG 0", kClifford},
      {"TPP X0*!Y1 Z2", kClifford},
      {"TPP_DAG X0*Z0*Y1*X1*Z2 !X1", kClifford},
      {"R_X(0.3) 0", kClifford},
      {"R_Y(-0.7) 0 1", kClifford},
      {"R_Z(1.3) 0", kClifford},
      {"R_XX(0.3) 0 1 1 2", kClifford},
      {"R_YY(0.3) 0 1", kClifford},
      {"R_ZZ(-0.3) 0 1", kClifford},
      {"R_PAULI(0.3) X0*Y1*Z2 Z1", kClifford},
      {"R_PAULI(0.3) X0*Z0*Y1*X1 Z2*Z2", kClifford},
      {"U3(0.2, 0.9, -0.4) 0 1", kClifford},
      {"CCX 0 1 2", kClifford},
      {"CCZ 2 0 1", kClifford},
      {"CH 0 1 1 2", kClifford},
      // quarter turns are Clifford gates
      {"R_X(0.5) 0\nR_Y(-0.5) 1\nR_Z(1) 2\nR_X(1.5) 1\nR_Y(2) 0", ""},
      {"R_XX(0.5) 0 1\nR_YY(-0.5) 1 2\nR_ZZ(1) 0 2", ""},
      {"R_PAULI(0.5) X0*Y1*Z2\nR_PAULI(-1.5) Z0*Z1\nR_PAULI(3) X1*Z2", ""},
      {"U3(0.5, 1, -0.5) 0\nU(1, 0.5, 0) 1", ""},
      // deltakit's words
      {"LEAKAGE(0.3) 0 1 0\nCX 0 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nRELAX(0.4) 0\nLEAKAGE(0.2) 0 1\nRL 1\nCZ 0 1\nHERALD_LEAKAGE_EVENT 0 1",
       kPlain},
      {"LEAKAGE(0.3) 0\nCX(0.3, 0.2, 0.4, 0.1) 0 1 1 2\nHERALD_LEAKAGE_EVENT 0 1 2", kPlain},
      {"LEAKAGE(0.3) 0 1\nCY(1, 0.2, 0.4, 0.1) 0 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.3) 1\nCZ(0.5, 0.2, 0.4, 1) 0 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nSQRT_XX(0.3, 0, 0, 0.1) 0 1\nSQRT_XX_DAG 1 2", kPlain},
      {"LEAKAGE(0.3) 0\nM 0\nLEAKAGE(0.5) 0\nM 0\nHERALD_LEAKAGE_EVENT(0.25) 0\nM 0", kPlain},
      {"LEAKAGE(0.3) 0\nHERALD_LEAKAGE_EVENT(0.25, 0.1) 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nE(0.5) X0\nHERALD_LEAKAGE_EVENT(0.25, 0.1) 0 1\n"
       "ELSE_CORRELATED_ERROR(0.3) X1 Z0 Y2\nHERALD_LEAKAGE_EVENT(0.25, 0.1) 0 1",
       kPlain},
      {"LEAKAGE(0.3) 0\nXCZ 1 0\nSQRT_ZZ 0 1\nMXX 0 1", kPlain},
      {"LEAKAGE(0.3) 0\nSWAP 0 1\nHERALD_LEAKAGE_EVENT 0 1\nISWAP 1 2\nHERALD_LEAKAGE_EVENT 1 2",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE(0.3) 0\nRL 0\nSWAP 0 1\nLEAKAGE(0.2) 1\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      {"LEAKAGE(0.4) 1\nMPP X0*Z1*Y2", "stim clifft symft tsim",
       "LEAKAGE(0.4) 1\nCZ 1 0\nYCZ 2 0\nMX 0\nCZ 1 0\nYCZ 2 0"},
      {"LEAKAGE(0.4) 0\nMPP Z0*Z1*Z2 Z1*X0", kPlain,
       "LEAKAGE(0.4) 0\nCX 1 0 2 0\nM 0\nCX 1 0 2 0\nH 0\nCX 0 1\nM 1\nCX 0 1\nH 0"},
      {"LEAKAGE(0.4) 0\nSPP Z0*Z1\nR_ZZ(-0.5) 1 0", kPlain,
       "LEAKAGE(0.4) 0\nCX 1 0\nS 0\nCX 1 0\nCX 0 1\nS_DAG 1\nCX 0 1"},
      {"REPEAT 2 {\nCX 0 1\nLEAKAGE(0.4) 0\n}\nHERALD_LEAKAGE_EVENT 0 1", kPlain},
      // cuStabilizer's words
      {"LEAKAGE1(0.2) 1\nREPEAT 2 {\nCZ 0 1\nLEAKAGE_PROPAGATE(0, 0.4, 0, 0.3) 1 2\n}\n"
       "HERALD_LEAKAGE_EVENT 0 1 2",
       kPlain},
      {"REPEAT 2 {\nSWAP 0 1\nCX 0 2\nREPEAT 2 {\nLEAKAGE_MARK1(0.3) 0\n}\n}\n"
       "HERALD_LEAKAGE_EVENT 0 1 2",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE_MARK1(0.3) 0\nCX 0 1\nHERALD_LEAKAGE_EVENT 0 1", "stim clifft symft tsim deltakit"},
      {"LEAKAGE_MARK2(0.1, 0.2, 0.3) 0 1\nHERALD_LEAKAGE_EVENT 0 1",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_RELAX(0.4) 0\nLEAKAGE1(0.2) 1\nLEAKAGE_RESET 1\nCX 0 1\nCY 1 0\n"
       "CZ 0 1\nSQRT_XX 1 0\nSQRT_XX_DAG 2 0\nHERALD_LEAKAGE_EVENT 0 1",
       kPlain},
      {"LEAKAGE1(0.3) 0 1\nLEAKAGE_PROPAGATE(0.3, 0.2, 0.4, 0.1) 0 1 1 2\nHERALD_LEAKAGE_EVENT 0 1 "
       "2",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.3) 0 2\nM 0\nLEAKAGE_PROPAGATE(0.3, 0, 0.4, 0) 0 1\nM 0\n"
       "LEAKAGE_PROPAGATE(0, 0.3, 0, 0.4) 1 2\nHERALD_LEAKAGE_EVENT 0 1 2",
       kPlain},
      {"LEAKAGE1(0.3) 0\nCX 0 1 2 1\nLEAKAGE_PROPAGATE(1, 0.2, 0, 0.8) 0 1\nCZ 1 2\n"
       "LEAKAGE_PROPAGATE(0.1, 0.2, 0.4, 0.8) 1 2\nHERALD_LEAKAGE_EVENT 0 1 2",
       kPlain},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_SCRAMBLE_PARTNER 0 1 1 2\nSQRT_XX 0 1\nLEAKAGE_SCRAMBLE_PARTNER 0 "
       "1",
       kPlain},
      {"LEAKAGE1(0.3) 0\nM 0\nLEAKAGE_SCRAMBLE 0 1\nM 0\nHERALD_LEAKAGE_EVENT(0.1) 0", kPlain},
      {"LEAKAGE1(0.3) 0\nMPP X0*Z1*Y2 Z0*Z1\nMPP Y1*Z0 X0*X2\nSPP X0*Z1 Z0*Z2\nSPP_DAG Z1*Y0",
       kPlain},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_PAULI1(0, 0, 0, 0.05, 0.05, 0.05) 0\nLEAKAGE1(0.2) 0\n"
       "LEAKAGE_PAULI1(0.1, 0.2, 0.3, 0.1, 0.2, 0.3) 0\nHERALD_LEAKAGE_EVENT 0",
       kPlain},
      {"LEAKAGE1(0.3) 0\nLEAKAGE1(0.3) 0", "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.3) 0\nLEAKAGE_PAULI1(0.1, 0.2, 0.05, 0.3, 0, 0.6) 0 1",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE2(0.1, 0.2, 0.3) 0 1\nHERALD_LEAKAGE_EVENT 0 1", "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.5) 0\nLEAKAGE_PROPAGATE_MARK(0.5, 0.1, 0.2, 0.7) 0 1\nHERALD_LEAKAGE_EVENT 0 1",
       "stim clifft symft tsim deltakit"},
      {"LEAKAGE1(0.5) 0\nLEAKAGE_PAULI2("
       ".01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08,"
       ".3,0,0,0,0,.1,0,0,0,0,0,0,.2,0,0,0,.2,0,0,0,0,.1,0,0,0,0,0,0,0,.4,"
       "0,0,0,.2,0,0,0,.3,0,.1,0,0,0,0,.05) 0 1",
       "stim clifft symft tsim deltakit"},
      // leakage that never is
      {"LEAKAGE(0) 0\nCX(0.3, 0.2, 0.4, 0.1) 0 1\nRL 0\nRELAX(0.5) 1\nHERALD_LEAKAGE_EVENT(0.5, "
       "0.1) "
       "0\nHERALD_LEAKAGE_EVENT 0 1\nSWAP 0 1",
       ""},
      {"LEAKAGE1(0) 0\nLEAKAGE_SCRAMBLE 0\nLEAKAGE_PAULI1(0.1, 0.2, 0.05, 0.3, 0, 0.6) 0 1\n"
       "LEAKAGE_MARK1(0) 1\nLEAKAGE_MARK2(0, 0, 0) 1 2\nLEAKAGE2(0, 0, 0) 1 2\n"
       "LEAKAGE_PROPAGATE(0.1, 0.2, 0.3, 0.4) 0 1\nLEAKAGE_PROPAGATE_MARK(0.1, 0.2, 0.3, 0.4) 0 1\n"
       "LEAKAGE_SCRAMBLE_PARTNER 0 1\nLEAKAGE_RELAX(0.1) 0\nLEAKAGE_RESET 0\n"
       "LEAKAGE_PAULI2(.01,.02,.03,.04,.05,.06,.07,.01,.02,.03,.04,.05,.06,.07,.08,"
       ".3,0,0,0,0,.1,0,0,0,0,0,0,.2,0,0,0,.2,0,0,0,0,.1,0,0,0,0,0,0,0,.4,"
       "0,0,0,.2,0,0,0,.3,0,.1,0,0,0,0,.05) 0 1\nHERALD_LEAKAGE_EVENT(0, 0.2) 0",
       ""},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

void note_names(const StabilizerCircuit& c, std::set<std::string>& names) {
  for (const StabInstruction& op : c.instructions()) {
    names.emplace(c.name(op));
    if (op.kind == StabKind::kRepeat) note_names(c.block(op), names);
  }
}

// Between halves of Bell pairs and measurements in several bases: what a word does to any state.
constexpr const char* kBefore = "H 0 1 2\nCX 0 3 1 4 2 5\n";
constexpr const char* kAfter[] = {"\nM 0 1 2 3 4 5\n", "\nMX 0 1 2 3 4 5\n", "\nMY 0 1 2 3 4 5\n",
                                  "\nMX 0 4\nMY 1 5\nM 2 3\n"};

TEST(Dialects, every_word_in_every_dialect) {
  std::set<std::string> seen;
  for (const Word& word : words()) {
    note_names(parse_stim(word.text), seen);
    const std::string enumerated = word.spelled_out ? word.spelled_out : word.text;
    for (const std::string_view name : language::dialect_names()) {
      const std::string dialect(name);
      if ((" " + word.refused_by + " ").find(" " + dialect + " ") != std::string::npos) {
        EXPECT_NE(refusal(word.text, dialect).find(" cannot be written for " + dialect + ": "),
                  std::string::npos)
            << dialect << "\n"
            << word.text;
        continue;
      }
      for (const char* after : kAfter) {
        const std::string out = written(kBefore + word.text + after, dialect);
        const std::string again = written(out, dialect);
        EXPECT_EQ(again, out) << dialect << "\n" << word.text;
        if (word.spelled_out && dialect != "custabilizer") continue;  // the same word
        // sweep bits are 0, and the enumerator knows none
        if (word.text.find("sweep") != std::string::npos) continue;
        EXPECT_LT(difference(distribution(kBefore + enumerated + after), distribution(out)),
                  kRounding)
            << dialect << "\n"
            << word.text << after << "\n"
            << out;
      }
    }
  }
  for (const auto& op : circuit::stabilizer_ops()) {
    if (!op.name.empty()) {
      EXPECT_TRUE(seen.count(std::string(op.name))) << op.name;
    }
  }
}

// cuStabilizer has these, and no others (0.5.0, asked of its library).
TEST(Dialects, custabilizer_gets_the_words_that_it_has) {
  const std::set<std::string> known = {"I",
                                       "X",
                                       "Y",
                                       "Z",
                                       "H",
                                       "S",
                                       "CX",
                                       "CZ",
                                       "M",
                                       "MX",
                                       "MY",
                                       "MR",
                                       "MRX",
                                       "MRY",
                                       "R",
                                       "RX",
                                       "RY",
                                       "X_ERROR",
                                       "Y_ERROR",
                                       "Z_ERROR",
                                       "DEPOLARIZE1",
                                       "DEPOLARIZE2",
                                       "PAULI_CHANNEL_1",
                                       "PAULI_CHANNEL_2",
                                       "LEAKAGE_MARK1",
                                       "LEAKAGE_MARK2",
                                       "LEAKAGE_RESET",
                                       "LEAKAGE_RELAX",
                                       "LEAKAGE_PROPAGATE_MARK",
                                       "LEAKAGE_SCRAMBLE",
                                       "LEAKAGE_SCRAMBLE_PARTNER",
                                       "LEAKAGE_PAULI1",
                                       "LEAKAGE_PAULI2",
                                       "LEAKAGE1",
                                       "LEAKAGE2",
                                       "LEAKAGE_PROPAGATE",
                                       "HERALD_LEAKAGE_EVENT",
                                       "DETECTOR",
                                       "OBSERVABLE_INCLUDE",
                                       "QUBIT_COORDS",
                                       "SHIFT_COORDS",
                                       "TICK",
                                       "REPEAT"};
  for (const Word& word : words()) {
    if (word.refused_by.find("custabilizer") != std::string::npos) continue;
    std::set<std::string> names;
    const std::string out = written(word.text, "custabilizer");
    note_names(parse_stim(out), names);
    for (const std::string& name : names) EXPECT_TRUE(known.count(name)) << name << "\n" << out;
    EXPECT_EQ(out.find("HERALD_LEAKAGE_EVENT("), std::string::npos) << out;
  }
}

// More of them: TW_DIALECT_CIRCUITS=1000 test_stabilizer_dialects.
int number_of_circuits(int usual) {
  const char* wanted = std::getenv("TW_DIALECT_CIRCUITS");
  return wanted ? std::atoi(wanted) : usual;
}

TEST(Dialects, random_circuits_beyond_clifford_keep_their_distribution) {
  const int circuits = number_of_circuits(40);
  for (int k = 0; k < circuits; ++k) {
    const std::string text =
        RandomCircuit(static_cast<std::uint64_t>(k) ^ 0x6469616c).text(3 + k % 2, 20, {3, 2, 5});
    const auto exact = distribution(text);
    for (const char* dialect : {"tilewave", "clifft", "symft", "tsim"}) {
      const std::string out = written(text, dialect);
      EXPECT_LT(difference(exact, distribution(out)), kRounding) << dialect << "\n" << text << out;
      const auto counts = parse_stim(out).counts(), before = parse_stim(text).counts();
      EXPECT_EQ(counts.detectors, before.detectors);
      EXPECT_EQ(counts.observables, before.observables);
    }
  }
}

TEST(Dialects, random_clifford_circuits_keep_their_distribution) {
  const int circuits = number_of_circuits(40);
  std::mt19937_64 random(7);
  for (int k = 0; k < circuits; ++k) {
    std::string text;
    int noise = 0;
    for (int step = 0; step < 14; ++step) {
      const auto all = words();
      const Word& word = all[random() % all.size()];
      const bool noisy =
          word.text.find("ERROR") != std::string::npos || word.text.find('(') != std::string::npos;
      if (!word.refused_by.empty() || word.text.find("LEAKAGE") != std::string::npos ||
          word.text[0] == 'M' || (noisy && ++noise > 3))
        continue;
      text += word.text + "\n";
    }
    text += "M(0.1) 0\nMPP X0*Y1*Z2\nMX 1 2\nMRY 0\nM 0 1";
    const auto exact = distribution(text);
    for (const char* dialect : {"stim", "deltakit", "custabilizer", "clifft", "symft", "tsim"}) {
      const std::string out = written(text, dialect);
      EXPECT_LT(difference(exact, distribution(out)), kRounding) << dialect << "\n" << text << out;
    }
  }
}

// Without what deltakit cannot say.
std::string without_marks(const std::string& text) {
  std::string out = "LEAKAGE1(0.3) 0 1\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("MARK") == line.npos && line.find("LEAKAGE2") == line.npos &&
        line.find("LEAKAGE_PAULI") == line.npos && line.find("SWAP") == line.npos)
      out += line + "\n";
  }
  return out;
}

// From deltakit's words to cuStabilizer's and back to the same distribution; the other way round where
// deltakit can say it.
TEST(Dialects, random_leakage_keeps_its_distribution) {
  const int circuits = number_of_circuits(200);
  std::mt19937_64 random(2027);
  int to_deltakit = 0, back = 0;
  for (int k = 0; k < circuits; ++k) {
    const bool deltakit = k % 2 == 0;
    std::string text = random_leakage_circuit(random, deltakit);
    if (k % 4 == 1) text = without_marks(text);
    const auto exact = distribution(text);
    const std::string cu = written(text, "custabilizer");
    EXPECT_LT(difference(exact, distribution(cu)), kRounding) << text << "\n" << cu;
    if (refusal(cu, "deltakit") != "no error") continue;
    ++(deltakit ? back : to_deltakit);
    const std::string out = written(cu, "deltakit");
    EXPECT_LT(difference(exact, distribution(out)), kRounding) << text << "\n" << out;
  }
  if (circuits >= 200) {
    EXPECT_GT(to_deltakit, 10);
    EXPECT_GT(back, 10);
  }
  std::printf("%d circuits; back to deltakit %d, from cuStabilizer to deltakit %d\n", circuits,
              back, to_deltakit);
}

// Words of all kinds after one another, in loops too: what one leaves behind does not disturb the next.
TEST(Dialects, random_mixtures_keep_their_distribution) {
  const int circuits = number_of_circuits(150);
  const std::vector<Word> all = words();
  std::mt19937_64 random(37);
  std::map<std::string, int> compared;
  for (int k = 0; k < circuits; ++k) {
    std::string text = "RX 0 2\nM 0\n";
    std::uint64_t records = 1;
    for (int step = 0, branching = 0; step < 6; ++step) {
      const Word& word = all[random() % all.size()];
      const bool branches = word.text.find('(') != std::string::npos;
      const bool loops = random() % 4 == 0;
      const std::uint64_t more = parse_stim("M 0\n" + word.text).counts().measurements;
      // The enumerator has no sweep bits, and no gates hidden in words; it is slow where much may happen.
      if (word.text.find("sweep") != std::string::npos || word.spelled_out ||
          word.text.size() > 120 || (branches && ++branching > 3) || records + more > 6)
        continue;
      const std::string next = loops ? "REPEAT 2 {\n" + word.text + "\n}\n" : word.text + "\n";
      if (circuit::leakage_words(parse_stim(text + next)).mixed()) continue;
      text += next;
      records += more;
    }
    text += "MX 0\nM 1\nMY 2\n";
    const bool hides_gates = text.find("PP") != std::string::npos ||  // MPP, SPP, and as rotations
                             text.find("R_") != std::string::npos;
    if (hides_gates && circuit::leakage_words(parse_stim(text)).deltakit_leaks) continue;
    const auto names = language::dialect_names();
    const std::string dialect(names[static_cast<std::size_t>(k) % names.size()]);
    if (refusal(text, dialect) != "no error") continue;
    ++compared[dialect];
    const std::string out = written(text, dialect);
    EXPECT_LT(difference(distribution(text), distribution(out)), kRounding) << dialect << "\n"
                                                                            << text << out;
  }
  if (circuits < 150) return;
  for (const std::string_view dialect : language::dialect_names())
    EXPECT_GT(compared[std::string(dialect)], 2) << dialect;
}

TEST(Dialects, texts) {
  EXPECT_EQ(written("T[mine] 0\nREPEAT[loop] 3 {\n    R_Z[a](0.25) 1\n    SHIFT_COORDS(1)\n}\n"
                    "R_XX(1e-07) 0 1 2 3\nU3(0.1, -0.2, 0.3) 0\nTPP_DAG X0*!Y1\n",
                    "tsim"),
            "S[T:mine] 0\nREPEAT[loop] 3 {\n    I[R_Z(theta=0.25*pi)] 1\n    SHIFT_COORDS(1)\n}\n"
            "SPP[R_PAULI(theta=1e-07*pi)] X0*X1\nSPP[R_PAULI(theta=1e-07*pi)] X2*X3\n"
            "I[U3(theta=0.1*pi, phi=-0.2*pi, lambda=0.3*pi)] 0\nSPP_DAG[T] X0*!Y1\n");
  EXPECT_EQ(
      written("H[tag] 0\nREPEAT[x] 2 {\n    M[y] 0\n}\nDETECTOR[z](1, 2) rec[-1]\n", "clifft"),
      "H 0\nREPEAT 2 {\n    M 0\n}\nDETECTOR(1, 2) rec[-1]\n");
  EXPECT_EQ(written("H 0 # a comment\nCX\n", "clifft"), "H 0\n");
  EXPECT_EQ(written("TPP !X0*Y1\nR_PAULI(0.1) X0*X1 Y2\n", "symft"),
            "R_PAULI(-0.25) X0*Y1\nR_PAULI(0.1) X0*X1\nR_PAULI(0.1) Y2\n");
  // A tag that would name a gate is left out.
  EXPECT_EQ(written("R_Z[T](0.5) 0\nS[plain] 1\n", "stim"), "S 0\nS[plain] 1\n");
  EXPECT_EQ(written("H[a T] 0\nM[T_gate] 0\n", "tsim"), "H 0\nM[T_gate] 0\n");
  // NVIDIA's rule, and what it leaves out
  EXPECT_EQ(
      written("LEAKAGE(0.01) 0 1\nCX(0.25, 0, 0.5, 0) 0 1\nLEAKAGE(0.01) 0\nRELAX(0.1) 0\nRL 1\n",
              "custabilizer"),
      "LEAKAGE1(0.01) 0 1\nCX 0 1\nLEAKAGE_PROPAGATE(0.25, 0, 0.375, 0) 0 1\n"
      "LEAKAGE_SCRAMBLE_PARTNER 0 1\nLEAKAGE_PAULI1(0, 0, 0, 0.0025, 0.0025, 0.0025) "
      "0\nLEAKAGE1(0.01) 0\n"
      "LEAKAGE_RELAX(0.1) 0\nLEAKAGE_RESET 1\n");
  EXPECT_EQ(written("LEAKAGE1(0.01) 0 1\nCX 0 1\nLEAKAGE_PROPAGATE(0.25, 0, 0.375, 0) 0 1\n"
                    "LEAKAGE_SCRAMBLE_PARTNER 0 1\nLEAKAGE_PAULI1(0, 0, 0, 0.0025, 0.0025, 0.0025) "
                    "0\nLEAKAGE1(0.01) 0\n",
                    "deltakit"),
            "LEAKAGE(0.01) 0 1\nCX(0.25, 0, 0.5, 0) 0 1\nLEAKAGE(0.01) 0\n");
  // Feedback spreads no leakage, and sweep bits that do nothing are columns of their files all the same.
  EXPECT_EQ(
      written("RL 0\nM 0\nCX(0.1, 0.2, 0.3, 0.4) 0 1 rec[-1] 1\nCZ sweep[5] rec[-1]\n", "stim"),
      "M 0\nCX 0 1 rec[-1] 1\nCZ sweep[5] rec[-1]\n");
  // Words of no products are written, where there is a line for each product as well.
  const std::string none = "T 0\nR_PAULI(0.3)\nT 1\nR_XX(0.3)\nT 2\n";
  for (const char* dialect : {"tsim", "symft"}) {
    const std::string text = written(none, dialect);
    EXPECT_EQ(written(text, dialect), text) << dialect;
  }
  EXPECT_EQ(written(none, "symft"), none);
  EXPECT_EQ(written(none, "tsim"),
            "S[T] 0\nSPP[R_PAULI(theta=0.3*pi)]\nS[T] 1\nSPP[R_PAULI(theta=0.3*pi)]\nS[T] 2\n");
  // What is leaked behind a loop is not leaked in it.
  EXPECT_EQ(
      written("REPEAT 2 {\n    CX 0 1\n    REPEAT 3 {\n        CX 1 2\n        LEAKAGE(0.1) 2\n"
              "        R 2\n    }\n    R 1\n}\nLEAKAGE(0.1) 0\n",
              "custabilizer"),
      "REPEAT 2 {\n    CX 0 1\n    REPEAT 3 {\n        CX 1 2\n"
      "        LEAKAGE_SCRAMBLE_PARTNER 1 2\n        LEAKAGE_PAULI1(0, 0, 0, 0.025, 0.025, "
      "0.025) 2\n        LEAKAGE1(0.1) 2\n        R 2\n    }\n    R 1\n}\nLEAKAGE1(0.1) 0\n");
  // A product with more factors than a rotation may have
  std::string wide = "R_PAULI(0.3) X0";
  for (int q = 1; q < 65; ++q) wide += "*" + std::string(1, "XYZ"[q % 3]) + std::to_string(q);
  const std::string folded = written(wide + "\n", "tsim");
  EXPECT_EQ(folded.find("R_PAULI"), std::string::npos);
  EXPECT_NE(folded.find("I[R_X(theta=0.3*pi)] 0"), std::string::npos);
}

// cuStabilizer reads 1e-6 as two numbers, 1 and -6.
TEST(Dialects, custabilizer_gets_numbers_without_exponents) {
  const std::string text = "X_ERROR(0.000002) 0\nM 0\nDETECTOR(1e+20, -0, -3e-324) rec[-1]\n";
  EXPECT_EQ(written(text, "stim"), "X_ERROR(2e-06) 0\nM 0\nDETECTOR(1e+20, 0, -5e-324) rec[-1]\n");
  EXPECT_EQ(written(text, "custabilizer"),
            "X_ERROR(0.000002) 0\nM 0\nDETECTOR(100000000000000000000, 0, -0." +
                std::string(323, '0') + "5) rec[-1]\n");
  EXPECT_EQ(
      written("LEAKAGE(0.00001) 0\nCX 0 1\nLEAKAGE(0.00003) 0\nM 0\n", "custabilizer"),
      "LEAKAGE1(0.00001) 0\nCX 0 1\nLEAKAGE_SCRAMBLE_PARTNER 0 1\n"
      "LEAKAGE_PAULI1(0, 0, 0, 0.0000075, 0.0000075, 0.0000075) 0\nLEAKAGE1(0.00003) 0\nM 0\n");
}

TEST(Dialects, refusals_say_where_what_and_why) {
  EXPECT_EQ(refusal("H 0\nT 1\n", "stim"),
            "file:2: T cannot be written for stim: it is no Clifford gate there");
  EXPECT_EQ(refusal("H 0\nREPEAT 2 {\n    R_Z(0.3) 1\n}\n", "deltakit").substr(0, 50),
            "file:3: R_Z cannot be written for deltakit: it is ");
  EXPECT_NE(refusal("LEAKAGE(0.1) 0\n", "clifft").find("drops the gates"), std::string::npos);
  EXPECT_NE(refusal("LEAKAGE(0.1) 0\nLEAKAGE_MARK1(0.1) 0\n", "stim").find("two languages"),
            std::string::npos);
  EXPECT_NE(refusal("HERALDED_ERASE(0.1) 16777215\n", "clifft").find("spare qubit"),
            std::string::npos);
  EXPECT_NE(refusal("LEAKAGE(0.1) 0\nSWAP 0 1\n", "deltakit").find("change places"),
            std::string::npos);
  expect_error([] { language::parse_dialect("qiskit"); }, "tsim, deltakit or custabilizer",
               ExitCode::kUsage);
}

}  // namespace
}  // namespace tilewave::stabilizer
