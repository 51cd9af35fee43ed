// The remainder of a division rounded down, as % of maps means it and NumPy's remainder computes
// it: exact, but for one rounding where the signs of x and y differ.
#pragma once

#include <cmath>

namespace tilewave::field {

/// x - y floor(x / y): has the sign of y. NaN for y = 0 and infinite x; x (y where the signs
/// differ) for infinite y.
template <class T>
T floor_remainder(T x, T y) {
  const T r = std::fmod(x, y);  // exact, of the sign of x
  if (r == 0) return std::copysign(T(0), y);
  return (r < 0) != (y < 0) ? r + y : r;
}

}  // namespace tilewave::field
