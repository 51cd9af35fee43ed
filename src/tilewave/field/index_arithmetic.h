// Arithmetic of the indices of a map: 64-bit integers that wrap round. One text for the CPU, for
// constants while an expression is read, and for the kernels of devices, into whose source
// map_source.cc pastes it; so the three agree for every operand.
#pragma once

#include "tilewave/base/host_device.h"

namespace tilewave::field {

TW_HD long long wrapped_sum(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) +
                                static_cast<unsigned long long>(b));
}
TW_HD long long wrapped_difference(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) -
                                static_cast<unsigned long long>(b));
}
TW_HD long long wrapped_product(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) *
                                static_cast<unsigned long long>(b));
}
TW_HD long long wrapped_magnitude(long long a) { return a < 0 ? wrapped_difference(0, a) : a; }
TW_HD long long lesser(long long a, long long b) { return b < a ? b : a; }
TW_HD long long greater(long long a, long long b) { return a < b ? b : a; }
// a - b floor(a / b), of the sign of b; 0 for b = 0, as NumPy's integers have it. A processor's
// division traps for b = 0, and for the least integer by -1.
TW_HD long long whole_remainder(long long a, long long b) {
  if (b == 0 || b == -1) return 0;
  const long long r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace tilewave::field
