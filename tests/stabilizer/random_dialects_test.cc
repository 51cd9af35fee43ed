// Random circuits written in other tools' dialects of Stim's language have the joint distribution of
// records that they had, compared exactly by enumeration (enumerator.h).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stabilizer/dialect_words.h"
#include "stabilizer/random_circuit.h"
#include "stabilizer/random_leakage.h"
#include "tilewave/circuit/leakage_words.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::stabilizer {
namespace {

using language::parse_stim;

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

}  // namespace
}  // namespace tilewave::stabilizer
