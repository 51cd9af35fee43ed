// The steps of a map program over blocks, several values an instruction.
//
// Precise functions take the float to doubles, evaluate a polynomial good to 1e-10, and round once:
// the result is the correctly rounded one but for a few values in a thousand, which are 1 ulp off.
// Fast ones stay in floats. Arguments the reductions do not reach and special values go through the
// C library, one by one. What follows a function (a root, a sum) is done before its value is
// stored.
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

#include "hwy/highway.h"
#include "tilewave/field/cpu/map_functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where a function's reduction holds, as bits of floats: low <= x <= high, or |x| <= high.
struct Reach {
  bool both_signs;
  float low, high;
};

// Whether all n values are within reach; NaN never is. As whole numbers without a sign, floats
// below zero, infinite and NaN are above the positive ones.
HWY_INLINE bool all_within(const float* a, int n, const Reach& r) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  const auto least = hn::BitCast(du, hn::Set(d, r.low));
  const auto range = hn::Sub(hn::BitCast(du, hn::Set(d, r.high)), least);
  auto most = hn::Zero(du);
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d))) {
    const auto x = hn::Load(d, a + i);
    most = hn::Max(most,
                   r.both_signs ? hn::BitCast(du, hn::Abs(x)) : hn::Sub(hn::BitCast(du, x), least));
  }
  return hn::AllFalse(du, hn::Gt(most, range));
}
inline bool within(float x, const Reach& r) {
  return r.both_signs ? std::abs(x) <= r.high : x >= r.low && x <= r.high;
}

// -0, which added changes nothing.
struct NegativeZeros {
  HWY_ALIGN float values[kMapBlock];
  NegativeZeros() { std::fill_n(values, kMapBlock, -0.0f); }
};

// A function's value on its way to memory: + addend, root, + sum[i] (MapStep's plus, root, sum).
struct Rest {
  bool any, root;
  float addend;
  const float* sum;

  Rest(const MapStep& s, const float* block) {
    static const NegativeZeros zeros;
    any = s.plus || s.root || block != nullptr;
    root = s.root;
    addend = s.plus ? s.addend : -0.0f;
    sum = block != nullptr ? block : zeros.values;
  }
};
enum class Kind : std::uint8_t { kPlain, kSums, kRoot };  // no rest, one without a root, one with

template <Kind kKind, bool kFast>
HWY_INLINE VF finish(VF x, VF addend, const float* sum) {
  if (kKind == Kind::kPlain) return x;
  x = hn::Add(x, addend);
  if (kKind == Kind::kRoot) x = kFast ? fast_sqrt(x) : precise_sqrt(x);
  return hn::Add(x, hn::Load(DF(), sum));
}

// out = finish(f(a)) for a block whose values are all within reach. A function of its own, without
// calls: its constants stay in registers. Brings a block `ahead` into the cache on the way.
template <Kind kKind, bool kFast, class Function>
HWY_NOINLINE void within_reach(const float* a, int n, float* out, const Rest& rest,
                               const float* ahead, const Function& f) {
  const DF d;
  const VF addend = hn::Set(d, rest.addend);
  const float* const sum = rest.sum;
  constexpr int kLine = 16;  // floats
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d))) {
    if (i % kLine == 0) __builtin_prefetch(ahead + i, 1);
    hn::Store(finish<kKind, kFast>(f(hn::Load(d, a + i)), addend, sum + i), d, out + i);
  }
}

// The same for any block: values out of reach go through `exact`, one by one.
template <bool kFast, class Function>
HWY_NOINLINE void out_of_reach(const float* a, int n, float* out, const Reach& reach,
                               double (*exact)(double), const Rest& rest, const Function& f) {
  const DF d;
  HWY_ALIGN float lane[hn::MaxLanes(DF())];
  for (int i = 0; i < n; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(f(hn::Load(d, a + i)), d, lane);
    for (int k = 0; k < static_cast<int>(hn::Lanes(d)); ++k) {
      if (!within(a[i + k], reach))
        lane[k] = static_cast<float>(exact(static_cast<double>(a[i + k])));
    }
    VF x = hn::Load(d, lane);
    if (rest.any) {
      const VF addend = hn::Set(d, rest.addend);
      x = rest.root ? finish<Kind::kRoot, kFast>(x, addend, rest.sum + i)
                    : finish<Kind::kSums, kFast>(x, addend, rest.sum + i);
    }
    hn::Store(x, d, out + i);
  }
}

template <bool kFast, class Function>
HWY_INLINE void apply(const float* a, int n, float* out, const Reach& reach,
                      double (*exact)(double), const Rest& rest, const float* ahead,
                      const Function& f) {
  if (HWY_UNLIKELY(!all_within(a, n, reach)))
    return out_of_reach<kFast>(a, n, out, reach, exact, rest, f);
  if (ahead == nullptr) ahead = a;  // is there already
  if (!rest.any) return within_reach<Kind::kPlain, kFast>(a, n, out, rest, ahead, f);
  rest.root ? within_reach<Kind::kRoot, kFast>(a, n, out, rest, ahead, f)
            : within_reach<Kind::kSums, kFast>(a, n, out, rest, ahead, f);
}

// f of doubles, rounded once: a function of floats.
template <class Function>
struct ThroughDoubles {
  Function f;
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE VF operator()(VF x) const {
    return VF(static_cast<float>(f(VD(static_cast<double>(x.raw))).raw));
  }
#else
  HWY_INLINE VF operator()(VF x) const {
    const DF d;
    const DD dd;
    const DH dh;
    const auto low = hn::DemoteTo(dh, f(hn::PromoteTo(dd, hn::LowerHalf(dh, x))));
    const auto high = hn::DemoteTo(dh, f(hn::PromoteTo(dd, hn::UpperHalf(dh, x))));
    return hn::Combine(d, high, low);
  }
#endif
};

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

constexpr float kLeastNormal = 1.17549435e-38f, kMost = 3.40282347e38f, kMostAngle = 3.5184372e13f;

void transcendental(const MapStep& s, bool fast, const float* a, int n, float* out,
                    const float* sum, const float* ahead) {
  const Rest rest(s, sum);
  const Reach normal{false, kLeastNormal, kMost};
#if TW_FLOAT_FUNCTIONS
  if (fast) {
    const Reach angle{true, 0, 39000.0f}, power{true, 0, 87.0f};
    const auto run = [&](const Reach& reach, double (*exact)(double), auto&& f) {
      apply<true>(a, n, out, reach, exact, rest, ahead, f);
    };
    switch (s.op) {
      case MapOp::kLog:
        return run(normal, std::log, [](VF x) { return log_float(x); });
      case MapOp::kLog2:
        return run(normal, std::log2,
                   [](VF x) { return hn::Mul(log_float(x), number(1.44269504f)); });
      case MapOp::kLog10:
        return run(normal, std::log10,
                   [](VF x) { return hn::Mul(log_float(x), number(0.434294482f)); });
      case MapOp::kExp:
        return run(power, std::exp, [](VF x) { return exp_float(x); });
      case MapOp::kSin:
        return run(angle, std::sin, [](VF x) { return sine_float<false>(x); });
      default:
        return run(angle, std::cos, [](VF x) { return sine_float<true>(x); });
    }
  }
#endif
  (void)fast;
  const Reach angle{true, 0, kMostAngle}, power{true, 0, 80.0f};
  const auto run = [&](const Reach& reach, double (*exact)(double), auto f) {
    apply<false>(a, n, out, reach, exact, rest, ahead, ThroughDoubles<decltype(f)>{f});
  };
  switch (s.op) {
    case MapOp::kLog:
      return run(normal, std::log, [](VD x) { return log_double(x); });
    case MapOp::kLog2:
      return run(normal, std::log2,
                 [](VD x) { return hn::Mul(log_double(x), constant(1.44269504088896340736)); });
    case MapOp::kLog10:
      return run(normal, std::log10,
                 [](VD x) { return hn::Mul(log_double(x), constant(0.43429448190325182765)); });
    case MapOp::kExp:
      return run(power, std::exp, [](VD x) { return exp_double(x); });
    case MapOp::kSin:
      return run(angle, std::sin, [](VD x) { return sine_double<false>(x); });
    default:
      return run(angle, std::cos, [](VD x) { return sine_double<true>(x); });
  }
}

void float_step(const MapStep& s, bool fast, int n, float* const* blocks, const float* ahead) {
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
      return unary(a, n, out, [](VF x) { return precise_sqrt(x); });
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
      return transcendental(s, fast, a, n, out, s.sum >= 0 ? blocks[s.sum] : nullptr, ahead);
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
                 float* values, float* floats, std::int64_t* integers, const float* ahead) {
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
        float_step(s, fast, whole, blocks, ahead);
        if (takes_more(s)) ahead = nullptr;  // once
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

bool scan_whole_of(const float* values, std::int64_t n, std::int32_t& least, std::int32_t& most) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto low = hn::Set(di, least), high = hn::Set(di, most);
  auto whole = hn::Eq(hn::Zero(d), hn::Zero(d));
  const auto look = [&](VF v) {
    const auto i = hn::ConvertTo(di, v);  // out of range and NaN: the least integer
    const auto same = hn::Eq(hn::ConvertTo(d, i), v);
    const auto minus_zero = hn::Eq(hn::BitCast(di, v), hn::Set(di, std::int32_t{-2147483647 - 1}));
    whole = hn::And(whole, hn::AndNot(hn::RebindMask(d, minus_zero), same));
    low = hn::Min(low, i);
    high = hn::Max(high, i);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) look(hn::LoadU(d, values + i));
  for (; i < n; ++i) look(hn::Set(d, values[i]));
  least = hn::GetLane(hn::MinOfLanes(di, low));
  most = hn::GetLane(hn::MaxOfLanes(di, high));
  return hn::AllTrue(d, whole);
}

void look_up_of(const float* tables, std::int64_t size, std::int64_t least, int period,
                std::int64_t n, float* row) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto entry = [&](std::int64_t x) {
    return tables[x % period * size + static_cast<std::int64_t>(row[x]) - least];
  };
  std::int64_t x = 0;
  if (lanes % period == 0 && size * period < (std::int64_t{1} << 30)) {
    HWY_ALIGN std::int32_t starts[hn::MaxLanes(DF())];
    for (std::int64_t k = 0; k < lanes; ++k)
      starts[k] = static_cast<std::int32_t>(k % period * size - least);
    const auto start = hn::Load(di, starts);
    for (; x + lanes <= n; x += lanes) {
      const auto i = hn::Add(hn::ConvertTo(di, hn::LoadU(d, row + x)), start);
      hn::StoreU(hn::GatherIndex(d, tables, i), d, row + x);
    }
  }
  for (; x < n; ++x) row[x] = entry(x);
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(run_program);
HWY_EXPORT(split_pairs_of);
HWY_EXPORT(join_pairs_of);
HWY_EXPORT(scan_whole_of);
HWY_EXPORT(look_up_of);

void run_map_program(const MapProgram& program, bool fast, int repeat, const MapPlace& place, int n,
                     float* values, float* floats, std::int64_t* integers, const float* ahead) {
  HWY_DYNAMIC_DISPATCH(run_program)
  (program, fast, repeat, place, n, values, floats, integers, ahead);
}
void split_pairs(const float* in, int pairs, float* first, float* second) {
  HWY_DYNAMIC_DISPATCH(split_pairs_of)(in, pairs, first, second);
}
void join_pairs(const float* first, const float* second, int pairs, float* out) {
  HWY_DYNAMIC_DISPATCH(join_pairs_of)(first, second, pairs, out);
}
bool scan_whole(const float* values, std::int64_t n, std::int32_t& least, std::int32_t& most) {
  return HWY_DYNAMIC_DISPATCH(scan_whole_of)(values, n, least, most);
}
void look_up_values(const float* tables, std::int64_t size, std::int64_t least, int period,
                    std::int64_t n, float* row) {
  HWY_DYNAMIC_DISPATCH(look_up_of)(tables, size, least, period, n, row);
}
}  // namespace tilewave::field
#endif
