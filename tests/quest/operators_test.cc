// Operators that need not be unitary, phase functions, product formulas and whole-state functions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "dense.h"

using namespace dense;

namespace {

Bits all_qubits(int n) {
  Bits out(n);
  for (int k = 0; k < n; ++k) out[k] = k;
  return out;
}

struct Hamiltonian {
  Hamiltonian(int n, int terms, bool only_z = false) : value(createPauliHamil(n, terms)) {
    matrix.assign(std::size_t{1} << (2 * n), 0);
    std::vector<qreal> coefficients;
    std::vector<pauliOpType> codes;
    for (int t = 0; t < terms; ++t) {
      std::vector<int> string;
      for (int q = 0; q < n; ++q) {
        const int code = static_cast<int>(random_number(0, 4));
        string.push_back(only_z ? (code & 1) * 3 : code);
        codes.push_back(static_cast<pauliOpType>(string.back()));
      }
      const double c = random_number(-1, 1);
      coefficients.push_back(qreal(c));
      strings.push_back(string);
      weights.push_back(c);
      const Matrix p = pauli_string(string);
      for (std::size_t k = 0; k < p.size(); ++k) matrix[k] += c * p[k];
    }
    initPauliHamil(value, coefficients.data(), codes.data());
  }
  ~Hamiltonian() { destroyPauliHamil(value); }
  Hamiltonian(const Hamiltonian&) = delete;
  Hamiltonian& operator=(const Hamiltonian&) = delete;
  PauliHamil value;
  Matrix matrix;
  std::vector<std::vector<int>> strings;
  std::vector<double> weights;
};

long long read(std::size_t index, const Bits& qubits, bitEncoding encoding) {
  long long x = 0;
  for (std::size_t k = 0; k < qubits.size(); ++k) x += (index >> qubits[k] & 1) << k;
  if (encoding == TWOS_COMPLEMENT && x >> (qubits.size() - 1) & 1) x -= 1LL << qubits.size();
  return x;
}

// Multiplies by e^{i f} on both sides.
void apply_phase(State& s, const std::vector<Bits>& registers, bitEncoding encoding,
                 const std::function<double(const std::vector<long long>&)>& f) {
  std::vector<cplx> d;
  for (std::size_t index = 0; index < std::size_t{1} << s.n; ++index) {
    std::vector<long long> x;
    for (const Bits& r : registers) x.push_back(read(index, r, encoding));
    d.push_back(std::exp(kI * f(x)));
  }
  s.both(all_qubits(s.n), diagonal(d));
}

}  // namespace

// More targets than the planner takes in one matrix.
TEST(Operators, WideMatrices) {
  for (int targets = 9; targets <= 10; ++targets) {
    Pair s(12, false);
    for (int controls = 0; controls <= 2; ++controls) {
      const Bits all = random_qubits(12, targets + controls);
      Bits t(all.begin(), all.begin() + targets), c(all.begin() + targets, all.end());
      Matrix m = random_matrix(targets);
      for (cplx& x : m) x /= std::sqrt(double(1 << targets));
      const MatrixN n(m);
      hadamard(s.q, t[0]);
      s.ref.both({t[0]}, {std::sqrt(0.5), std::sqrt(0.5), std::sqrt(0.5), -std::sqrt(0.5)});
      if (controls) {
        applyMultiControlledMatrixN(s.q, c.data(), controls, t.data(), targets, n.value);
      } else {
        applyMatrixN(s.q, t.data(), targets, n.value);
      }
      s.ref.left(t, m, c);
      s.check("wide matrix on " + std::to_string(targets));
    }
  }
}

TEST(Operators, ControlledMatrices) {
  for (int targets = 1; targets <= 5; ++targets) {
    for (int controls = 1; controls <= 5; ++controls) {
      on_both(
          std::to_string(controls) + " controls, matrix on " + std::to_string(targets),
          [&](Pair& s) {
            Bits all = random_qubits(s.ref.n, targets + controls);
            Bits t(all.begin(), all.begin() + targets), c(all.begin() + targets, all.end());
            Matrix m = random_matrix(targets);
            for (cplx& x : m) x /= std::sqrt(double(1 << targets));
            const MatrixN n(m);
            applyMultiControlledMatrixN(s.q, c.data(), controls, t.data(), targets, n.value);
            s.ref.left(t, m, c);
            applyMultiControlledGateMatrixN(s.q, c.data(), controls, t.data(), targets, n.value);
            s.ref.both(t, m, c);
          },
          controls + targets);
    }
  }
}

TEST(Operators, Matrices) {
  for (int targets = 1; targets <= 5; ++targets) {
    on_both("matrices on " + std::to_string(targets), [&](Pair& s) {
      Bits t = random_qubits(s.ref.n, targets);
      Matrix m = random_matrix(targets);
      for (cplx& x : m) x /= std::sqrt(double(1 << targets));
      const MatrixN n(m);
      applyMatrixN(s.q, t.data(), targets, n.value);
      s.ref.left(t, m);
      applyGateMatrixN(s.q, t.data(), targets, n.value);
      s.ref.both(t, m);
      if (targets == 1) {
        applyMatrix2(s.q, t[0], matrix2(m));
        s.ref.left(t, m);
      }
      if (targets == 2) {
        applyMatrix4(s.q, t[0], t[1], matrix4(m));
        s.ref.left(t, m);
      }
    });
  }
}

TEST(Operators, Diagonal) {
  on_both("diagonal operators", [](Pair& s) {
    DiagonalOp op = createDiagonalOp(s.ref.n, environment());
    std::vector<cplx> d;
    std::vector<qreal> re, im;
    for (long long k = 0; k < 1LL << s.ref.n; ++k) {
      d.emplace_back(random_number(-1, 1), random_number(-1, 1));
      re.push_back(qreal(d.back().real()));
      im.push_back(qreal(d.back().imag()));
    }
    initDiagonalOp(op, re.data(), im.data());
    re[3] = im[3] = 0.5;
    d[3] = {0.5, 0.5};
    setDiagonalOpElems(op, 3, &re[3], &im[3], 1);
    syncDiagonalOp(op);
    cplx wanted = 0;
    for (std::size_t k = 0; k < d.size(); ++k) {
      wanted += d[k] * (s.ref.is_density ? s.ref.element(k, k) : std::norm(s.ref.a[k]));
    }
    const ::Complex got = calcExpecDiagonalOp(s.q, op);
    EXPECT_NEAR(got.real, wanted.real(), kTolerance);
    EXPECT_NEAR(got.imag, wanted.imag(), kTolerance);
    applyDiagonalOp(s.q, op);
    s.ref.left(all_qubits(s.ref.n), diagonal(d));
    destroyDiagonalOp(op, environment());
    for (int targets = 1; targets <= 5; ++targets) {
      SubDiagonalOp sub = createSubDiagonalOp(targets);
      Bits t = random_qubits(s.ref.n, targets);
      std::vector<cplx> e(d.begin(), d.begin() + (1 << targets));
      for (std::size_t k = 0; k < e.size(); ++k) {
        sub.real[k] = qreal(e[k].real());
        sub.imag[k] = qreal(e[k].imag());
      }
      applySubDiagonalOp(s.q, t.data(), targets, sub);
      s.ref.left(t, diagonal(e));
      applyGateSubDiagonalOp(s.q, t.data(), targets, sub);
      s.ref.both(t, diagonal(e));
      destroySubDiagonalOp(sub);
    }
  });
}

TEST(Operators, PauliSums) {
  on_both("Pauli sums", [](Pair& s) {
    const Hamiltonian h(s.ref.n, 6);
    Pair out(s.ref.n, s.ref.is_density), space(s.ref.n, s.ref.is_density);
    const auto expected = [&](const Matrix& m) {
      State after = s.ref;
      after.left(all_qubits(s.ref.n), m);
      cplx total = 0;
      for (std::size_t k = 0; k < std::size_t{1} << s.ref.n; ++k) {
        total += s.ref.is_density ? after.element(k, k) : std::conj(s.ref.a[k]) * after.a[k];
      }
      return total.real();
    };
    EXPECT_NEAR(calcExpecPauliHamil(s.q, h.value, space.q), expected(h.matrix), 4 * kTolerance);
    EXPECT_NEAR(calcExpecPauliSum(s.q, h.value.pauliCodes, h.value.termCoeffs, 6, space.q),
                expected(h.matrix), 4 * kTolerance);
    Bits t = all_qubits(s.ref.n);
    EXPECT_NEAR(calcExpecPauliProd(s.q, t.data(), h.value.pauliCodes, s.ref.n, space.q),
                expected(pauli_string(h.strings[0])), 4 * kTolerance);
    // remembered until the state changes, however it does
    EXPECT_NEAR(calcExpecPauliHamil(s.q, h.value, space.q), expected(h.matrix), 4 * kTolerance);
    rotateX(s.q, 0, qreal(0.7));
    s.ref.both({0}, pauli_rotation({1}, 0.7));
    EXPECT_NEAR(calcExpecPauliHamil(s.q, h.value, space.q), expected(h.matrix), 4 * kTolerance);
    if (s.q.numChunks == 1) {
      s.q.stateVec.real[3] += qreal(0.25);
      s.ref.a[3] += 0.25;
    }
    EXPECT_NEAR(calcExpecPauliHamil(s.q, h.value, space.q), expected(h.matrix), 4 * kTolerance);
    out.ref = s.ref;
    out.ref.left(t, h.matrix);
    applyPauliHamil(s.q, h.value, out.q);
    out.check("applyPauliHamil");
    applyPauliSum(s.q, h.value.pauliCodes, h.value.termCoeffs, 6, out.q);
    out.check("applyPauliSum");
    applyPauliHamil(s.q, h.value, s.q);  // in place
    s.ref = out.ref;
  });
  on_density("setQuregToPauliHamil", [](Pair& s) {
    const Hamiltonian h(s.ref.n, 5);
    setQuregToPauliHamil(s.q, h.value);
    for (std::size_t r = 0; r < 32; ++r) {
      for (std::size_t c = 0; c < 32; ++c) s.ref.a[r + 32 * c] = h.matrix[r * 32 + c];
    }
  });
}

TEST(Operators, ProductFormula) {
  for (int order : {1, 2, 4}) {
    on_both("order " + std::to_string(order), [&](Pair& s) {
      const Hamiltonian h(s.ref.n, 3);
      const double time = 0.37;
      applyTrotterCircuit(s.q, h.value, qreal(time), order, 2);
      const std::function<void(double, int, bool)> step = [&](double t, int k, bool backwards) {
        if (k == 1) {
          for (std::size_t j = 0; j < 3; ++j) {
            const std::size_t i = backwards ? 2 - j : j;
            bool identity = true;
            for (int code : h.strings[i]) identity &= code == 0;
            if (identity) continue;
            s.ref.both(all_qubits(s.ref.n), pauli_rotation(h.strings[i], 2 * t * h.weights[i]));
          }
        } else if (k == 2) {
          step(t / 2, 1, false);
          step(t / 2, 1, true);
        } else {
          const double p = 1 / (4 - std::pow(4.0, 1.0 / (k - 1)));
          for (double f : {p, p, 1 - 4 * p, p, p}) step(f * t, k - 2, false);
        }
      };
      step(time / 2, order, false);
      step(time / 2, order, false);
    });
  }
}

TEST(Operators, HamiltonianFiles) {
  const std::string name =
      testing::TempDir() + "quest_hamiltonian_" + std::to_string(getpid()) + ".txt";
  std::FILE* file = std::fopen(name.c_str(), "w");
  std::fputs("0.5 0 3 0\n-1.25 3 0 3\n\n", file);
  std::fclose(file);
  std::string path = name;
  PauliHamil h = createPauliHamilFromFile(path.data());
  EXPECT_EQ(h.numQubits, 3);
  EXPECT_EQ(h.numSumTerms, 2);
  EXPECT_EQ(h.pauliCodes[1], PAULI_Z);
  EXPECT_EQ(h.termCoeffs[1], qreal(-1.25));
  DiagonalOp op = createDiagonalOpFromPauliHamilFile(path.data(), environment());
  DiagonalOp same = createDiagonalOp(3, environment());
  initDiagonalOpFromPauliHamil(same, h);
  EXPECT_EQ(op.numElemsPerChunk * op.numChunks, 8);
  for (int k = 0; k < op.numElemsPerChunk; ++k) {
    const int index = k + op.chunkId * static_cast<int>(op.numElemsPerChunk);
    const double z1 = index >> 1 & 1 ? -1 : 1, z02 = ((index ^ index >> 2) & 1) ? -1 : 1;
    EXPECT_NEAR(op.real[k], 0.5 * z1 - 1.25 * z02, kTolerance);
    EXPECT_EQ(op.real[k], same.real[k]);
    EXPECT_EQ(op.imag[k], 0);
  }
  destroyDiagonalOp(op, environment());
  destroyDiagonalOp(same, environment());
  destroyPauliHamil(h);
  file = std::fopen(name.c_str(), "w");
  std::fputs("0.5 0 3 0\n-1.25 3 0\n", file);
  std::fclose(file);
  EXPECT_THROW(createPauliHamilFromFile(path.data()), Misuse);
  std::remove(name.c_str());
}

TEST(PhaseFunctions, Polynomials) {
  for (bitEncoding encoding : {UNSIGNED, TWOS_COMPLEMENT}) {
    on_both("polynomial", [&](Pair& s) {
      Bits q = random_qubits(s.ref.n, 5);
      qreal c[2] = {qreal(0.25), qreal(-0.125)}, e[2] = {1, 2};
      applyPhaseFunc(s.q, q.data(), 5, encoding, c, e, 2);
      const auto f = [](double x) { return 0.25 * x - 0.125 * x * x; };
      apply_phase(s.ref, {q}, encoding, [&](const auto& x) { return f(double(x[0])); });
      long long at[2] = {0, 1};
      qreal phases[2] = {qreal(0.5), qreal(1.5)};
      qreal inverse[1] = {-1}, one[1] = {1};
      applyPhaseFuncOverrides(s.q, q.data(), 4, encoding, one, inverse, 1, at, phases, 2);
      apply_phase(s.ref, {Bits(q.begin(), q.begin() + 4)}, encoding, [](const auto& x) {
        return x[0] == 0 ? 0.5 : x[0] == 1 ? 1.5 : 1.0 / double(x[0]);
      });
      int sizes[2] = {3, 2}, terms[2] = {1, 2};
      qreal c3[3] = {qreal(0.5), qreal(0.25), qreal(-0.5)}, e3[3] = {2, 1, 3};
      const std::vector<Bits> regs = {Bits(q.begin(), q.begin() + 3), Bits(q.begin() + 3, q.end())};
      const auto g = [](const auto& x) {
        const double a = double(x[0]), b = double(x[1]);
        return 0.5 * a * a + 0.25 * b - 0.5 * b * b * b;
      };
      applyMultiVarPhaseFunc(s.q, q.data(), sizes, 2, encoding, c3, e3, terms);
      apply_phase(s.ref, regs, encoding, g);
      long long pairs[4] = {1, 1, 2, 0};
      if (encoding == TWOS_COMPLEMENT) pairs[2] = -2;
      applyMultiVarPhaseFuncOverrides(s.q, q.data(), sizes, 2, encoding, c3, e3, terms, pairs,
                                      phases, 2);
      apply_phase(s.ref, regs, encoding, [&](const auto& x) {
        if (x[0] == 1 && x[1] == 1) return 0.5;
        if (x[0] == pairs[2] && x[1] == 0) return 1.5;
        return g(x);
      });
    });
  }
}

// A list of registers takes any number of overrides, also where it is one register: the first of
// several for one number holds.
TEST(PhaseFunctions, ManyOverridesOfOneRegister) {
  on_both("overrides", [&](Pair& s) {
    int q[1] = {1}, size[1] = {1}, terms[1] = {1};
    qreal c[1] = {1}, e[1] = {1}, phases[3] = {qreal(0.5), qreal(1.5), qreal(0.25)};
    long long at[3] = {0, 1, 0};
    const auto f = [](const auto& x) { return x[0] == 0 ? 0.5 : 1.5; };
    const std::vector<Bits> regs = {Bits(q, q + 1)};
    applyMultiVarPhaseFuncOverrides(s.q, q, size, 1, UNSIGNED, c, e, terms, at, phases, 3);
    apply_phase(s.ref, regs, UNSIGNED, f);
    applyNamedPhaseFuncOverrides(s.q, q, size, 1, UNSIGNED, NORM, at, phases, 3);
    apply_phase(s.ref, regs, UNSIGNED, f);
    applyParamNamedPhaseFuncOverrides(s.q, q, size, 1, UNSIGNED, SCALED_NORM, c, 1, at, phases, 3);
    apply_phase(s.ref, regs, UNSIGNED, f);
  });
}

TEST(PhaseFunctions, Named) {
  for (int code = NORM; code <= SCALED_INVERSE_SHIFTED_WEIGHTED_DISTANCE; ++code) {
    const auto name = static_cast<phaseFunc>(code);
    std::vector<qreal> p;
    const bool scaled =
        code == 1 || code == 3 || code == 4 || code == 6 || code == 8 || code == 10 || code >= 12;
    const bool inverse =
        code == 2 || code == 3 || code == 4 || code == 7 || code == 8 || code == 11 || code >= 12;
    if (scaled) p.push_back(qreal(0.75));
    if (inverse) p.push_back(qreal(1.25));
    if (code == 4) p.insert(p.end(), {qreal(0.5), qreal(-0.25)});
    if (code == 13) p.push_back(qreal(0.5));
    if (code == 14) p.insert(p.end(), {qreal(2), qreal(0.5)});
    for (bitEncoding encoding : {UNSIGNED, TWOS_COMPLEMENT}) {
      on_both("named phase function " + std::to_string(code), [&](Pair& s) {
        Bits q = random_qubits(s.ref.n, 5);
        int sizes[2] = {2, 3};
        const std::vector<Bits> regs = {Bits(q.begin(), q.begin() + 2),
                                        Bits(q.begin() + 2, q.end())};
        const auto f = [&](const std::vector<long long>& v) {
          const double x = double(v[0]), y = double(v[1]);
          double base = 0;
          if (code == 4) {
            base = std::hypot(x - 0.5, y + 0.25);
          } else if (code < 4) {
            base = std::hypot(x, y);
          } else if (code < 9) {
            base = x * y;
          } else if (code == 13) {
            base = std::abs(x - y - 0.5);
          } else if (code == 14) {
            base = std::sqrt(2.0) * std::abs(x - y - 0.5);
          } else {
            base = std::abs(x - y);
          }
          const double scale = scaled ? 0.75 : 1.0;
          if (!inverse) return scale * base;
          return base == 0 ? 1.25 : scale / base;
        };
        long long at[2] = {1, 0};
        qreal phase[1] = {qreal(2.5)};
        const auto with_override = [&](const std::vector<long long>& v) {
          return v[0] == 1 && v[1] == 0 ? 2.5 : f(v);
        };
        if (p.empty()) {
          applyNamedPhaseFunc(s.q, q.data(), sizes, 2, encoding, name);
          applyNamedPhaseFuncOverrides(s.q, q.data(), sizes, 2, encoding, name, at, phase, 1);
        } else {
          const int count = static_cast<int>(p.size());
          applyParamNamedPhaseFunc(s.q, q.data(), sizes, 2, encoding, name, p.data(), count);
          applyParamNamedPhaseFuncOverrides(s.q, q.data(), sizes, 2, encoding, name, p.data(),
                                            count, at, phase, 1);
        }
        apply_phase(s.ref, regs, encoding, f);
        apply_phase(s.ref, regs, encoding, with_override);
      });
    }
  }
}

TEST(Initial, States) {
  on_both("initial states", [](Pair& s) {
    const std::size_t rows = std::size_t{1} << s.ref.n;
    auto& a = s.ref.a;
    initBlankState(s.q);
    std::fill(a.begin(), a.end(), 0);
    s.check("blank");
    initZeroState(s.q);
    a[0] = 1;
    s.check("zero");
    initClassicalState(s.q, 13);
    a[0] = 0;
    a[s.ref.is_density ? 13 * (rows + 1) : 13] = 1;
    s.check("classical");
    initPlusState(s.q);
    for (cplx& x : a) x = 1 / (s.ref.is_density ? double(rows) : std::sqrt(double(rows)));
    s.check("plus");
    initDebugState(s.q);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = {0.2 * double(k), 0.2 * double(k) + 0.1};
    s.check("debug");
    Pair pure(s.ref.n, false);
    initPureState(s.q, pure.q);
    for (std::size_t k = 0; k < a.size(); ++k) {
      a[k] =
          s.ref.is_density ? pure.ref.a[k % rows] * std::conj(pure.ref.a[k / rows]) : pure.ref.a[k];
    }
    s.check("pure");
    Pair other(s.ref.n, s.ref.is_density), third(s.ref.n, s.ref.is_density);
    setWeightedQureg({qreal(0.5), 1}, other.q, {0, qreal(-0.25)}, third.q, {2, 0}, s.q);
    for (std::size_t k = 0; k < a.size(); ++k) {
      a[k] = cplx(0.5, 1) * other.ref.a[k] + cplx(0, -0.25) * third.ref.a[k] + 2.0 * a[k];
    }
    s.check("weighted");
    setWeightedQureg({1, 0}, s.q, {0, 1}, other.q, {0, 0}, s.q);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] += cplx(0, 1) * other.ref.a[k];
    s.check("weighted in place");
    hadamard(other.q, 1);
    cloneQureg(s.q, other.q);
    a = other.ref.a;
    const double r = 1 / std::sqrt(2.0);
    s.ref.both({1}, {r, r, r, -r});
    Qureg copy = createCloneQureg(s.q, environment());
    pauliX(s.q, 0);  // the copy does not follow
    if (s.ref.is_density) {
      EXPECT_NEAR(getDensityAmp(copy, 3, 5).real, s.ref.element(3, 5).real(), kTolerance);
    } else {
      EXPECT_NEAR(getRealAmp(copy, 3), a[3].real(), kTolerance);
      EXPECT_NEAR(getImagAmp(copy, 3), a[3].imag(), kTolerance);
    }
    destroyQureg(copy, environment());
    s.ref.both({0}, pauli(1));
    qreal re[3] = {1, 2, 3}, im[3] = {-1, -2, -3};
    if (s.ref.is_density) {
      setDensityAmps(s.q, 30, 2, re, im, 3);
      for (std::size_t k = 0; k < 3; ++k) a[30 + 2 * rows + k] = {re[k], im[k]};
    } else {
      setAmps(s.q, 5, re, im, 3);
      for (std::size_t k = 0; k < 3; ++k) a[5 + k] = {re[k], im[k]};
    }
  });
}
