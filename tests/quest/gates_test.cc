// Unitary functions of the API: each against its matrix, with every number of controls and targets.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "calls.h"
#include "dense.h"

using namespace dense;

namespace {

constexpr double kPi = std::numbers::pi;

Matrix u3(double t, double p, double l) {
  return {std::cos(t / 2), -std::exp(kI * l) * std::sin(t / 2), std::exp(kI * p) * std::sin(t / 2),
          std::exp(kI * (p + l)) * std::cos(t / 2)};
}

Matrix about_axis(const Vector& v, double angle) {
  const double size = std::sqrt(double(v.x) * v.x + double(v.y) * v.y + double(v.z) * v.z);
  Matrix m(4);
  const double n[4] = {0, v.x / size, v.y / size, v.z / size};
  for (int k = 0; k < 4; ++k) {
    m[k] = (k == 0 || k == 3) ? std::cos(angle / 2) : 0.0;
    for (int p = 1; p < 4; ++p) m[k] -= kI * std::sin(angle / 2) * n[p] * pauli(p)[k];
  }
  return m;
}

struct Row {
  const char* name;
  Matrix m;
  Call<Qureg, int> apply;
};

struct ControlledRow {
  const char* name;
  Matrix m;
  Call<Qureg, int, int> apply;
};

}  // namespace

TEST(Gates, OneQubit) {
  const double r = 1 / std::sqrt(2.0), a = 0.7312, b = -1.913, c = 2.21;
  const qreal fa = qreal(a), fb = qreal(b), fc = qreal(c);
  const Vector axis = {1, -2, qreal(0.5)};
  const Matrix u = random_unitary(1), v = random_unitary(1);
  const cplx w = std::sqrt(std::conj(v[0] * v[3] - v[1] * v[2]));
  const ::Complex alpha = {qreal((w * v[0]).real()), qreal((w * v[0]).imag())},
                  beta = {qreal((w * v[2]).real()), qreal((w * v[2]).imag())};
  Matrix special = v;
  for (cplx& x : special) x *= w;
  const std::vector<Row> rows = {
      {"hadamard", {r, r, r, -r}, hadamard},
      {"pauliX", pauli(1), pauliX},
      {"pauliY", pauli(2), pauliY},
      {"pauliZ", pauli(3), pauliZ},
      {"sGate", diagonal({1, kI}), sGate},
      {"tGate", diagonal({1, std::exp(kI * kPi / 4.0)}), tGate},
      {"SqX", {r, -kI * r, -kI * r, r}, SqX},
      {"SqY", {r, -r, r, r}, SqY},
      {"SqW", about_axis({1, 1, 0}, kPi / 2), SqW},
      {"phaseShift", diagonal({1, std::exp(kI * a)}),
       [&](Qureg q, int t) { phaseShift(q, t, fa); }},
      {"u1Gate", diagonal({1, std::exp(kI * a)}), [&](Qureg q, int t) { u1Gate(q, t, fa); }},
      {"u2Gate", u3(kPi / 2, a, b), [&](Qureg q, int t) { u2Gate(q, t, fa, fb); }},
      {"u3Gate", u3(a, b, c), [&](Qureg q, int t) { u3Gate(q, t, fa, fb, fc); }},
      {"rotateX", pauli_rotation({1}, a), [&](Qureg q, int t) { rotateX(q, t, fa); }},
      {"rotateY", pauli_rotation({2}, b), [&](Qureg q, int t) { rotateY(q, t, fb); }},
      {"rotateZ", pauli_rotation({3}, c), [&](Qureg q, int t) { rotateZ(q, t, fc); }},
      {"rotateAroundAxis", about_axis(axis, a),
       [&](Qureg q, int t) { rotateAroundAxis(q, t, fa, axis); }},
      {"compactUnitary", special, [&](Qureg q, int t) { compactUnitary(q, t, alpha, beta); }},
      {"unitary", u, [&](Qureg q, int t) { unitary(q, t, matrix2(u)); }},
  };
  for (const Row& row : rows) {
    on_both(row.name, [&](Pair& s) {
      for (int t = 0; t < s.ref.n; ++t) {
        row.apply(s.q, t);
        s.ref.both({t}, row.m);
      }
    });
  }
  const std::vector<ControlledRow> controlled = {
      {"controlledNot", pauli(1), controlledNot},
      {"controlledPauliY", pauli(2), controlledPauliY},
      {"controlledPhaseFlip", pauli(3), controlledPhaseFlip},
      {"controlledPhaseShift", diagonal({1, std::exp(kI * a)}),
       [&](Qureg q, int x, int t) { controlledPhaseShift(q, x, t, fa); }},
      {"controlledRotateX", pauli_rotation({1}, a),
       [&](Qureg q, int x, int t) { controlledRotateX(q, x, t, fa); }},
      {"controlledRotateY", pauli_rotation({2}, b),
       [&](Qureg q, int x, int t) { controlledRotateY(q, x, t, fb); }},
      {"controlledRotateZ", pauli_rotation({3}, c),
       [&](Qureg q, int x, int t) { controlledRotateZ(q, x, t, fc); }},
      {"controlledRotateAroundAxis", about_axis(axis, a),
       [&](Qureg q, int x, int t) { controlledRotateAroundAxis(q, x, t, fa, axis); }},
      {"controlledCompactUnitary", special,
       [&](Qureg q, int x, int t) { controlledCompactUnitary(q, x, t, alpha, beta); }},
      {"controlledUnitary", u,
       [&](Qureg q, int x, int t) { controlledUnitary(q, x, t, matrix2(u)); }},
  };
  for (const ControlledRow& row : controlled) {
    on_both(row.name, [&](Pair& s) {
      for (int t = 0; t < s.ref.n; ++t) {
        const int x = (t + 2) % s.ref.n;
        row.apply(s.q, x, t);
        s.ref.both({t}, row.m, {x});
      }
    });
  }
}

TEST(Gates, ManyControls) {
  for (int count = 1; count <= 5; ++count) {
    const double angle = random_number(-3, 3);
    on_both(
        "controls " + std::to_string(count),
        [&](Pair& s) {
          Bits c = random_qubits(s.ref.n, count + 1);
          const int t = c.back();
          c.pop_back();
          const Matrix u = random_unitary(1);
          multiControlledUnitary(s.q, c.data(), count, t, matrix2(u));
          s.ref.both({t}, u, c);
          Bits values;
          for (int k = 0; k < count; ++k) values.push_back(static_cast<int>(random_number(0, 2)));
          multiStateControlledUnitary(s.q, c.data(), values.data(), count, t, matrix2(u));
          s.ref.both({t}, u, c, values);
          multiControlledPhaseFlip(s.q, c.data(), count);
          multiControlledPhaseShift(s.q, c.data(), count, qreal(angle));
          const Bits rest(c.begin() + 1, c.end());
          s.ref.both({c[0]}, pauli(3), rest);
          s.ref.both({c[0]}, diagonal({1, std::exp(kI * angle)}), rest);
        },
        count + 1);
  }
}

TEST(Gates, ManyTargets) {
  for (int targets = 1; targets <= 5; ++targets) {
    for (int controls = 0; controls <= 5; ++controls) {
      on_both(
          std::to_string(controls) + " controls, " + std::to_string(targets) + " targets",
          [&](Pair& s) {
            Bits all = random_qubits(s.ref.n, controls + targets);
            Bits c(all.begin(), all.begin() + controls), t(all.begin() + controls, all.end());
            const double angle = random_number(-3, 3);
            std::vector<int> codes;
            std::vector<pauliOpType> paulis;
            for (int k = 0; k < targets; ++k) {
              codes.push_back(static_cast<int>(random_number(k == 0 ? 1 : 0, 4)));
              paulis.push_back(static_cast<pauliOpType>(codes.back()));
            }
            const std::vector<int> zs(targets, 3);
            const Matrix u = random_unitary(targets);
            const MatrixN m(u);
            if (controls == 0) {
              multiQubitUnitary(s.q, t.data(), targets, m.value);
              multiRotateZ(s.q, t.data(), targets, qreal(angle));
              multiRotatePauli(s.q, t.data(), paulis.data(), targets, qreal(angle));
              multiQubitNot(s.q, t.data(), targets);
            } else {
              if (controls == 1) {
                controlledMultiQubitUnitary(s.q, c[0], t.data(), targets, m.value);
              } else {
                multiControlledMultiQubitUnitary(s.q, c.data(), controls, t.data(), targets,
                                                 m.value);
              }
              multiControlledMultiRotateZ(s.q, c.data(), controls, t.data(), targets, qreal(angle));
              multiControlledMultiRotatePauli(s.q, c.data(), controls, t.data(), paulis.data(),
                                              targets, qreal(angle));
              multiControlledMultiQubitNot(s.q, c.data(), controls, t.data(), targets);
            }
            s.ref.both(t, u, c);
            s.ref.both(t, pauli_rotation(zs, angle), c);
            s.ref.both(t, pauli_rotation(codes, angle), c);
            s.ref.both(t, pauli_string(std::vector<int>(targets, 1)), c);
          },
          controls + targets);
    }
  }
}

TEST(Gates, TwoQubits) {
  const cplx p(0.5, 0.5), m(0.5, -0.5);
  const Matrix u = random_unitary(2);
  on_both("two qubits", [&](Pair& s) {
    const Bits q = random_qubits(s.ref.n, 5);
    swapGate(s.q, q[0], q[1]);
    s.ref.both({q[0], q[1]}, {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1});
    sqrtSwapGate(s.q, q[1], q[2]);
    s.ref.both({q[1], q[2]}, {1, 0, 0, 0, 0, p, m, 0, 0, m, p, 0, 0, 0, 0, 1});
    twoQubitUnitary(s.q, q[0], q[2], matrix4(u));
    s.ref.both({q[0], q[2]}, u);
    controlledTwoQubitUnitary(s.q, q[3], q[2], q[1], matrix4(u));
    s.ref.both({q[2], q[1]}, u, {q[3]});
    int c[3] = {q[3], q[4], q[0]};
    multiControlledTwoQubitUnitary(s.q, c, 3, q[2], q[1], matrix4(u));
    s.ref.both({q[2], q[1]}, u, {q[3], q[4], q[0]});
  });
}

TEST(Gates, DiagonalUnitary) {
  for (int targets = 1; targets <= 5; ++targets) {
    on_both("diagonalUnitary " + std::to_string(targets), [&](Pair& s) {
      Bits t = random_qubits(s.ref.n, targets);
      SubDiagonalOp op = createSubDiagonalOp(targets);
      std::vector<cplx> d;
      for (long long k = 0; k < op.numElems; ++k) {
        d.push_back(std::exp(kI * random_number(-3, 3)));
        op.real[k] = qreal(d.back().real());
        op.imag[k] = qreal(d.back().imag());
      }
      diagonalUnitary(s.q, t.data(), targets, op);
      destroySubDiagonalOp(op);
      s.ref.both(t, diagonal(d));
    });
  }
}

TEST(Gates, FourierTransform) {
  on_both("QFT", [&](Pair& s) {
    const auto matrix = [](int k) {
      const int dim = 1 << k;
      Matrix m;
      for (int i = 0; i < dim; ++i) {
        for (int j = 0; j < dim; ++j) {
          m.push_back(std::exp(2 * kPi * kI * double(i * j % dim) / double(dim)) /
                      std::sqrt(double(dim)));
        }
      }
      return m;
    };
    Bits all(s.ref.n);
    for (int k = 0; k < s.ref.n; ++k) all[k] = k;
    applyFullQFT(s.q);
    s.ref.both(all, matrix(s.ref.n));
    for (int count = 1; count <= 5; ++count) {
      Bits some = random_qubits(s.ref.n, count);
      applyQFT(s.q, some.data(), count);
      s.ref.both(some, matrix(count));
    }
  });
}

// Gates between observations on 8 qubits, where a row of the CPU engine's tiles is a quarter of the
// state: each total of a unitary circuit is 1, and the state that of the reference.
TEST(Gates, ControlledNotsIntoRows) {
  Pair s(8, false);
  initZeroState(s.q);
  s.ref.a.assign(s.ref.a.size(), 0);
  s.ref.a[0] = 1;
  const auto rotate = [&](int q, double angle) {
    rotateY(s.q, q, static_cast<qreal>(angle));
    s.ref.both({q}, pauli_rotation({2}, angle));
  };
  for (int q = 0; q < 8; ++q) rotate(q, 0.3 + 0.1 * q);
  EXPECT_NEAR(calcTotalProb(s.q), 1, kTolerance);
  for (int control = 0; control < 8; ++control) {
    for (int target = 0; target < 8; ++target) {
      if (control == target) continue;
      rotate((target + 7) % 8, 0.2);
      controlledNot(s.q, control, target);
      s.ref.both({target}, pauli(1), {control});
      rotate(target, 0.13);
      EXPECT_NEAR(calcTotalProb(s.q), 1, kTolerance);
    }
  }
  s.check("controlled X into rows");
}

// 22 qubits, in double precision the least at which passes are widened: X that waits on a position
// must come along when the state is brought to the order of basis states.
TEST(Gates, SettledAsMeasured) {
  Qureg q = createQureg(22, environment());
  for (const int k : {10, 0}) rotateY(q, k, 2);
  Qureg other = createCloneQureg(q, environment());
  pauliZ(other, 10);
  const double one = std::pow(std::sin(1), 2);
  EXPECT_NEAR(calcProbOfOutcome(q, 10, 1), one, kTolerance);
  EXPECT_NEAR(calcInnerProduct(q, other).real, 1 - 2 * one, kTolerance);
  pauliX(q, 10);
  pauliX(q, 5);
  EXPECT_NEAR(calcProbOfOutcome(q, 10, 1), 1 - one, kTolerance);
  EXPECT_NEAR(calcInnerProduct(q, other).real, 0, kTolerance);
  pauliX(other, 5);
  // X Z between the same state: <q|XZ|q> = 0 for real amplitudes
  EXPECT_NEAR(calcInnerProduct(q, other).real, 0, kTolerance);
  copyStateFromGPU(q);
  double sum = 0, total = 0;
  const auto first = static_cast<std::size_t>(q.chunkId * q.numAmpsPerChunk);
  for (std::size_t k = 0; k < static_cast<std::size_t>(q.numAmpsPerChunk); ++k) {
    const double p = std::norm(cplx(q.stateVec.real[k], q.stateVec.imag[k]));
    total += p;
    if ((first + k) >> 10 & 1) sum += p;
  }
  if (q.numChunks == 1) {
    EXPECT_NEAR(total, 1, kTolerance);
    EXPECT_NEAR(sum, 1 - one, kTolerance);
  }
  destroyQureg(other, environment());
  destroyQureg(q, environment());
}

// Operators on all qubits of small registers, which may be more than a rank's share has.
TEST(Gates, AsWideAsTheRegister) {
  for (int n = 2; n <= 5; ++n) {
    if (1 << n < environment().numRanks) continue;
    for (const bool density : {false, true}) {
      SCOPED_TRACE(std::to_string(n) + (density ? " qubits, density matrix" : " qubits"));
      Pair s(n, density);
      const Bits all = random_qubits(n, n);
      const Matrix u = random_unitary(n), any = random_matrix(n - 1);
      Bits t(all);
      const MatrixN wide(u), under(any);
      hadamard(s.q, 0);
      s.ref.both({0}, {std::sqrt(0.5), std::sqrt(0.5), std::sqrt(0.5), -std::sqrt(0.5)});
      multiQubitUnitary(s.q, t.data(), n, wide.value);
      s.ref.both(all, u);
      s.check("multiQubitUnitary");
      applyMultiControlledMatrixN(s.q, t.data(), 1, t.data() + 1, n - 1, under.value);
      s.ref.left(Bits(all.begin() + 1, all.end()), any, {all[0]});
      s.check("applyMultiControlledMatrixN");
      sqrtSwapGate(s.q, 1, 0);
      const cplx p(0.5, 0.5), m(0.5, -0.5);
      s.ref.both({1, 0}, {1, 0, 0, 0, 0, p, m, 0, 0, m, p, 0, 0, 0, 0, 1});
      swapGate(s.q, 0, 1);
      s.ref.both({0, 1}, {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1});
      const Matrix two = random_unitary(2);
      twoQubitUnitary(s.q, 1, 0, matrix4(two));
      s.ref.both({1, 0}, two);
      s.check("two qubits");
      if (!density) continue;
      const double kept = std::sqrt(0.7), lost = std::sqrt(0.3);
      mixDamping(s.q, 1, qreal(0.3));
      s.ref.channel({1}, {{1, 0, 0, kept}, {0, lost, 0, 0}});
      ComplexMatrix4 ops[1] = {matrix4(two)};
      mixTwoQubitKrausMap(s.q, 0, 1, ops, 1);
      s.ref.channel({0, 1}, {two});
      s.check("channels");
    }
  }
  if (2 < environment().numRanks) return;
  Pair rho(1, true);
  mixDamping(rho.q, 0, qreal(0.5));
  rho.ref.channel({0}, {{1, 0, 0, std::sqrt(0.5)}, {0, std::sqrt(0.5), 0, 0}});
  rho.check("a channel on the only qubit");
}
