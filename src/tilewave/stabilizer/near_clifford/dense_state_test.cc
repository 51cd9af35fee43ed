// Rotations, promotions and measurements of amplitudes against the definition of a Pauli, written
// out: (P phi)_b = i^phase (-1)^((b ^ x) . z) phi_(b ^ x).
#include "tilewave/stabilizer/near_clifford/dense_state.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <random>

namespace tilewave::stabilizer {
namespace {

using Amplitudes = std::vector<std::complex<double>>;

Amplitudes image(const DensePauli& p, const Amplitudes& phi) {
  static const std::complex<double> kTurns[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  Amplitudes out(phi.size());
  for (std::uint32_t b = 0; b < phi.size(); ++b) {
    const int odd = std::popcount((b ^ p.x) & p.z) & 1;
    out[b] = kTurns[(p.phase + 2 * odd) & 3] * phi[b ^ p.x];
  }
  return out;
}

double squared(const Amplitudes& phi) {
  double sum = 0;
  for (const auto& a : phi) sum += std::norm(a);
  return sum;
}

// The expectation of a Pauli, up to the norm.
double expectation(const DensePauli& p, const Amplitudes& phi) {
  const Amplitudes of = image(p, phi);
  double sum = 0;
  for (std::size_t b = 0; b < phi.size(); ++b) sum += (std::conj(phi[b]) * of[b]).real();
  return sum / squared(phi);
}

DensePauli random_pauli(std::uint32_t k, std::mt19937_64& random) {
  DensePauli p;
  while (p.x == 0 && p.z == 0) {
    const auto mask = (1u << k) - 1;
    p.x = random() % 3 ? static_cast<std::uint32_t>(random()) & mask : 0;
    p.z = random() % 3 ? static_cast<std::uint32_t>(random()) & mask : 0;
  }
  p.phase = static_cast<std::uint8_t>((std::popcount(p.x & p.z) + 2 * (random() % 2)) & 3);
  return p;
}

DenseOp turn(DenseKind kind, double angle) {
  DenseOp op;
  op.kind = kind;
  op.c = std::cos(angle), op.s = std::sin(angle);
  return op;
}

DenseOp measurement(const DensePauli& p) {
  DenseOp op;
  op.kind = DenseKind::kMeasure;
  op.p = p;
  op.pivot = static_cast<std::uint32_t>(std::bit_width(p.x ? p.x : p.z) - 1);
  return op;
}

// Every amplitude is checked through expectations of Paulis, which a basis does not hide.
TEST(DenseState, operations_are_what_they_are_by_definition) {
  std::mt19937_64 random(5);
  for (std::uint32_t k = 1; k <= 9; ++k) {
    for (int round = 0; round < 60; ++round) {
      DenseState state;
      Amplitudes phi{1};
      const auto check = [&] {
        for (int n = 0; n < 4 && state.k() > 0; ++n) {
          const DenseOp op = measurement(random_pauli(state.k(), random));
          EXPECT_NEAR(state.chance(op), (1 - expectation(op.p, phi)) / 2, 1e-12) << k;
        }
      };
      const auto promote = [&](double angle) {
        const DenseOp op = turn(DenseKind::kPromote, angle);
        state.run({&op, 1}, nullptr);
        Amplitudes next = phi;
        for (auto& a : next) a *= std::complex<double>(0, -op.s);
        for (auto& a : phi) a *= op.c;
        phi.insert(phi.end(), next.begin(), next.end());
      };
      for (std::uint32_t j = 0; j < k; ++j) promote(1.1 + j);
      const auto rotate = [&](int count) {
        std::vector<DenseOp> ops;
        const std::uint64_t signs = random();
        for (int j = 0; j < count; ++j) {
          DenseOp op = turn(DenseKind::kRotate, 0.3 * j + 0.2);
          op.p = random_pauli(state.k(), random);
          ops.push_back(op);
          const Amplitudes of = image(op.p, phi);
          const double s = (signs >> j) & 1 ? -op.s : op.s;
          for (std::size_t b = 0; b < phi.size(); ++b)
            phi[b] = op.c * phi[b] - std::complex<double>(0, s) * of[b];
        }
        state.run(ops, &signs);
      };
      rotate(12);
      if (round % 2) check();
      // Half of the measurements follow a promotion at once, and most of those are of Z on its
      // coordinate and some others.
      const bool at_once = round % 4 < 2;
      if (at_once) promote(0.4 + round);
      const std::uint32_t now = k + at_once;
      // A measurement; the coordinates that stay are those of state.h's text.
      DensePauli measured = random_pauli(now, random);
      if (at_once && round % 3) {
        measured.x = 0, measured.z |= 1u << k;
        measured.phase = static_cast<std::uint8_t>(2 * (round & 1));
      }
      const DenseOp op = measurement(measured);
      if (round % 5) {
        EXPECT_NEAR(state.chance(op), (1 - expectation(op.p, phi)) / 2, 1e-12) << now;
      }
      const bool outcome = random() % 2;
      const Amplitudes of = image(op.p, phi);
      Amplitudes projected(phi.size()), left;
      for (std::size_t b = 0; b < phi.size(); ++b)
        projected[b] = outcome ? phi[b] - of[b] : phi[b] + of[b];
      const std::size_t pivot = std::size_t{1} << op.pivot;
      for (std::size_t b = 0; b < phi.size(); ++b) {
        if (b & pivot) continue;
        // Diagonal: the one of the two places of the pivot that is not projected out.
        left.push_back(op.p.x == 0 && std::norm(projected[b]) < 1e-28 ? projected[b | pivot]
                                                                      : projected[b]);
      }
      state.project(op, outcome);
      phi = left;
      ASSERT_EQ(state.k(), now - 1);
      DenseState copy;
      copy = state;  // with the factors that wait
      if (round % 2) state = copy;
      if (round % 3 && state.k() > 0) rotate(5);
      check();
      promote(0.7);
      copy = state;  // with the promotion that waits
      state = copy;
      check();
    }
  }
}

// Unlikely outcomes one after the other: the norm falls far below the range of numbers, in steps that
// wait for the next pass.
TEST(DenseState, a_norm_that_falls_stays_in_range) {
  std::mt19937_64 random(6);
  DenseState state;
  for (int j = 0; j < 6; ++j) {
    state.apply(turn(DenseKind::kPromote, 0.3 + j), false);
  }
  for (int step = 0; step < 400; ++step) {
    const DenseOp promote = turn(DenseKind::kPromote, 1e-3);
    state.run({&promote, 1}, nullptr);
    const DenseOp measure = measurement({0, 1u << 6, 0});
    if (step % 5 == 0) {
      EXPECT_NEAR(state.chance(measure), promote.s * promote.s, 1e-18) << step;
    }
    state.project(measure, true);
    DenseOp rotate = turn(DenseKind::kRotate, 0.4);
    rotate.p = random_pauli(6, random);
    const std::uint64_t sign = 0;
    state.run({&rotate, 1}, &sign);
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
