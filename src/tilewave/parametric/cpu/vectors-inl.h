// Vectors of 64 bytes and what is done with their lanes. Compiled for every instruction set.
#if defined(TILEWAVE_PARAMETRIC_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_PARAMETRIC_VECTORS_INL_H_
#undef TILEWAVE_PARAMETRIC_VECTORS_INL_H_
#else
#define TILEWAVE_PARAMETRIC_VECTORS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "tilewave/parametric/cpu/kernels.h"

// Vectors are wider than the registers of some instruction sets; functions that take them are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wignored-attributes"

HWY_BEFORE_NAMESPACE();
namespace tilewave::parametric::cpu {
namespace HWY_NAMESPACE {

template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  typedef double Type __attribute__((vector_size(64), may_alias));
  typedef std::int64_t Mask __attribute__((vector_size(64), may_alias));
};
template <>
struct VectorOf<float> {
  typedef float Type __attribute__((vector_size(64), may_alias));
  typedef std::int32_t Mask __attribute__((vector_size(64), may_alias));
};
template <class T>
using V = typename VectorOf<T>::Type;
template <class T>
using M = typename VectorOf<T>::Mask;

template <class T>
HWY_INLINE V<T> fill(T x) {
  return V<T>{} + x;
}

// True in the lanes whose number has these bits.
template <class T>
HWY_INLINE M<T> lanes_where(std::uint32_t mask, std::uint32_t value) {
  M<T> m;
  for (int k = 0; k < kLanes<T>; ++k)
    m[k] = (static_cast<std::uint32_t>(k) & mask) == value ? -1 : 0;
  return m;
}
// -1 in the lanes where the parity of number & mask is odd, 1 in the others.
template <class T>
HWY_INLINE V<T> lane_signs(std::uint32_t mask) {
  V<T> v;
  for (int k = 0; k < kLanes<T>; ++k)
    v[k] = __builtin_popcount(static_cast<std::uint32_t>(k) & mask) & 1 ? -1 : 1;
  return v;
}

// Lane k takes the one with bit kBit of k exchanged.
template <int kBit>
HWY_INLINE V<double> exchange(const V<double>& v) {
  constexpr int b = 1 << kBit;
  return __builtin_shufflevector(v, v, 0 ^ b, 1 ^ b, 2 ^ b, 3 ^ b, 4 ^ b, 5 ^ b, 6 ^ b, 7 ^ b);
}
template <int kBit>
HWY_INLINE V<float> exchange(const V<float>& v) {
  constexpr int b = 1 << kBit;
  return __builtin_shufflevector(v, v, 0 ^ b, 1 ^ b, 2 ^ b, 3 ^ b, 4 ^ b, 5 ^ b, 6 ^ b, 7 ^ b,
                                 8 ^ b, 9 ^ b, 10 ^ b, 11 ^ b, 12 ^ b, 13 ^ b, 14 ^ b, 15 ^ b);
}
template <class T>
HWY_INLINE V<T> exchange_all(V<T> v, std::uint32_t bits) {
  if (bits & 1) v = exchange<0>(v);
  if (bits & 2) v = exchange<1>(v);
  if (bits & 4) v = exchange<2>(v);
  if constexpr (kLanes<T> == 16) {
    if (bits & 8) v = exchange<3>(v);
  }
  return v;
}

template <class T>
HWY_INLINE void add_lanes(const V<T>& v, double* to) {
  for (int k = 0; k < kLanes<T>; ++k) to[k] += v[k];
}

// sin and cos of a row of angles x: x = n pi/2 + r with pi/2 in three parts, polynomials of r (their coefficients are
// the Taylor series', |r| <= pi/4 leaves less than half a unit in the last place); lanes beyond 2^20
// are computed one by one.
template <class T>
HWY_INLINE void sincos(const double* angles, V<T>& cos_out, V<T>& sin_out) {
  typedef double D __attribute__((vector_size(64), may_alias));
  typedef std::int64_t I __attribute__((vector_size(64), may_alias));
  constexpr int kParts = kLanes<T> / 8;
  for (int part = 0; part < kParts; ++part) {
    D x;
    bool large = false;
    for (int k = 0; k < 8; ++k) {
      x[k] = angles[part * 8 + k];
      large |= !(x[k] < 0x1p20 && x[k] > -0x1p20);
    }
    if (large) {
      for (int k = 0; k < 8; ++k) {
        cos_out[part * 8 + k] = static_cast<T>(std::cos(x[k]));
        sin_out[part * 8 + k] = static_cast<T>(std::sin(x[k]));
      }
      continue;
    }
    const D magic = D{} + 0x1.8p52;
    const D shifted = x * 0.63661977236758134308 + magic;
    const D n = shifted - magic;
    const I quadrant = (I)shifted;
    D r = x - n * 1.57079632673412561417;  // 33 bits: exact products
    r = r - n * 6.07710050630396597660e-11;
    r = r - n * 2.02226624879595063154e-21;
    const D z = r * r;
    D s = D{} - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = r + r * z * s;
    D c = D{} + 1.0 / 20922789888000.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = 1.0 - (0.5 * z - z * z * c);
    const I odd = (quadrant & 1) != 0;
    const I minus_s = (quadrant & 2) != 0, minus_c = ((quadrant + 1) & 2) != 0;
    D sr = odd ? c : s, cr = odd ? s : c;
    sr = minus_s ? -sr : sr;
    cr = minus_c ? -cr : cr;
    for (int k = 0; k < 8; ++k) {
      cos_out[part * 8 + k] = static_cast<T>(cr[k]);
      sin_out[part * 8 + k] = static_cast<T>(sr[k]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::parametric::cpu
HWY_AFTER_NAMESPACE();
#endif
