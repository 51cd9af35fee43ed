// What the tests of misuse share: a call that must be refused, and arguments to call with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "calls.h"
#include "dense.h"

namespace misuse {

using namespace dense;

// Runs f, which must be refused with one line "<function>: ..." that has every one of the words.
inline void refused(const char* function, const std::vector<std::string>& words, const Call<>& f) {
  try {
    f();
    ADD_FAILURE() << "not refused: " << function;
  } catch (const Misuse& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind(std::string(function) + ": ", 0), 0u) << function << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
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
