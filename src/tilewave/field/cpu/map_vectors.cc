// The steps of a map program over blocks, several values an instruction.
//
// Precise functions take the float to doubles, evaluate a polynomial good to 1e-12, and round once:
// the result is the correctly rounded one but for about one value in ten thousand, which is 1 ulp
// off. Arguments the reduction does not reach (|x| >= 2^45 in sin and cos) and special values go
// through the C library, lane by lane.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tilewave/field/map_program.h"

#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/field/cpu/map_vectors.cc"
// foreach_target.h must come first
#include "hwy/foreach_target.h"

#include "hwy/contrib/math/math-inl.h"
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

template <int kCount>
HWY_INLINE VD polynomial(VD x, const double (&c)[kCount]) {
  VD sum = constant(c[kCount - 1]);
  for (int k = kCount - 2; k >= 0; --k) sum = hn::MulAdd(sum, x, constant(c[k]));
  return sum;
}

// log(1 + z) / z on [sqrt(1/2) - 1, sqrt(2) - 1], to 5e-13; Chebyshev interpolation.
constexpr double kLog[] = {1.000000000000274,     -0.4999999999866005,   0.33333333306936358,
                           -0.25000000390125821,  0.20000004361067322,   -0.16666636017979375,
                           0.14285434066504302,   -0.1250092716354412,   0.11119850798111375,
                           -0.099902536437933481, 0.089514878818709551,  -0.082901177116249558,
                           0.087413721040571574,  -0.085677813944996309, 0.043866208228817073};
// sin(r) / r in r^2 on [-pi/2, pi/2], to 5e-14.
constexpr double kSine[] = {
    0.99999999999994926,    -0.16666666666465615,    0.0083333333203021078, -0.00019841266672271295,
    2.7556951969919265e-06, -2.5030230702250602e-08, 1.5410664744338549e-10};
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

// sin(x - n pi) (-1)^n for the nearest n, or half-integer n for the cosine.
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
  VD r = hn::NegMulAdd(n, constant(3.14159265358979311600), x);
  r = hn::NegMulAdd(n, constant(1.2246467991473531772e-16), r);
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

// out = f(double(a)) rounded, for a block; lanes outside [low, high] go through `exact`.
template <class Function>
HWY_INLINE void through_doubles(const float* a, int n, float* out, float low, float high,
                                double (*exact)(double), Function&& f) {
#if HWY_TARGET == HWY_SCALAR
  (void)low;
  (void)high;
  (void)f;
  for (int i = 0; i < n; ++i) out[i] = static_cast<float>(exact(static_cast<double>(a[i])));
#else
  const DH dh;
  const DD d;
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d))) {
    const auto x = hn::Load(dh, a + i);
    // blocks hold no garbage: values past n were set, so every lane may be looked at
    const auto reached = hn::And(hn::Ge(x, hn::Set(dh, low)), hn::Le(x, hn::Set(dh, high)));
    if (HWY_LIKELY(hn::AllTrue(dh, reached))) {
      hn::Store(hn::DemoteTo(dh, f(hn::PromoteTo(d, x))), dh, out + i);
      continue;
    }
    for (int k = i; k < i + static_cast<int>(hn::Lanes(d)); ++k)
      out[k] = static_cast<float>(exact(static_cast<double>(a[k])));
  }
#endif
}

template <class Function>
HWY_INLINE void unary(const float* a, int n, float* out, Function&& f) {
  const DF d;
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d)))
    hn::Store(f(hn::Load(d, a + i)), d, out + i);
}
template <class Function>
HWY_INLINE void binary(const MapStep& s, const float* a, const float* b, int n, float* out,
                       Function&& f) {
  const DF d;
  const VF number = hn::Set(d, static_cast<float>(s.number));
  if (s.immediate == 2) return unary(a, n, out, [&](VF x) { return f(x, number); });
  if (s.immediate == 1) return unary(b, n, out, [&](VF y) { return f(number, y); });
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(f(hn::Load(d, a + i), hn::Load(d, b + i)), d, out + i);
  }
}

HWY_INLINE VF zero_or_one(hn::Mask<DF> m) { return hn::IfThenElseZero(m, hn::Set(DF(), 1.0f)); }
HWY_INLINE hn::Mask<DF> truth(VF x) { return hn::Not(hn::Eq(x, hn::Zero(DF()))); }

// The C library in doubles, rounded once.
template <class Function>
void lane_by_lane(const float* a, int n, float* out, Function&& f) {
  for (int i = 0; i < n; ++i) out[i] = static_cast<float>(f(static_cast<double>(a[i])));
}

template <class Function>
void pairs_lane_by_lane(const MapStep& s, const float* a, const float* b, int n, float* out,
                        Function&& f) {
  const auto number = static_cast<double>(static_cast<float>(s.number));
  for (int i = 0; i < n; ++i) {
    const double x = s.immediate == 1 ? number : static_cast<double>(a[i]);
    const double y = s.immediate == 2 ? number : static_cast<double>(b[i]);
    out[i] = static_cast<float>(f(x, y));
  }
}

// sqrt in fast mode: x / sqrt(x) by the reciprocal estimate and one Newton step; 0 and infinity
// stay.
HWY_INLINE VF fast_sqrt(VF x) {
  const DF d;
  const VF y = hn::ApproximateReciprocalSqrt(x);
  const VF half = hn::Mul(x, hn::Set(d, 0.5f));
  const VF better = hn::Mul(y, hn::NegMulAdd(hn::Mul(half, y), y, hn::Set(d, 1.5f)));
  const auto usual = hn::And(hn::Ge(x, hn::Set(d, 1.17549435e-38f)), hn::Lt(x, hn::Set(d, 3e38f)));
  const VF root = hn::Mul(x, better);
  return HWY_LIKELY(hn::AllTrue(d, usual)) ? root : hn::IfThenElse(usual, root, hn::Sqrt(x));
}

constexpr float kLeastNormal = 1.17549435e-38f, kMost = 3.40282347e38f, kMostAngle = 3.5184372e13f;

void transcendental(MapOp op, bool fast, const float* a, int n, float* out) {
  const DF d;
#if HWY_TARGET != HWY_SCALAR
  if (fast) {
    switch (op) {
      case MapOp::kLog:
        return unary(a, n, out, [&](VF x) { return hn::Log(d, x); });
      case MapOp::kLog2:
        return unary(a, n, out, [&](VF x) { return hn::Log2(d, x); });
      case MapOp::kLog10:
        return unary(a, n, out, [&](VF x) { return hn::Log10(d, x); });
      case MapOp::kExp:
        return unary(a, n, out, [&](VF x) { return hn::Exp(d, x); });
      case MapOp::kSin:
        return unary(a, n, out, [&](VF x) { return hn::Sin(d, x); });
      default:
        return unary(a, n, out, [&](VF x) { return hn::Cos(d, x); });
    }
  }
#endif
  (void)fast;
  (void)d;
  switch (op) {
    case MapOp::kLog:
      return through_doubles(a, n, out, kLeastNormal, kMost, std::log,
                             [](VD x) { return log_double(x); });
    case MapOp::kLog2:
      return through_doubles(a, n, out, kLeastNormal, kMost, std::log2, [](VD x) {
        return hn::Mul(log_double(x), constant(1.44269504088896340736));
      });
    case MapOp::kLog10:
      return through_doubles(a, n, out, kLeastNormal, kMost, std::log10, [](VD x) {
        return hn::Mul(log_double(x), constant(0.43429448190325182765));
      });
    case MapOp::kExp:
      return through_doubles(a, n, out, -80.0f, 88.0f, std::exp,
                             [](VD x) { return exp_double(x); });
    case MapOp::kSin:
      return through_doubles(a, n, out, -kMostAngle, kMostAngle, std::sin,
                             [](VD x) { return sine_double<false>(x); });
    default:
      return through_doubles(a, n, out, -kMostAngle, kMostAngle, std::cos,
                             [](VD x) { return sine_double<true>(x); });
  }
}

void float_step(const MapStep& s, bool fast, int n, float* const* blocks) {
  const DF d;
  const float* a = blocks[s.a];
  const float* b = blocks[s.b];
  const float* c = blocks[s.c];
  float* out = blocks[s.out];
  switch (s.op) {
    case MapOp::kNumber: {
      const VF x = hn::Set(d, static_cast<float>(s.number));
      return unary(a, n, out, [x](VF) { return x; });
    }
    case MapOp::kAdd:
      return binary(s, a, b, n, out, [](VF x, VF y) { return hn::Add(x, y); });
    case MapOp::kSub:
      return binary(s, a, b, n, out, [](VF x, VF y) { return hn::Sub(x, y); });
    case MapOp::kMul:
      return binary(s, a, b, n, out, [](VF x, VF y) { return hn::Mul(x, y); });
    case MapOp::kDiv:
      return binary(s, a, b, n, out, [](VF x, VF y) { return hn::Div(x, y); });
    case MapOp::kMod:
      return binary(s, a, b, n, out,
                    [](VF x, VF y) { return hn::Sub(x, hn::Mul(y, hn::Floor(hn::Div(x, y)))); });
    case MapOp::kNeg:
      return unary(a, n, out, [](VF x) { return hn::Neg(x); });
    case MapOp::kLess:
      return binary(s, a, b, n, out, [](VF x, VF y) { return zero_or_one(hn::Lt(x, y)); });
    case MapOp::kLessEqual:
      return binary(s, a, b, n, out, [](VF x, VF y) { return zero_or_one(hn::Le(x, y)); });
    case MapOp::kEqual:
      return binary(s, a, b, n, out, [](VF x, VF y) { return zero_or_one(hn::Eq(x, y)); });
    case MapOp::kNotEqual:
      return binary(s, a, b, n, out, [](VF x, VF y) { return zero_or_one(hn::Not(hn::Eq(x, y))); });
    case MapOp::kAnd:
      return binary(s, a, b, n, out,
                    [](VF x, VF y) { return zero_or_one(hn::And(truth(x), truth(y))); });
    case MapOp::kOr:
      return binary(s, a, b, n, out,
                    [](VF x, VF y) { return zero_or_one(hn::Or(truth(x), truth(y))); });
    case MapOp::kNot:
      return unary(a, n, out, [](VF x) { return zero_or_one(hn::Not(truth(x))); });
    case MapOp::kSelect:
      for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d))) {
        hn::Store(hn::IfThenElse(truth(hn::Load(d, a + i)), hn::Load(d, b + i), hn::Load(d, c + i)),
                  d, out + i);
      }
      return;
    case MapOp::kSqrt:
      if (fast) return unary(a, n, out, [](VF x) { return fast_sqrt(x); });
      return unary(a, n, out, [](VF x) { return hn::Sqrt(x); });
    case MapOp::kAbs:
      return unary(a, n, out, [](VF x) { return hn::Abs(x); });
    case MapOp::kFloor:
      return unary(a, n, out, [](VF x) { return hn::Floor(x); });
    case MapOp::kCeil:
      return unary(a, n, out, [](VF x) { return hn::Ceil(x); });
    case MapOp::kRound:
      return unary(a, n, out, [](VF x) { return hn::Round(x); });
    case MapOp::kMin:
      return binary(s, a, b, n, out, [](VF x, VF y) {
        return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::IsNaN(y), y, hn::Min(x, y)));
      });
    case MapOp::kMax:
      return binary(s, a, b, n, out, [](VF x, VF y) {
        return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::IsNaN(y), y, hn::Max(x, y)));
      });
    case MapOp::kLog:
    case MapOp::kLog2:
    case MapOp::kLog10:
    case MapOp::kExp:
    case MapOp::kSin:
    case MapOp::kCos:
      return transcendental(s.op, fast, a, n, out);
    case MapOp::kTan:
      return lane_by_lane(a, n, out, [](double x) { return std::tan(x); });
    case MapOp::kAsin:
      return lane_by_lane(a, n, out, [](double x) { return std::asin(x); });
    case MapOp::kAcos:
      return lane_by_lane(a, n, out, [](double x) { return std::acos(x); });
    case MapOp::kAtan:
      return lane_by_lane(a, n, out, [](double x) { return std::atan(x); });
    case MapOp::kSinh:
      return lane_by_lane(a, n, out, [](double x) { return std::sinh(x); });
    case MapOp::kCosh:
      return lane_by_lane(a, n, out, [](double x) { return std::cosh(x); });
    case MapOp::kTanh:
      return lane_by_lane(a, n, out, [](double x) { return std::tanh(x); });
    case MapOp::kCbrt:
      return lane_by_lane(a, n, out, [](double x) { return std::cbrt(x); });
    case MapOp::kAtan2:
      return pairs_lane_by_lane(s, a, b, n, out,
                                [](double x, double y) { return std::atan2(x, y); });
    case MapOp::kPow:
      return pairs_lane_by_lane(s, a, b, n, out, [](double x, double y) { return std::pow(x, y); });
    default:
      return;
  }
}

// Index arithmetic; rare once residues are specialised away.
void integer_step(const MapStep& s, const MapPlace& place, int n, float* const* blocks,
                  std::int64_t* const* ints) {
  const std::int64_t* a = ints[s.a];
  const std::int64_t* b = ints[s.b];
  std::int64_t* out = ints[s.out];
  const auto each = [n](std::int64_t* to, auto&& f) {
    for (int i = 0; i < n; ++i) to[i] = f(i);
  };
  float* truth_out = blocks[s.out];
  switch (s.op) {
    case MapOp::kNumber:
      return each(out, [&](int) { return static_cast<std::int64_t>(s.number); });
    case MapOp::kColumn:
      return each(out, [&](int i) { return place.ix + i * place.step; });
    case MapOp::kRow:
      return each(out, [&](int) { return place.iy; });
    case MapOp::kIndex:
      return each(out, [&](int i) { return place.idx + i * place.step; });
    case MapOp::kAdd:
      return each(out, [&](int i) { return a[i] + b[i]; });
    case MapOp::kSub:
      return each(out, [&](int i) { return a[i] - b[i]; });
    case MapOp::kMul:
      return each(out, [&](int i) { return a[i] * b[i]; });
    case MapOp::kMod:
      return each(out, [&](int i) { return ((a[i] % b[i]) + b[i]) % b[i]; });
    case MapOp::kNeg:
      return each(out, [&](int i) { return -a[i]; });
    case MapOp::kAbs:
      return each(out, [&](int i) { return a[i] < 0 ? -a[i] : a[i]; });
    case MapOp::kMin:
      return each(out, [&](int i) { return std::min(a[i], b[i]); });
    case MapOp::kMax:
      return each(out, [&](int i) { return std::max(a[i], b[i]); });
    case MapOp::kSelect: {
      const float* cond = blocks[s.a];
      const std::int64_t* c = ints[s.c];
      return each(out, [&](int i) { return cond[i] != 0.0f ? b[i] : c[i]; });
    }
    case MapOp::kLess:
      for (int i = 0; i < n; ++i) truth_out[i] = a[i] < b[i] ? 1.0f : 0.0f;
      return;
    case MapOp::kLessEqual:
      for (int i = 0; i < n; ++i) truth_out[i] = a[i] <= b[i] ? 1.0f : 0.0f;
      return;
    case MapOp::kEqual:
      for (int i = 0; i < n; ++i) truth_out[i] = a[i] == b[i] ? 1.0f : 0.0f;
      return;
    case MapOp::kNotEqual:
      for (int i = 0; i < n; ++i) truth_out[i] = a[i] != b[i] ? 1.0f : 0.0f;
      return;
    default:
      return;
  }
}

void run_program(const MapProgram& program, bool fast, int repeat, const MapPlace& place, int n,
                 float* values, float* floats, std::int64_t* integers) {
  constexpr int kMostBlocks = 600;
  float* blocks[kMostBlocks];
  std::int64_t* ints[kMostBlocks];
  blocks[0] = values;
  ints[0] = integers;  // steps without integer operands name block 0
  for (int k = 1; k < program.num_float_blocks; ++k) blocks[k] = floats + (k - 1) * kMapBlock;
  for (int k = 1; k < program.num_integer_blocks; ++k) ints[k] = integers + k * kMapBlock;
  // steps work on whole vectors: lanes past n repeat the last value, which is harmless
  const int whole = (n + 15) / 16 * 16;
  for (int i = n; i < whole; ++i) values[i] = values[n - 1];
  for (int r = 0; r < repeat; ++r) {
    for (const MapStep& s : program.steps) {
      if (s.to_float) {
        for (int i = 0; i < whole; ++i) blocks[s.out][i] = static_cast<float>(ints[s.a][i]);
      } else if (s.integer) {
        integer_step(s, place, whole, blocks, ints);
      } else {
        float_step(s, fast, whole, blocks);
      }
    }
  }
}

void split_pairs_of(const float* in, int pairs, float* first, float* second) {
  const DF d;
  int i = 0;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (; i + lanes <= pairs; i += lanes) {
    VF a, b;
    hn::LoadInterleaved2(d, in + 2 * i, a, b);
    hn::Store(a, d, first + i);
    hn::Store(b, d, second + i);
  }
  for (; i < pairs; ++i) {
    first[i] = in[2 * i];
    second[i] = in[2 * i + 1];
  }
}

void join_pairs_of(const float* first, const float* second, int pairs, float* out) {
  const DF d;
  int i = 0;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (; i + lanes <= pairs; i += lanes) {
    hn::StoreInterleaved2(hn::Load(d, first + i), hn::Load(d, second + i), d, out + 2 * i);
  }
  for (; i < pairs; ++i) {
    out[2 * i] = first[i];
    out[2 * i + 1] = second[i];
  }
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(run_program);
HWY_EXPORT(split_pairs_of);
HWY_EXPORT(join_pairs_of);

void run_map_program(const MapProgram& program, bool fast, int repeat, const MapPlace& place, int n,
                     float* values, float* floats, std::int64_t* integers) {
  HWY_DYNAMIC_DISPATCH(run_program)(program, fast, repeat, place, n, values, floats, integers);
}
void split_pairs(const float* in, int pairs, float* first, float* second) {
  HWY_DYNAMIC_DISPATCH(split_pairs_of)(in, pairs, first, second);
}
void join_pairs(const float* first, const float* second, int pairs, float* out) {
  HWY_DYNAMIC_DISPATCH(join_pairs_of)(first, second, pairs, out);
}
}  // namespace tilewave::field
#endif
