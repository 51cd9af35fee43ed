// What the tests of misuse share: a call that must be refused, and arguments to call with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "calls.h"
#include "dense.h"

namespace misuse {

using namespace dense;

// The arguments of each function as QuEST.h names them.
inline const std::map<std::string, std::set<std::string>>& header_arguments() {
  static const auto found = [] {
    std::ifstream file(TW_QUEST_HEADER);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::map<std::string, std::set<std::string>> all;
    const std::regex prototype(R"(\n(?:\w+ )+\**(\w+)\(([^;{}]*)\);)"),
        argument(R"((\w+)(?:\[[^\]]*\])*\s*(?:,|$))");
    for (std::sregex_iterator f(text.begin(), text.end(), prototype), end; f != end; ++f) {
      const std::string list = (*f)[2];
      for (std::sregex_iterator a(list.begin(), list.end(), argument); a != end; ++a)
        all[(*f)[1]].insert((*a)[1]);
    }
    return all;
  }();
  return found;
}

// A message that begins with a name, as "targs[1] is 9", names an argument of the function.
inline void check_names(const std::string& function, const std::string& message) {
  static const std::regex leading(
      R"(^(?:the number of |an entry of |an element of )?(\w+)(?:\.\w+)?(?:\[\d+\])?)"
      R"((?: and (\w+)|, (\w+) and (\w+))? (?:is|are|was|has|have|names|leave|do) )");
  static const std::set<std::string> words = {"a",       "an",     "the",   "qubit",
                                              "outcome", "matrix", "codes", "coefficient"};
  std::smatch found;
  if (!std::regex_search(message, found, leading)) return;
  const auto known = header_arguments().find(function);
  ASSERT_NE(known, header_arguments().end()) << function;
  for (std::size_t k = 1; k < found.size(); ++k) {
    const std::string name = found[k];
    if (name.empty() || words.count(name)) continue;
    EXPECT_TRUE(known->second.count(name))
        << function << " has no argument " << name << ": " << message;
  }
}

// Runs f, which must be refused with one line "<function>: ..." that has every one of the words.
inline void refused(const char* function, const std::vector<std::string>& words, const Call<>& f) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << function;
  } catch (const Misuse& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind(std::string(function) + ": ", 0), 0u) << function << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    check_names(function, text.substr(std::string(function).size() + 2));
    for (const std::string& word : words) {
      EXPECT_NE(text.find(word), std::string::npos) << word << ": " << text;
    }
  }
}

// The same, the function being the first word.
inline void refused(const std::vector<std::string>& words, const Call<>& f) {
  refused(words[0].c_str(), {words.begin() + 1, words.end()}, f);
}

inline const ComplexMatrix2 kOne = {{{1, 0}, {0, 1}}, {{0, 0}, {0, 0}}};
inline ComplexMatrix4 one4() {
  ComplexMatrix4 m{};
  for (int k = 0; k < 4; ++k) m.real[k][k] = 1;
  return m;
}
inline const Vector kAxis{0, 0, 1};
inline const qreal kNan = qreal(NAN);

struct Fixture {
  MatrixN two{random_unitary(2)}, one{random_unitary(1)};
  SubDiagonalOp sub = createSubDiagonalOp(1);
  PauliHamil hamil = createPauliHamil(3, 1);
  DiagonalOp diagonal = createDiagonalOp(3, environment());
  Qureg vector = createQureg(3, environment()), density = createDensityQureg(3, environment());
  Fixture() {
    for (int k = 0; k < 2; ++k) sub.real[k] = 1;
  }
  ~Fixture() {
    destroySubDiagonalOp(sub);
    destroyPauliHamil(hamil);
    destroyDiagonalOp(diagonal, environment());
    destroyQureg(vector, environment());
    destroyQureg(density, environment());
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
};

}  // namespace misuse
