// A unitary matrix on two bits as four rotations. A general one takes six (and nine phases), which is
// hardly less work than its sixteen entries; but the matrices before it on the same qubits can take
// over a 2x2 unitary on each bit, and these can be chosen such that one input is mapped to two of
// the four outputs only: there are always two product states that are (a quadratic equation). What
// is left is
//
//   D * R(0,1; c) R(2,3; d) * P * R(1,3; b) * R(2,3; a)
//
// with rotations R(i, j; t) of the amplitudes i and j by tan = t, the phases P of the amplitudes 1
// and 3, and a diagonal D. The cosines go into D, and its first entry into the scale of all: an
// amplitude takes 8 multiply-adds where the matrix takes 16.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "tilewave/base/complex.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec {

/// Row-major, 4x4; bit k of an index is target k.
using Matrix4 = std::array<cplx, 16>;

/// The factors of a matrix as steps on amplitudes h[j], in this order. Amplitude j of the factors is
/// number `number(j)` of the matrix: its bits may be exchanged, and inverted.
struct PairFactors {
  bool exchanged = false;  ///< bit 0 of j is bit 1 of the matrix index
  int flips = 0;           ///< XORed to the matrix index
  /// h[j] += first[j] * h[j ^ 1] for both at once; zero for j = 0, 1.
  std::array<double, 4> first{};
  /// h[j] += second[j] * h[j ^ 2]; zero for j = 0, 2.
  std::array<double, 4> second{};
  /// h[j] *= 1 + i tangent[j]; zero for j = 0, 2.
  std::array<double, 4> tangent{};
  std::array<double, 4> third{};  ///< h[j] += third[j] * h[j ^ 1]
  std::array<cplx, 4> weight{};   ///< h[j] *= weight[j]; that of 0 is 1
  double scale = 1;               ///< and all times this, the cosine of the third step on 0 and 1

  int number(int j) const { return (exchanged ? (j & 1) << 1 | j >> 1 : j) ^ flips; }

  /// For amplitudes that are still to be multiplied by bits[b] where bit b of j is 1.
  void take_scales(const std::array<double, 2>& bits);
  /// Takes a real scale out of the weights where bit b of j is 1 and returns it: the result is still
  /// to be multiplied by it there, and weight[1 << b] has the real part 1. It is 1, and nothing
  /// changes, where it or its inverse would be above `most`.
  double leave_scale(int b, double most);
};

/// The factors of a unitary matrix with two exact zeros in the right places; nothing for any other
/// and where a factor would be too large for single precision.
std::optional<PairFactors> factor_pair(std::span<const cplx, 16> m);

/// Those of an action whose matrix is among these; nothing for one of another kind or under controls.
std::optional<PairFactors> pair_factors_of(const Action& action, std::span<const cplx> matrices);

/// `reduced` * (bit[1] (x) bit[0])^-1 is the matrix, and `reduced` has factors.
struct ReducedPair {
  Matrix4 reduced{};
  std::array<std::array<cplx, 4>, 2> bit{};  ///< 2x2 unitary, row-major
};

/// Nothing where the matrix is not unitary, or in rare cases where factors would be too large.
std::optional<ReducedPair> reduce_pair(std::span<const cplx, 16> m);

}  // namespace tilewave::statevec
