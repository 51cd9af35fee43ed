#include "tilewave/statevec/plan/pair_factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "oracle/random_circuit.h"
#include "tilewave/statevec/plan/fuse.h"

namespace tilewave::statevec {
namespace {

using Matrix = std::span<const cplx, 16>;

std::vector<cplx> product(const std::vector<cplx>& a, const std::vector<cplx>& b) {
  std::vector<cplx> out(16);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 4; ++k) out[i * 4 + j] += a[i * 4 + k] * b[k * 4 + j];
    }
  }
  return out;
}

std::vector<cplx> on_bits(const std::array<cplx, 4>& low, const std::array<cplx, 4>& high) {
  std::vector<cplx> out(16);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j)
      out[i * 4 + j] = low[(i & 1) * 2 + (j & 1)] * high[(i >> 1) * 2 + (j >> 1)];
  }
  return out;
}

double difference(const std::vector<cplx>& a, const std::vector<cplx>& b) {
  double sum = 0;  // which is not a number where one of them is not
  for (std::size_t e = 0; e < a.size(); ++e) sum += std::abs(a[e] - b[e]);
  return sum;
}

// What an engine does with the factors, column by column.
std::vector<cplx> matrix_of(const PairFactors& f) {
  std::vector<cplx> out(16);
  for (int column = 0; column < 4; ++column) {
    std::array<cplx, 4> h{};
    h[column] = 1;
    for (const auto& [step, other] :
         {std::pair{&f.first, 1}, {&f.second, 2}, {nullptr, 0}, {&f.third, 1}}) {
      const auto before = h;
      for (int j = 0; j < 4; ++j)
        h[j] =
            step ? before[j] + (*step)[j] * before[j ^ other] : before[j] * cplx(1, f.tangent[j]);
    }
    for (int j = 0; j < 4; ++j)
      out[f.number(j) * 4 + f.number(column)] = f.scale * f.weight[j] * h[j];
  }
  return out;
}

TEST(PairFactors, a_unitary_matrix_is_one_with_factors_after_a_gate_on_each_bit) {
  for (std::uint64_t k = 0; k < 5000; ++k) {
    SCOPED_TRACE(k);
    const std::vector<cplx> m = circuit::random_unitary(2, 7, k);
    const auto reduced = reduce_pair(Matrix(m));
    ASSERT_TRUE(reduced);
    const std::vector<cplx> r(reduced->reduced.begin(), reduced->reduced.end());
    ASSERT_LT(difference(product(m, on_bits(reduced->bit[0], reduced->bit[1])), r), 1e-14);
    const auto factors = factor_pair(Matrix(r));
    ASSERT_TRUE(factors);
    ASSERT_LT(difference(matrix_of(*factors), r), 1e-13);
    EXPECT_EQ(factors->first[0], 0);
    EXPECT_EQ(factors->first[1], 0);
    EXPECT_EQ(factors->second[0], 0);
    EXPECT_EQ(factors->second[2], 0);
    EXPECT_EQ(factors->tangent[0], 0);
    EXPECT_EQ(factors->tangent[2], 0);
    EXPECT_EQ(factors->weight[0], 1.0);
  }
}

// Bits that change their names and values between a matrix and where it is applied.
TEST(PairFactors, bits_of_a_matrix_may_be_exchanged_and_inverted) {
  for (std::uint64_t k = 0; k < 200; ++k) {
    const auto reduced = reduce_pair(Matrix(circuit::random_unitary(2, 8, k)));
    ASSERT_TRUE(reduced);
    for (int way = 0; way < 8; ++way) {
      PairFactors numbering;
      numbering.exchanged = way & 1;
      numbering.flips = way >> 1;
      std::vector<cplx> m(16);
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j)
          m[numbering.number(i) * 4 + numbering.number(j)] = reduced->reduced[i * 4 + j];
      }
      const auto factors = factor_pair(Matrix(m));
      ASSERT_TRUE(factors) << k << " " << way;
      ASSERT_LT(difference(matrix_of(*factors), m), 1e-13) << k << " " << way;
    }
  }
}

// What a result is still to be multiplied by can be left to the next matrix: the product is the same.
TEST(PairFactors, scales_of_bits_are_left_and_taken) {
  int left = 0;
  for (std::uint64_t k = 0; k < 500; ++k) {
    SCOPED_TRACE(k);
    std::array<PairFactors, 2> f;
    for (std::uint64_t i = 0; i < 2; ++i) {
      const auto reduced = reduce_pair(Matrix(circuit::random_unitary(2, 12, 2 * k + i)));
      ASSERT_TRUE(reduced);
      f[i] = *factor_pair(Matrix(reduced->reduced));
    }
    const std::vector<cplx> whole = product(matrix_of(f[1]), matrix_of(f[0]));
    const double most = k % 2 ? 16 : 1.5;
    std::array<double, 2> scale{1, 1};
    for (int b = 0; b < 2; ++b) {
      if (k % 3 == static_cast<std::uint64_t>(b)) continue;
      scale[b] = f[0].leave_scale(b, most);
      if (scale[b] == 1) continue;
      ++left;
      EXPECT_EQ(f[0].weight[1 << b].real(), 1);
      EXPECT_LE(std::abs(scale[b]), most);
      EXPECT_GE(std::abs(scale[b]), 1 / most);
    }
    f[1].take_scales(scale);
    EXPECT_EQ(f[1].weight[0], 1.0);
    EXPECT_LT(difference(product(matrix_of(f[1]), matrix_of(f[0])), whole), 1e-12);
  }
  EXPECT_GT(left, 300);
}

// Right or not at all, also where angles are not defined.
TEST(PairFactors, matrices_with_structure) {
  const double h = std::sqrt(0.5);
  std::vector<std::vector<cplx>> matrices = {
      {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
      {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1},
      {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0},
      {1, 0, 0, 0, 0, 0, {0, 1}, 0, 0, {0, 1}, 0, 0, 0, 0, 0, 1},
      {h, 0, 0, {0, h}, 0, h, {0, h}, 0, 0, {0, h}, h, 0, {0, h}, 0, 0, h},
      {h, h, 0, 0, h, -h, 0, 0, 0, 0, h, h, 0, 0, h, -h},
      {0.5, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, -0.5, 0.5, 0.5, -0.5, -0.5, 0.5, -0.5, -0.5, 0.5},
      {0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0},
      {1, 0, 0, 0, 0, h, {0, h}, 0, 0, {0, h}, h, 0, 0, 0, 0, 1},
  };
  // gates of less than 15 parameters between gates on each bit
  for (std::uint64_t k = 0; k < 90; ++k) {
    const auto on_each = [&](std::uint64_t stream) {
      std::array<cplx, 4> low, high;
      std::ranges::copy(circuit::random_unitary(1, 10, 4 * k + stream), low.begin());
      std::ranges::copy(circuit::random_unitary(1, 10, 4 * k + stream + 1), high.begin());
      return on_bits(low, high);
    };
    matrices.push_back(product(on_each(0), product(matrices[k % 9], on_each(2))));
  }
  int with_factors = 0;
  for (const auto& m : matrices) {
    if (const auto factors = factor_pair(Matrix(m))) {
      EXPECT_LT(difference(matrix_of(*factors), m), 1e-13);
    }
    const auto reduced = reduce_pair(Matrix(m));
    if (!reduced) continue;
    ++with_factors;
    const std::vector<cplx> r(reduced->reduced.begin(), reduced->reduced.end());
    EXPECT_LT(difference(product(m, on_bits(reduced->bit[0], reduced->bit[1])), r), 1e-14);
    EXPECT_LT(difference(matrix_of(factor_pair(Matrix(r)).value()), r), 1e-13);
  }
  EXPECT_GT(with_factors, 0);
  std::vector<cplx> m = circuit::random_unitary(2, 9, 0);
  for (cplx& e : m) e *= 1.001;
  EXPECT_FALSE(reduce_pair(Matrix(m))) << "not unitary";
  m[8] = m[12] = 0;
  EXPECT_FALSE(factor_pair(Matrix(m))) << "not unitary";
}

// The matrices that have others before them on both qubits, and the circuit is the same.
TEST(ReducePairs, matrices_behind_others_get_factors) {
  circuit::Circuit c(3);
  const auto add = [&](circuit::Qubit a, circuit::Qubit b, std::uint64_t k) {
    c.add_matrix({}, 0, std::array{a, b}, circuit::random_unitary(2, 11, k));
  };
  add(0, 1, 0);
  add(1, 2, 1);  // 2 comes from no matrix
  add(2, 0, 2);
  add(0, 1, 3);
  c.add_gate(circuit::GateId::kCcx, {0, 1, 2});
  add(0, 1, 4);  // behind another gate
  add(1, 0, 5);
  CostModel cost;
  cost.factored_share = 0.5;
  detail::Fused fused = detail::fuse_pairs(c, c.ops(), cost);
  detail::reduce_pairs(fused, c);
  std::vector<bool> factored;
  for (const detail::Element& e : fused.elements) {
    if (e.matrix >= 0)
      factored.push_back(factor_pair(Matrix(fused.matrices[e.matrix])).has_value());
  }
  // the last two are one block
  EXPECT_EQ(factored, (std::vector<bool>{false, false, true, true, false}));
}

}  // namespace
}  // namespace tilewave::statevec
