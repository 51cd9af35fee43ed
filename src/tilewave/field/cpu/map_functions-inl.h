// Elementary functions of a vector, for each instruction set: included by map_vectors.cc inside
// Highway's loop over targets. Names ending in _double are good to 1e-10 and serve the precise
// mode, those ending in _float the fast one.
#if defined(TILEWAVE_FIELD_CPU_MAP_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_FIELD_CPU_MAP_FUNCTIONS_INL_H_
#undef TILEWAVE_FIELD_CPU_MAP_FUNCTIONS_INL_H_
#else
#define TILEWAVE_FIELD_CPU_MAP_FUNCTIONS_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DD = hn::ScalableTag<double>;
using DH = hn::Rebind<float, DD>;  // as many floats as doubles fit a vector
using VF = hn::Vec<DF>;
using VD = hn::Vec<DD>;

HWY_INLINE VD constant(double x) { return hn::Set(DD(), x); }

template <class V, class T, int kCount>
HWY_INLINE V polynomial(V x, const T (&c)[kCount]) {
  const hn::DFromV<V> d;
  V sum = hn::Set(d, c[kCount - 1]);
  for (int k = kCount - 2; k >= 0; --k) sum = hn::MulAdd(sum, x, hn::Set(d, c[k]));
  return sum;
}

// log(1 + z) / z on [sqrt(1/2) - 1, sqrt(2) - 1], to 1.2e-10; Chebyshev interpolation.
constexpr double kLog[] = {1.000000000048012,    -0.50000000308455383, 0.33333330846280518,
                           -0.24999936585814811, 0.20000169637942555,  -0.16670383652377585,
                           0.14283795398269925,  -0.12410885665956528, 0.11042736039720932,
                           -0.10898112577910728, 0.10636542375579973,  -0.058456713350180843};
// sin(r) / r in r^2 on [-pi/2, pi/2], to 3e-11.
constexpr double kSine[] = {0.99999999998290889,    -0.16666666616790812,
                            0.0083333309732718797,  -0.0001984086105803723,
                            2.7525263495422719e-06, -2.3889104032754598e-08};
// exp on [-ln 2 / 2, ln 2 / 2], to 8e-13.
constexpr double kExp[] = {1.0000000000000133,    0.99999999997961742,    0.49999999999435485,
                           0.16666666892426441,   0.041666667042918125,   0.0083332658240151992,
                           0.0013888801326996309, 0.00019916018258188503, 2.4884673522953966e-05};

constexpr double kLn2 = 0.69314718055994530942;

// log of normal positive numbers.
HWY_INLINE VD log_double(VD x) {
  const DD d;
  const hn::RebindToSigned<DD> di;
  // x = 2^k m with m in [sqrt(1/2), sqrt(2))
  const auto bits = hn::BitCast(di, x);
  const auto shifted = hn::Sub(bits, hn::Set(di, std::int64_t{0x3FE6A09E667F3BCC}));
  const auto k = hn::ShiftRight<52>(shifted);
  const VD m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(k)));
  const VD z = hn::Sub(m, constant(1));
  // exponents are small: as doubles through the 2^52 + 2^51 trick
  const VD magic = constant(6755399441055744.0);
  const VD kd = hn::Sub(hn::BitCast(d, hn::Add(k, hn::BitCast(di, magic))), magic);
  return hn::MulAdd(kd, constant(kLn2), hn::Mul(z, polynomial(z, kLog)));
}

// sin(x - n pi) (-1)^n for the nearest n, or half-integer n for the cosine; |x| <= kMostAngle.
#if HWY_NATIVE_FMA
constexpr float kMostAngle = 3.5184372e13f;
#else
constexpr float kMostAngle = 2e8f;
#endif
template <bool kCosine>
HWY_INLINE VD sine_double(VD x) {
  const DD d;
  const hn::RebindToSigned<DD> di;
  const VD magic = constant(6755399441055744.0);
  const VD turns = hn::Mul(x, constant(0.31830988618379067154));
  // nearest integer (sin) or nearest integer + 1/2 (cos), and its parity in the lowest bit
  const VD biased = hn::Add(kCosine ? hn::Sub(turns, constant(0.5)) : turns, magic);
  VD n = hn::Sub(biased, magic);
  const auto parity = hn::ShiftLeft<63>(hn::BitCast(di, biased));
  if (kCosine) n = hn::Add(n, constant(0.5));
#if HWY_NATIVE_FMA
  VD r = hn::NegMulAdd(n, constant(3.14159265358979311600), x);
  r = hn::NegMulAdd(n, constant(1.2246467991473531772e-16), r);
#else  // parts of 26 bits: products with n stay exact
  VD r = hn::Sub(x, hn::Mul(n, constant(3.1415926218032837)));
  r = hn::Sub(r, hn::Mul(n, constant(3.1786509424591713e-08)));
  r = hn::Sub(r, hn::Mul(n, constant(1.2246467991473532e-16)));
#endif
  const VD s = hn::Mul(r, polynomial(hn::Mul(r, r), kSine));
  const VD signed_s = hn::BitCast(d, hn::Xor(hn::BitCast(di, s), parity));
  return kCosine ? hn::Neg(signed_s) : signed_s;  // cos(x) = -sin(x - pi/2 - ...) for even n
}

HWY_INLINE VD exp_double(VD x) {
  const DD d;
  const hn::RebindToSigned<DD> di;
  const VD magic = constant(6755399441055744.0);
  const VD biased = hn::MulAdd(x, constant(1.44269504088896340736), magic);
  const VD k = hn::Sub(biased, magic);
  const VD r = hn::NegMulAdd(k, constant(kLn2), x);
  const VD p = polynomial(r, kExp);
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<52>(hn::BitCast(di, biased))));
}

// exp(x) - 1, good to 1e-10 about zero too: 2^k (exp(r) - 1) + (2^k - 1).
HWY_INLINE VD expm1_double(VD x) {
  constexpr double kRest[] = {kExp[1], kExp[2], kExp[3], kExp[4],
                              kExp[5], kExp[6], kExp[7], kExp[8]};  // (exp(r) - 1) / r
  const DD d;
  const hn::RebindToSigned<DD> di;
  const VD magic = constant(6755399441055744.0);
  const VD biased = hn::MulAdd(x, constant(1.44269504088896340736), magic);
  const VD k = hn::Sub(biased, magic);
  const VD r = hn::NegMulAdd(k, constant(kLn2), x);
  const VD scale = hn::BitCast(
      d, hn::Add(hn::BitCast(di, constant(1)), hn::ShiftLeft<52>(hn::BitCast(di, biased))));
  const VD whole = hn::Sub(scale, constant(1));
  return hn::CopySign(hn::MulAdd(scale, hn::Mul(r, polynomial(r, kRest)), whole), x);
}

// log(1 + x) for 1 + x of normal size: what the sum drops comes back.
HWY_INLINE VD log1p_double(VD x) {
  const VD u = hn::Add(x, constant(1));
  const VD dropped = hn::Sub(x, hn::Sub(u, constant(1)));
  return hn::CopySign(hn::Add(log_double(u), hn::Div(dropped, u)), x);
}

HWY_INLINE VD tan_double(VD x) { return hn::Div(sine_double<false>(x), sine_double<true>(x)); }

HWY_INLINE VD tanh_double(VD x) {
  const VD t = expm1_double(hn::Add(x, x));
  return hn::Div(t, hn::Add(t, constant(2)));
}
HWY_INLINE VD sinh_double(VD x) {
  const VD t = expm1_double(hn::Abs(x));
  const VD twice = hn::Add(t, hn::Div(t, hn::Add(t, constant(1))));
  return hn::CopySign(hn::Mul(twice, constant(0.5)), x);
}
HWY_INLINE VD cosh_double(VD x) {
  const VD e = exp_double(x);
  return hn::Mul(hn::Add(e, hn::Div(constant(1), e)), constant(0.5));
}

HWY_INLINE VD hypot_double(VD x, VD y) {
  const VD root = hn::Sqrt(hn::MulAdd(x, x, hn::Mul(y, y)));  // squares of floats stay in range
  const VD infinite = constant(HUGE_VAL);
  const auto any = hn::Or(hn::Eq(hn::Abs(x), infinite), hn::Eq(hn::Abs(y), infinite));
  return hn::IfThenElse(any, infinite, root);  // beside a NaN too
}

// x^n for a whole number n, by squaring.
HWY_INLINE VD whole_power(VD x, int n) {
  VD power = constant(1);
  for (unsigned m = static_cast<unsigned>(std::abs(n)); m != 0; m >>= 1) {
    if (m & 1) power = hn::Mul(power, x);
    x = hn::Mul(x, x);
  }
  return n < 0 ? hn::Div(constant(1), power) : power;
}

// pow(x, 1/2): as the root, but for -0 and minus infinity.
HWY_INLINE VD root_power(VD x) {
  const VD root = hn::Add(hn::Sqrt(x), constant(0));
  return hn::IfThenElse(hn::Eq(x, constant(-HUGE_VAL)), constant(HUGE_VAL), root);
}

// ---- fast: floats only ----
// Fused multiply-adds are part of the reductions; targets without go through doubles.
HWY_INLINE VF number(float x) { return hn::Set(DF(), x); }

// (log(1 + z) - z) / z^2 to 3.3e-7, (sin(r) / r - 1) / r^2 in r^2 to 7.3e-8, (exp(r) - 1 - r) / r^2
// to 1.4e-7, on the same intervals. The sine's last coefficient is 1e-9 below the best one, so that
// no float r gives more than 1 (tried for all); the roundings of the best one go beyond.
constexpr float kLogFloat[] = {-0.499999971f, 0.333336706f, -0.250011477f, 0.199720497f,
                               -0.165884885f, 0.148347868f, -0.14159647f,  0.0878726549f};
constexpr float kSineFloat[] = {-0.16666666f, 0.00833324211f, -0.000198227358f, 2.63374454e-06f};
constexpr float kExpFloat[] = {0.5f, 0.166665767f, 0.0416665542f, 0.00836323288f, 0.00139262508f};
constexpr float kMagic = 12582912.0f;  // 1.5 x 2^23: adding it rounds to a whole number

// log of normal positive numbers, within 2 ulp.
#if HWY_TARGET == HWY_AVX3
// x = 2^k s; the first four bits of s choose c near 1/s, and log x = k log 2 - log c + log(1 + r),
// r = c s - 1 in [-1/32, 1/16]. Each c is the float near the middle whose logarithm (in the upper
// half, where k = -1 cancels it: plus what the float log 2 is off) is a float to 2e-13. The ends
// are exact, so that nothing cancels about 1.
HWY_INLINE VF log_float(VF x) {
  const __m512 c =
      _mm512_setr_ps(1.0f, 0.913425744f, 0.866331398f, 0.818432331f, 0.783058465f, 0.74706769f,
                     0.71426338f, 0.682568729f, 0.654999137f, 0.627890408f, 0.606381118f,
                     0.580464661f, 0.563908935f, 0.544956446f, 0.522145808f, 0.5f);
  const __m512 minus_log_c =
      _mm512_setr_ps(0.0f, 0.0905531943f, 0.143487766f, 0.20036456f, 0.244547918f, 0.291599482f,
                     0.336503506f, 0.381892055f, 0.423121363f, 0.465389639f, 0.500246584f,
                     0.543926358f, 0.572862506f, 0.607049406f, 0.649808407f, 0.693147182f);
  constexpr float kLogTable[] = {-0.5f, 0.33334446f, -0.250066698f, 0.188552305f};  // to 2.8e-9
  const __m512i which = _mm512_srli_epi32(_mm512_castps_si512(x.raw), 19);  // its last four bits
  const VF s{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)};
  const VF r = hn::MulSub(s, VF{_mm512_permutexvar_ps(which, c)}, number(1.0f));
  const VF whole = hn::MulAdd(VF{_mm512_getexp_ps(x.raw)}, number(0.693147181f),
                              VF{_mm512_permutexvar_ps(which, minus_log_c)});
  return hn::Add(whole, hn::MulAdd(hn::Mul(r, r), polynomial(r, kLogTable), r));
}
#else
HWY_INLINE VF log_float(VF x) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto bits = hn::BitCast(di, x);
  const auto k = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));
  const VF z = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(k))), number(1.0f));
  const VF log_m = hn::MulAdd(hn::Mul(z, z), polynomial(z, kLogFloat), z);
  return hn::MulAdd(hn::ConvertTo(d, k), number(0.693147181f), log_m);
}
#endif

// sin or cos for |x| < 39000, within 3 ulp and within [-1, 1]: pi in three parts, so that x - n pi
// keeps its digits.
template <bool kCosine>
HWY_INLINE VF sine_float(VF x) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  // for the cosine n is half-integer, and the parity one up: cos(x) = -sin(x - pi/2 - ...)
  const VF magic = number(kCosine ? kMagic + 1.0f : kMagic);
  const VF turns = kCosine ? hn::MulAdd(x, number(0.318309886f), number(-0.5f))
                           : hn::Mul(x, number(0.318309886f));
  const VF biased = hn::Add(turns, magic);
  const auto sign = hn::ShiftLeft<31>(hn::BitCast(di, biased));
  VF n = hn::Sub(biased, magic);
  if (kCosine) n = hn::Add(n, number(0.5f));
  VF r = hn::NegMulAdd(n, number(3.14159274f), x);
  r = hn::NegMulAdd(n, number(-8.74227766e-08f), r);
  r = hn::NegMulAdd(n, number(-3.43024902e-15f), r);
  const VF r2 = hn::Mul(r, r);
  const VF sine = hn::MulAdd(hn::Mul(r, r2), polynomial(r2, kSineFloat), r);
  return hn::BitCast(d, hn::Xor(hn::BitCast(di, sine), sign));
}

// exp on [-87, 88], within 2 ulp.
HWY_INLINE VF exp_float(VF x) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const VF biased = hn::MulAdd(x, number(1.44269504f), number(kMagic));
  const VF k = hn::Sub(biased, number(kMagic));
  VF r = hn::NegMulAdd(k, number(0.693145752f), x);
  r = hn::NegMulAdd(k, number(1.42860677e-06f), r);
  const VF p = hn::Add(hn::MulAdd(hn::Mul(r, r), polynomial(r, kExpFloat), r), number(1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, biased))));
}

#if HWY_TARGET == HWY_AVX3
// The root, but x itself where x is a zero or infinite.
HWY_INLINE VF ends_kept(VF root, VF x) {
  return VF{_mm512_fixupimm_ps(root.raw, x.raw, _mm512_set1_epi32(0x00100100), 0)};
}
#endif

// sqrt in fast mode: by the reciprocal estimate and one Newton step.
HWY_INLINE VF fast_sqrt(VF x) {
#if HWY_TARGET == HWY_AVX3
  const VF y{_mm512_rsqrt14_ps(x.raw)};
  const VF g = hn::Mul(x, y);
  const VF error = hn::NegMulAdd(g, y, number(1.0f));
  return ends_kept(hn::MulAdd(hn::Mul(g, number(0.5f)), error, g), x);
#else
  const DF d;
  const VF half = hn::Mul(x, number(0.5f));
  VF y = hn::ApproximateReciprocalSqrt(x);
#if !HWY_ARCH_X86  // an estimate of 8 bits (NEON), where SSE and AVX2 have 12: a step more
  y = hn::Mul(y, hn::NegMulAdd(hn::Mul(half, y), y, number(1.5f)));
#endif
  const VF better = hn::Mul(y, hn::NegMulAdd(hn::Mul(half, y), y, number(1.5f)));
  const auto usual = hn::And(hn::Ge(x, number(1.17549435e-38f)), hn::Lt(x, number(3e38f)));
  const VF root = hn::Mul(x, better);
  return HWY_LIKELY(hn::AllTrue(d, usual)) ? root : hn::IfThenElse(usual, root, hn::Sqrt(x));
#endif
}

// sqrt, correctly rounded. With AVX-512 by the estimate, one step and Markstein's correction, at a
// third of the divider's time; the test goes through all mantissas.
HWY_INLINE VF precise_sqrt(VF x) {
#if HWY_TARGET == HWY_AVX3
  // neither a zero nor in [1e-30, 1e30]: by the divider
  const __m512i first = _mm512_castps_si512(_mm512_set1_ps(1e-30f));
  const __m512i range = _mm512_sub_epi32(_mm512_castps_si512(_mm512_set1_ps(1e30f)), first);
  const __mmask16 some = _mm512_cmp_ps_mask(x.raw, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  const __m512i above = _mm512_sub_epi32(_mm512_castps_si512(x.raw), first);
  if (HWY_UNLIKELY(_mm512_mask_cmpgt_epu32_mask(some, above, range) != 0)) return hn::Sqrt(x);
  const VF y{_mm512_rsqrt14_ps(x.raw)};
  VF g = hn::Mul(x, y), h = hn::Mul(y, number(0.5f));
  const VF error = hn::NegMulAdd(g, h, number(0.5f));
  g = hn::MulAdd(g, error, g);
  h = hn::MulAdd(h, error, h);
  return ends_kept(hn::MulAdd(hn::NegMulAdd(g, g, x), h, g), x);
#else
  return hn::Sqrt(x);
#endif
}

// floor_remainder(x, y). With q = floor(x / y) rounded, at most one too great while |q| < 2^24,
// x - q y is exact where q is right and y too small where it is not; other lanes go one by one.
HWY_INLINE VF remainder(VF x, VF y) {
  const DF d;
  const VF q = hn::Floor(hn::Div(x, y));
  VF r = hn::NegMulAdd(q, y, x);
#if HWY_NATIVE_FMA
  const auto exact = hn::And(hn::Lt(hn::Abs(q), number(16777216.0f)), hn::Eq(r, r));
#else  // the product is rounded
  const auto exact = hn::And(hn::Eq(q, hn::Zero(d)), hn::Eq(r, r));
#endif
  if (HWY_UNLIKELY(!hn::AllTrue(d, exact))) {
    HWY_ALIGN float lanes[3][hn::MaxLanes(DF())];
    hn::Store(x, d, lanes[0]);
    hn::Store(y, d, lanes[1]);
    for (std::size_t k = 0; k < hn::Lanes(d); ++k)
      lanes[2][k] = std::fmod(lanes[0][k], lanes[1][k]);
    r = hn::IfThenElse(exact, r, hn::Load(d, lanes[2]));
  }
  const auto zero = hn::Zero(d);
  const auto wrong = hn::Xor(hn::Lt(r, zero), hn::Lt(y, zero));
  return hn::IfThenElse(hn::Eq(r, zero), hn::CopySign(zero, y),
                        hn::IfThenElse(wrong, hn::Add(r, y), r));
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
