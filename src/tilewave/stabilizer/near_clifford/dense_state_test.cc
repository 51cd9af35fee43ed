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

// Every amplitude is checked through expectations of Paulis, which a basis does not hide.
TEST(DenseState, operations_are_what_they_are_by_definition) {
  std::mt19937_64 random(5);
  for (std::uint32_t k = 1; k <= 9; ++k) {
    for (int round = 0; round < 60; ++round) {
      DenseState state;
      Amplitudes phi{1};
      const auto check = [&] {
        for (int n = 0; n < 4 && state.k() > 0; ++n) {
          DenseOp op;
          op.kind = DenseKind::kMeasure;
          op.p = random_pauli(state.k(), random);
          op.pivot = static_cast<std::uint32_t>(std::bit_width(op.p.x ? op.p.x : op.p.z) - 1);
          EXPECT_NEAR(state.chance(op), (1 - expectation(op.p, phi)) / 2, 1e-12) << k;
        }
      };
      for (std::uint32_t j = 0; j < k; ++j) {
        DenseOp op;
        op.kind = DenseKind::kPromote;
        op.c = std::cos(1.1 + j), op.s = std::sin(1.1 + j);
        state.run({&op, 1}, nullptr);
        Amplitudes next = phi;
        for (auto& a : next) a *= std::complex<double>(0, -op.s);
        for (auto& a : phi) a *= op.c;
        phi.insert(phi.end(), next.begin(), next.end());
      }
      std::vector<DenseOp> ops;
      const std::uint64_t signs = random();
      for (int j = 0; j < 12; ++j) {
        DenseOp op;
        op.p = random_pauli(k, random);
        op.c = std::cos(0.3 * j + 0.2), op.s = std::sin(0.3 * j + 0.2);
        ops.push_back(op);
        const Amplitudes of = image(op.p, phi);
        const double s = (signs >> j) & 1 ? -op.s : op.s;
        for (std::size_t b = 0; b < phi.size(); ++b)
          phi[b] = op.c * phi[b] - std::complex<double>(0, s) * of[b];
      }
      state.run(ops, &signs);
      check();
      // A measurement; the coordinates that stay are those of state.h's text.
      DenseOp op;
      op.kind = DenseKind::kMeasure;
      op.p = random_pauli(k, random);
      op.pivot = static_cast<std::uint32_t>(std::bit_width(op.p.x ? op.p.x : op.p.z) - 1);
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
      ASSERT_EQ(state.k(), k - 1);
      check();
    }
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
