// Channels against sums over their Kraus operators.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "dense.h"

using namespace dense;

namespace {

Matrix scaled(Matrix m, double factor) {
  for (cplx& x : m) x *= factor;
  return m;
}

std::vector<Matrix> pauli_errors(double x, double y, double z) {
  return {scaled(pauli(0), std::sqrt(1 - x - y - z)), scaled(pauli(1), std::sqrt(x)),
          scaled(pauli(2), std::sqrt(y)), scaled(pauli(3), std::sqrt(z))};
}

// Operators of a random channel: blocks of the first columns of a random unitary.
std::vector<Matrix> random_channel(int num_qubits) {
  const std::size_t dim = std::size_t{1} << num_qubits, big = 4 * dim;
  const Matrix u = random_unitary(num_qubits + 2);
  std::vector<Matrix> ops(4, Matrix(dim * dim));
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = 0; j < dim; ++j) ops[k][i * dim + j] = u[(k * dim + i) * big + j];
    }
  }
  return ops;
}

}  // namespace

TEST(Channels, OneQubit) {
  on_density("one-qubit channels", [](Pair& s) {
    mixDephasing(s.q, 3, qreal(0.25));
    s.ref.channel({3}, pauli_errors(0, 0, 0.25));
    s.check("mixDephasing");
    mixDepolarising(s.q, 0, qreal(0.375));
    s.ref.channel({0}, pauli_errors(0.125, 0.125, 0.125));
    s.check("mixDepolarising");
    mixPauli(s.q, 4, qreal(0.125), qreal(0.0625), qreal(0.25));
    s.ref.channel({4}, pauli_errors(0.125, 0.0625, 0.25));
    s.check("mixPauli");
    mixDamping(s.q, 2, qreal(0.4375));
    s.ref.channel({2}, {{1, 0, 0, 0.75}, {0, std::sqrt(0.4375), 0, 0}});
  });
}

TEST(Channels, TwoQubits) {
  on_density("two-qubit channels", [](Pair& s) {
    const Bits q = random_qubits(5, 2);
    std::vector<Matrix> z, all;
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        const bool none = a == 0 && b == 0;
        all.push_back(scaled(pauli_string({a, b}), std::sqrt(none ? 0.5 : 0.5 / 15)));
        if (a % 3 == 0 && b % 3 == 0) {
          z.push_back(scaled(pauli_string({a, b}), std::sqrt(none ? 0.625 : 0.125)));
        }
      }
    }
    mixTwoQubitDephasing(s.q, q[0], q[1], qreal(0.375));
    s.ref.channel(q, z);
    s.check("mixTwoQubitDephasing");
    mixTwoQubitDepolarising(s.q, q[0], q[1], qreal(0.5));
    s.ref.channel(q, all);
  });
}

TEST(Channels, KrausMaps) {
  for (int targets = 1; targets <= 5; ++targets) {
    // a superoperator on 10 qubits needs as many on every rank
    const bool is_shared = environment().numRanks > 1 || std::getenv("TILEWAVE_RANKS") ||
                           std::getenv("TILEWAVE_SHARE_FROM");
    const int needed = is_shared ? targets + 1 : 0;
    on_density(
        "Kraus map on " + std::to_string(targets),
        [&](Pair& s) {
          Bits t = random_qubits(5, targets);
          for (bool keeps_trace : {true, false}) {
            std::vector<Matrix> ops = random_channel(targets);
            if (!keeps_trace) ops.resize(3);
            const int count = static_cast<int>(ops.size());
            std::vector<std::unique_ptr<MatrixN>> owners;
            std::vector<ComplexMatrixN> list;
            for (const Matrix& m : ops) {
              owners.push_back(std::make_unique<MatrixN>(m));
              list.push_back(owners.back()->value);
            }
            if (keeps_trace) {
              mixMultiQubitKrausMap(s.q, t.data(), targets, list.data(), count);
            } else {
              mixNonTPMultiQubitKrausMap(s.q, t.data(), targets, list.data(), count);
            }
            s.ref.channel(t, ops);
            if (targets == 1) {
              std::vector<ComplexMatrix2> small;
              for (const Matrix& m : ops) small.push_back(matrix2(m));
              (keeps_trace ? mixKrausMap : mixNonTPKrausMap)(s.q, t[0], small.data(), count);
              s.ref.channel(t, ops);
            }
            if (targets == 2) {
              std::vector<ComplexMatrix4> small;
              for (const Matrix& m : ops) small.push_back(matrix4(m));
              (keeps_trace ? mixTwoQubitKrausMap : mixNonTPTwoQubitKrausMap)(s.q, t[0], t[1],
                                                                             small.data(), count);
              s.ref.channel(t, ops);
            }
          }
        },
        needed);
  }
}

TEST(Channels, Mixture) {
  on_density("mixDensityMatrix", [](Pair& s) {
    Pair other(5, true);
    mixDensityMatrix(s.q, qreal(0.25), other.q);
    for (std::size_t k = 0; k < s.ref.a.size(); ++k) {
      s.ref.a[k] = 0.75 * s.ref.a[k] + 0.25 * other.ref.a[k];
    }
  });
}
