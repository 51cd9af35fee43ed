#include "tilewave/stabilizer/cpu/dense_kernels.h"

#include <algorithm>
#include <bit>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tilewave::stabilizer::avx512 {
namespace {

bool is_odd(std::uint64_t bits) { return std::popcount(bits) & 1; }

// Eight numbers whose lane l has the sign (-1)^(l . z).
TW_TARGET_AVX512 inline __m512d lane_signs(std::uint32_t z) {
  alignas(64) double signs[8];
  for (std::uint32_t l = 0; l < 8; ++l) signs[l] = is_odd(l & z) ? -0.0 : 0.0;
  return _mm512_load_pd(signs);
}
TW_TARGET_AVX512 inline __m512i lane_order(std::uint32_t x) {
  return _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(x & 7));
}
TW_TARGET_AVX512 inline __m512d with_signs(__m512d v, __m512d signs) {
  return _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(v), _mm512_castpd_si512(signs)));
}
// Index of a vector with a 0 put in at bit `at`.
std::size_t with_gap(std::size_t i, std::uint32_t at) {
  const std::size_t low = (std::size_t{1} << at) - 1;
  return ((i & ~low) << 1) | (i & low);
}

struct Vector {
  __m512d re, im;
};
TW_TARGET_AVX512 inline Vector load(const double* re, const double* im, std::size_t at) {
  return {_mm512_loadu_pd(re + 8 * at), _mm512_loadu_pd(im + 8 * at)};
}
TW_TARGET_AVX512 inline void store(double* re, double* im, std::size_t at, const Vector& v) {
  _mm512_storeu_pd(re + 8 * at, v.re);
  _mm512_storeu_pd(im + 8 * at, v.im);
}
TW_TARGET_AVX512 inline Vector reorder(const Vector& v, __m512i order) {
  return {_mm512_permutexvar_pd(order, v.re), _mm512_permutexvar_pd(order, v.im)};
}
// c v + f w, or c v + i f w.
template <bool kImaginary>
TW_TARGET_AVX512 inline Vector combine(__m512d c, const Vector& v, __m512d f, const Vector& w) {
  if constexpr (kImaginary) {
    return {_mm512_fnmadd_pd(f, w.im, _mm512_mul_pd(c, v.re)),
            _mm512_fmadd_pd(f, w.re, _mm512_mul_pd(c, v.im))};
  } else {
    return {_mm512_fmadd_pd(f, w.re, _mm512_mul_pd(c, v.re)),
            _mm512_fmadd_pd(f, w.im, _mm512_mul_pd(c, v.im))};
  }
}

// phi'_b = c phi_b + F(b) phi_(b ^ x), F(b) = f (-1)^(b . z): f real, or i times it.
template <bool kImaginary, bool kReorder>
TW_TARGET_AVX512 void rotate_pairs(const DensePauli& p, double c, double f, std::uint32_t k,
                                   double* re, double* im) {
  const std::uint32_t x = p.x >> 3, z = p.z >> 3;
  const std::size_t vectors = (std::size_t{1} << k) / 8;
  const __m512i order = lane_order(p.x);
  const __m512d cc = _mm512_set1_pd(c);
  const __m512d plus = with_signs(_mm512_set1_pd(f), lane_signs(p.z & 7));
  const __m512d minus = with_signs(_mm512_set1_pd(-f), lane_signs(p.z & 7));
  if (x == 0) {
    for (std::size_t i = 0; i < vectors; ++i) {
      const Vector v = load(re, im, i);
      const __m512d factor = is_odd(i & z) ? minus : plus;
      store(re, im, i, combine<kImaginary>(cc, v, factor, kReorder ? reorder(v, order) : v));
    }
    return;
  }
  const auto pivot = static_cast<std::uint32_t>(std::bit_width(x) - 1);
  const bool differs = is_odd(x & z);
  for (std::size_t i = 0; i < vectors / 2; ++i) {
    const std::size_t a = with_gap(i, pivot), b = a ^ x;
    const bool odd = is_odd(a & z);
    const Vector va = load(re, im, a), vb = load(re, im, b);
    const __m512d fa = odd ? minus : plus, fb = odd != differs ? minus : plus;
    store(re, im, a, combine<kImaginary>(cc, va, fa, kReorder ? reorder(vb, order) : vb));
    store(re, im, b, combine<kImaginary>(cc, vb, fb, kReorder ? reorder(va, order) : va));
  }
}

// (P phi) in the lanes of vector `at`.
template <int kTurn>
TW_TARGET_AVX512 inline Vector image(const Vector& partner, __m512d signs) {
  const Vector v{with_signs(partner.re, signs), with_signs(partner.im, signs)};
  const __m512d none = _mm512_set1_pd(-0.0);
  if constexpr (kTurn == 0) return v;
  if constexpr (kTurn == 1) return {with_signs(v.im, none), v.re};
  if constexpr (kTurn == 2) return {with_signs(v.re, none), with_signs(v.im, none)};
  return {v.im, with_signs(v.re, none)};
}

// Calls f(i, v, P v) for the vectors without the pivot.
template <int kTurn, class F>
TW_TARGET_AVX512 inline void each_half(const DensePauli& p, std::uint32_t pivot, std::uint32_t k,
                                       const double* re, const double* im, F f) {
  const std::uint32_t x = p.x >> 3, z = p.z >> 3;
  const std::size_t half = (std::size_t{1} << k) / 16;
  const __m512i order = lane_order(p.x);
  const bool swapped = is_odd(p.x & p.z);
  const __m512d even = lane_signs(p.z & 7), odd = with_signs(_mm512_set1_pd(-0.0), even);
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t a = with_gap(i, pivot - 3);
    const Vector v = load(re, im, a), partner = reorder(load(re, im, a ^ x), order);
    f(i, v, image<kTurn>(partner, is_odd(a & z) != swapped ? odd : even));
  }
}
template <class F>
TW_TARGET_AVX512 inline void each_half(const DensePauli& p, std::uint32_t pivot, std::uint32_t k,
                                       const double* re, const double* im, F f) {
  switch (p.phase & 3) {
    case 0:
      return each_half<0>(p, pivot, k, re, im, f);
    case 1:
      return each_half<1>(p, pivot, k, re, im, f);
    case 2:
      return each_half<2>(p, pivot, k, re, im, f);
    default:
      return each_half<3>(p, pivot, k, re, im, f);
  }
}

TW_TARGET_AVX512 inline __m512d add_square(__m512d sum, const Vector& v) {
  return _mm512_fmadd_pd(v.im, v.im, _mm512_fmadd_pd(v.re, v.re, sum));
}

// ParityFactors for whole vectors.
struct VectorFactors {
  std::uint32_t z;     // of the number of a vector
  __mmask8 turned[2];  // lanes, by the parity of that number with z
  __m512d c, s, minus_s;

  TW_TARGET_AVX512 explicit VectorFactors(const ParityFactors& f)
      : z(f.z >> 3), turned{}, c(_mm512_set1_pd(f.c)), s(_mm512_set1_pd(f.s)) {
    minus_s = _mm512_set1_pd(-f.s);
    for (std::uint32_t l = 0; l < 8; ++l)
      turned[0] |= static_cast<__mmask8>((is_odd(l & f.z) != f.flips) << l);
    turned[1] = static_cast<__mmask8>(~turned[0]);
  }
  TW_TARGET_AVX512 Vector times(const Vector& v, bool odd) const {
    const __mmask8 lanes = turned[odd];
    return {_mm512_mask_mul_pd(_mm512_mul_pd(c, v.re), lanes, s, v.im),
            _mm512_mask_mul_pd(_mm512_mul_pd(c, v.im), lanes, minus_s, v.re)};
  }
};

// One rotation of an orbit of eight vectors, divided by its cosine:
//   phi'_b = phi_b + F(b) phi_(b ^ x),  F(b) = f (-1)^(b . z), f real or i times it.
struct OrbitStep {
  __m512d plus, minus;
  __m512i order;
  double signs[8];     // 0, or -0 in vectors of odd parity
  std::uint32_t z;     // of whole vectors
  std::uint32_t code;  // 4 m + 2 imaginary + reordered lanes; vector c has the partner c ^ m
};

template <bool kImaginary>
TW_TARGET_AVX512 inline void lift(Vector& v, __m512d f, const Vector& w) {
  if constexpr (kImaginary) {
    v = {_mm512_fnmadd_pd(f, w.im, v.re), _mm512_fmadd_pd(f, w.re, v.im)};
  } else {
    v = {_mm512_fmadd_pd(f, w.re, v.re), _mm512_fmadd_pd(f, w.im, v.im)};
  }
}

template <std::uint32_t kM, bool kImaginary, bool kReorder>
[[gnu::always_inline]] TW_TARGET_AVX512 inline void orbit_step(Vector (&v)[8],
                                                               const OrbitStep& step, __m512d f) {
#pragma GCC unroll 8
  for (std::uint32_t c = 0; c < 8; ++c) {
    const std::uint32_t d = c ^ kM;
    if (d < c) continue;
    const Vector w = kReorder ? reorder(v[d], step.order) : v[d];
    const Vector u = kReorder ? reorder(v[c], step.order) : v[c];
    lift<kImaginary>(v[c], with_signs(f, _mm512_set1_pd(step.signs[c])), w);
    if (d != c) lift<kImaginary>(v[d], with_signs(f, _mm512_set1_pd(step.signs[d])), u);
  }
}

template <std::uint32_t kM>
[[gnu::always_inline]] TW_TARGET_AVX512 inline void orbit_step(Vector (&v)[8],
                                                               const OrbitStep& step, __m512d f) {
  switch (step.code & 3) {
    case 0:
      return orbit_step<kM, false, false>(v, step, f);
    case 1:
      return orbit_step<kM, false, true>(v, step, f);
    case 2:
      return orbit_step<kM, true, false>(v, step, f);
    default:
      return orbit_step<kM, true, true>(v, step, f);
  }
}

[[gnu::always_inline]] TW_TARGET_AVX512 inline void orbit_steps(Vector (&v)[8],
                                                                const OrbitStep* steps,
                                                                std::size_t count,
                                                                std::size_t first) {
  for (std::size_t i = 0; i < count; ++i) {
    const OrbitStep& step = steps[i];
    const __m512d f = is_odd(first & step.z) ? step.minus : step.plus;
    switch (step.code >> 2) {
      case 0:
        orbit_step<0>(v, step, f);
        break;
      case 1:
        orbit_step<1>(v, step, f);
        break;
      case 2:
        orbit_step<2>(v, step, f);
        break;
      case 3:
        orbit_step<3>(v, step, f);
        break;
      case 4:
        orbit_step<4>(v, step, f);
        break;
      case 5:
        orbit_step<5>(v, step, f);
        break;
      case 6:
        orbit_step<6>(v, step, f);
        break;
      default:
        orbit_step<7>(v, step, f);
    }
  }
}

// Three bits of the number of a vector, in echelon form, whose combinations lead from a vector to
// those of its orbit.
class Orbits {
 public:
  /// Takes x in; false where it does not fit.
  bool add(std::uint32_t x) {
    for (std::uint32_t j = 0; j < dims_; ++j) {
      if ((x >> pivots_[j]) & 1) x ^= basis_[j];
    }
    if (x == 0) return true;
    if (dims_ == 3) return false;
    const auto pivot = static_cast<std::uint32_t>(std::bit_width(x) - 1);
    for (std::uint32_t j = 0; j < dims_; ++j) {
      if ((basis_[j] >> pivot) & 1) basis_[j] ^= x;
    }
    basis_[dims_] = x, pivots_[dims_] = pivot;
    ++dims_;
    return true;
  }
  void fill_up() {
    for (std::uint32_t bit = 0; dims_ < 3; ++bit) add(1u << bit);
    for (std::uint32_t c = 0; c < 8; ++c) {
      offsets[c] = 0;
      for (std::uint32_t j = 0; j < 3; ++j) offsets[c] ^= (c >> j) & 1 ? basis_[j] : 0;
    }
    std::copy_n(pivots_, 3, gaps_);
    std::sort(gaps_, gaps_ + 3);
  }
  /// Which combination x is.
  std::uint32_t combination(std::uint32_t x) const {
    std::uint32_t m = 0;
    for (std::uint32_t j = 0; j < 3; ++j) m |= ((x >> pivots_[j]) & 1) << j;
    return m;
  }
  std::size_t first(std::size_t orbit) const {
    return with_gap(with_gap(with_gap(orbit, gaps_[0]), gaps_[1]), gaps_[2]);
  }
  std::uint32_t offsets[8];

 private:
  std::uint32_t basis_[3], pivots_[3], gaps_[3], dims_ = 0;
};

constexpr std::size_t kMostSteps = 32;

}  // namespace

TW_TARGET_AVX512 void rotate(const DensePauli& p, double c, double s, std::uint32_t k, double* re,
                             double* im) {
  // -i s i^phase (-1)^((b ^ x) . z)
  const unsigned turn = (p.phase + 3 + (is_odd(p.x & p.z) ? 2u : 0u)) & 3;
  const double f = turn & 2 ? -s : s;
  const bool reorders = (p.x & 7) != 0;
  if (turn & 1) {
    return reorders ? rotate_pairs<true, true>(p, c, f, k, re, im)
                    : rotate_pairs<true, false>(p, c, f, k, re, im);
  }
  return reorders ? rotate_pairs<false, true>(p, c, f, k, re, im)
                  : rotate_pairs<false, false>(p, c, f, k, re, im);
}

TW_TARGET_AVX512 double multiply(const ParityFactors& factors, std::uint32_t k, double* re,
                                 double* im) {
  const VectorFactors of(factors);
  __m512d norm = _mm512_setzero_pd();
  const std::size_t vectors = (std::size_t{1} << k) / 8;
  for (std::size_t i = 0; i < vectors; ++i) {
    const Vector v = of.times(load(re, im, i), is_odd(i & of.z));
    norm = add_square(norm, v);
    store(re, im, i, v);
  }
  return _mm512_reduce_add_pd(norm);
}

TW_TARGET_AVX512 std::size_t rotate(const std::optional<ParityFactors>& factors,
                                    const Rotation* rotations, std::size_t count, std::uint32_t k,
                                    double* re, double* im) {
  const VectorFactors of(factors.value_or(ParityFactors{}));
  Orbits orbits;
  std::size_t taken = 0;
  while (taken < std::min(count, kMostSteps) && orbits.add(rotations[taken].p.x >> 3)) ++taken;
  orbits.fill_up();
  OrbitStep steps[kMostSteps];
  double scale = 1;
  for (std::size_t i = 0; i < taken; ++i) {
    const Rotation& r = rotations[i];
    OrbitStep& step = steps[i];
    // -i s i^phase (-1)^((b ^ x) . z) / c
    const unsigned turn = (r.p.phase + 3 + (is_odd(r.p.x & r.p.z) ? 2u : 0u)) & 3;
    const double t = r.s / r.c, f = turn & 2 ? -t : t;
    scale *= r.c;
    const __m512d signs = lane_signs(r.p.z & 7);
    step.plus = with_signs(_mm512_set1_pd(f), signs);
    step.minus = with_signs(_mm512_set1_pd(-f), signs);
    step.order = lane_order(r.p.x);
    step.z = r.p.z >> 3;
    step.code = 4 * orbits.combination(r.p.x >> 3) + 2 * (turn & 1) + ((r.p.x & 7) != 0);
    for (std::uint32_t c = 0; c < 8; ++c)
      step.signs[c] = is_odd(orbits.offsets[c] & step.z) ? -0.0 : 0.0;
  }
  const __m512d scales = _mm512_set1_pd(scale);
  const std::size_t num_orbits = std::size_t{1} << (k - 6);
  for (std::size_t i = 0; i < num_orbits; ++i) {
    const std::size_t first = orbits.first(i);
    Vector v[8];
#pragma GCC unroll 8
    for (std::uint32_t c = 0; c < 8; ++c) v[c] = load(re, im, first ^ orbits.offsets[c]);
    if (factors) {
#pragma GCC unroll 8
      for (std::uint32_t c = 0; c < 8; ++c)
        v[c] = of.times(v[c], is_odd((first ^ orbits.offsets[c]) & of.z));
    }
    orbit_steps(v, steps, taken, first);
#pragma GCC unroll 8
    for (std::uint32_t c = 0; c < 8; ++c) {
      store(re, im, first ^ orbits.offsets[c],
            {_mm512_mul_pd(v[c].re, scales), _mm512_mul_pd(v[c].im, scales)});
    }
  }
  return taken;
}

TW_TARGET_AVX512 void promote(double c, double s, std::uint32_t k, double* re, double* im) {
  const std::size_t vectors = (std::size_t{1} << k) / 8;
  const __m512d cc = _mm512_set1_pd(c), ss = _mm512_set1_pd(s), minus = _mm512_set1_pd(-s);
  for (std::size_t i = 0; i < vectors; ++i) {
    const Vector v = load(re, im, i);
    store(re, im, vectors + i, {_mm512_mul_pd(ss, v.im), _mm512_mul_pd(minus, v.re)});
    store(re, im, i, {_mm512_mul_pd(cc, v.re), _mm512_mul_pd(cc, v.im)});
  }
}

TW_TARGET_AVX512 Weights weights(const DensePauli& p, std::uint32_t pivot, std::uint32_t k,
                                 const double* re, const double* im) {
  __m512d zeros = _mm512_setzero_pd(), ones = zeros;
  if (p.x == 0) {
    const std::uint32_t z = p.z >> 3;
    __mmask8 lanes = 0;
    for (std::uint32_t l = 0; l < 8; ++l) lanes |= static_cast<__mmask8>(is_odd(l & p.z) << l);
    if (p.phase == 2) lanes = static_cast<__mmask8>(~lanes);
    const std::size_t vectors = (std::size_t{1} << k) / 8;
    for (std::size_t i = 0; i < vectors; ++i) {
      const Vector v = load(re, im, i);
      const __mmask8 one = is_odd(i & z) ? static_cast<__mmask8>(~lanes) : lanes;
      const __m512d square = add_square(_mm512_setzero_pd(), v);
      ones = _mm512_mask_add_pd(ones, one, ones, square);
      zeros = _mm512_mask_add_pd(zeros, static_cast<__mmask8>(~one), zeros, square);
    }
  } else {
    each_half(p, pivot, k, re, im,
              [&](std::size_t, const Vector& v, const Vector& w) TW_TARGET_AVX512 {
                zeros = add_square(zeros, {_mm512_add_pd(v.re, w.re), _mm512_add_pd(v.im, w.im)});
                ones = add_square(ones, {_mm512_sub_pd(v.re, w.re), _mm512_sub_pd(v.im, w.im)});
              });
  }
  return {_mm512_reduce_add_pd(zeros), _mm512_reduce_add_pd(ones)};
}

TW_TARGET_AVX512 double project(const DensePauli& p, std::uint32_t pivot, bool outcome,
                                std::uint32_t k, double* re, double* im) {
  __m512d norm = _mm512_setzero_pd();
  if (p.x == 0) {
    const std::uint32_t rest = (p.z & ~(1u << pivot)) >> 3;
    __mmask8 lanes = 0;  // in which the pivot is 1
    for (std::uint32_t l = 0; l < 8; ++l) lanes |= static_cast<__mmask8>(is_odd(l & p.z) << l);
    if ((p.phase == 2) != outcome) lanes = static_cast<__mmask8>(~lanes);
    const std::size_t half = (std::size_t{1} << k) / 16, step = std::size_t{1} << (pivot - 3);
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t a = with_gap(i, pivot - 3);
      const __mmask8 one = is_odd(a & rest) ? static_cast<__mmask8>(~lanes) : lanes;
      const Vector v0 = load(re, im, a), v1 = load(re, im, a + step);
      const Vector v{_mm512_mask_blend_pd(one, v0.re, v1.re),
                     _mm512_mask_blend_pd(one, v0.im, v1.im)};
      norm = add_square(norm, v);
      store(re, im, i, v);
    }
  } else {
    const __m512d sign = _mm512_set1_pd(outcome ? -0.0 : 0.0);
    each_half(p, pivot, k, re, im,
              [&](std::size_t i, const Vector& v, const Vector& w) TW_TARGET_AVX512 {
                const Vector sum{_mm512_add_pd(v.re, with_signs(w.re, sign)),
                                 _mm512_add_pd(v.im, with_signs(w.im, sign))};
                norm = add_square(norm, sum);
                store(re, im, i, sum);
              });
  }
  return _mm512_reduce_add_pd(norm);
}

}  // namespace tilewave::stabilizer::avx512

#else

namespace tilewave::stabilizer::avx512 {

void rotate(const DensePauli&, double, double, std::uint32_t, double*, double*) {
  TW_CHECK(false, "this machine has no AVX-512");
}
std::size_t rotate(const std::optional<ParityFactors>&, const Rotation*, std::size_t, std::uint32_t,
                   double*, double*) {
  TW_CHECK(false, "this machine has no AVX-512");
  return 0;
}
void promote(double, double, std::uint32_t, double*, double*) {
  TW_CHECK(false, "this machine has no AVX-512");
}
Weights weights(const DensePauli&, std::uint32_t, std::uint32_t, const double*, const double*) {
  TW_CHECK(false, "this machine has no AVX-512");
  return {};
}
double project(const DensePauli&, std::uint32_t, bool, std::uint32_t, double*, double*) {
  TW_CHECK(false, "this machine has no AVX-512");
  return 0;
}

double multiply(const ParityFactors&, std::uint32_t, double*, double*) {
  TW_CHECK(false, "this machine has no AVX-512");
  return 0;
}

}  // namespace tilewave::stabilizer::avx512

#endif
