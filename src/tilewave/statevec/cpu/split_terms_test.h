// For tests only: terms and lifts of a block on a vector, in the plainest way.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numbers>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/stages.h"

namespace tilewave::statevec::cpu {

using Vector = std::vector<std::complex<double>>;  // [bits inside rows, row bits, bits outside]

/// The term on the bits of a mask, for a block of 2^num_row_bits rows.
inline SplitTerm split_term(std::uint64_t mask, std::uint64_t turns, int num_row_bits) {
  return {static_cast<std::uint32_t>(mask & low_mask(kLowBits)),
          static_cast<std::uint32_t>(mask >> kLowBits & low_mask(num_row_bits)),
          mask >> (kLowBits + num_row_bits), turns};
}

/// `outside`: of a vector that has no such bits itself.
inline void run_on(Vector& v, const SplitTerms& terms, int num_row_bits,
                   std::uint64_t outside = 0) {
  const int inside = kLowBits + num_row_bits;
  for (const SplitTerm& t : terms) {
    const auto z = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(t.turns) * 0x1p-64);
    const std::uint64_t mask = t.inside() | t.outside << inside;
    for (std::uint64_t x = 0; x < v.size(); ++x) {
      if (((x | outside << inside) & mask) == mask) v[x] *= z;
    }
  }
}

inline void apply_lift(Vector& v, int place, double t, bool reflected = false,
                       bool weighted = false) {
  for (std::uint64_t x = 0; x < v.size(); ++x) {
    const std::uint64_t y = x | bit(place);
    if (x == y) continue;
    const auto a = v[x], b = v[y];
    v[x] = reflected ? a + b : weighted ? a - b : a - t * b;
    v[y] = reflected ? a - b : (weighted ? t * t : t) * a + b;
  }
}

template <class T>
void run_on(Vector& v, const LayerStep<T>& lifts) {
  for_each_bit(lifts.mask, [&](int k) {
    apply_lift(v, k, lifts.t[k], lifts.reflected >> k & 1, lifts.weighted >> k & 1);
  });
}

/// `share`: of the largest number.
inline void expect_near(const Vector& got, const Vector& expected, double share) {
  double size = 0, worst = 0;
  for (std::size_t x = 0; x < got.size(); ++x) {
    size = std::max(size, std::abs(expected[x]));
    worst = std::max(worst, std::abs(got[x] - expected[x]));
  }
  ASSERT_LT(worst, share * size);
}

}  // namespace tilewave::statevec::cpu
