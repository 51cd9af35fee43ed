// Circuits written in other tools' dialects of Stim's language: every word in every dialect, texts and
// refusals. What is written, read again, has the joint distribution of records that the circuit has,
// compared exactly by enumeration (enumerator.h).
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "stabilizer/dialect_words.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {
namespace {

using language::parse_stim;

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
