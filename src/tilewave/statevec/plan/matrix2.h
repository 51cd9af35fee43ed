// Angles in turns, and a 2x2 matrix as three of them and a real rotation.
#pragma once

#include <cmath>
#include <cstdint>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::detail {

/// Turns (2^64 = full circle) of an angle in radians.
std::uint64_t turns_of(double angle);

/// Within the rounding of a double angle of 0.
bool is_negligible(std::uint64_t turns);

inline double arg(cplx z) { return std::atan2(z.imag(), z.real()); }

inline constexpr double kZero =
    1e-15;  // entries below are rounding of exact zeros (cos(pi/2), ...)

struct Matrix2 {
  cplx m[4] = {1, 0, 0, 1};

  bool is_unitary() const;
  bool is_diagonal() const { return are_zero(1, 2); }
  bool is_antidiagonal() const { return are_zero(0, 3); }

 private:
  bool are_zero(int j, int k) const;
};

/// m = e^{ig} diag(1, e^{i post}) [[c, -s], [s, c]] diag(1, e^{i pre}) with c, s >= 0: the three
/// angles in turns.
struct EulerTurns {
  std::uint64_t g, post, pre;
};
EulerTurns euler_turns(const Matrix2& m);

}  // namespace tilewave::statevec::detail
