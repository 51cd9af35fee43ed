// The steps of a map program over blocks, several values an instruction.
//
// Precise functions take the float to doubles, evaluate a polynomial good to 1e-10, and round once:
// the result is the correctly rounded one but for a few values in a thousand, which are 1 ulp off.
// Fast ones stay in floats. Arguments the reductions do not reach and special values go through the
// C library, one by one. What follows a function (a root, a sum) is done before its value is
// stored.
#include <algorithm>
#include <cmath>

#include "tilewave/field/cpu/fixed_size_targets.h"
#include "tilewave/field/map_program.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/field/cpu/map_vectors.cc"
// foreach_target.h must come first
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "tilewave/field/cpu/map_apply-inl.h"
#include "tilewave/field/index_arithmetic.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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

constexpr float kLeastNormal = 1.17549435e-38f, kMost = 3.40282347e38f;

void transcendental(const MapStep& s, bool fast, const float* a, int n, float* out,
                    const float* sum, const float* ahead) {
  const Rest rest(s, sum);
  const Reach normal{false, kLeastNormal, kMost};
#if HWY_NATIVE_FMA
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

// Functions that are the same in both modes. Not inlined: float_step's short loops stay as they
// are.
HWY_NOINLINE void other_function(MapOp op, const float* a, int n, float* out) {
  const auto run = [&](const Reach& reach, double (*exact)(double), auto f) {
    apply_alone(a, n, out, reach, exact, f);
  };
  switch (op) {
    case MapOp::kTan:
      return run({true, 0, kMostAngle}, std::tan, [](VD x) { return tan_double(x); });
    case MapOp::kSinh:
      return run({true, 0, 80.0f}, std::sinh, [](VD x) { return sinh_double(x); });
    case MapOp::kCosh:
      return run({true, 0, 80.0f}, std::cosh, [](VD x) { return cosh_double(x); });
    case MapOp::kTanh:
      return run({true, 0, 300.0f}, std::tanh, [](VD x) { return tanh_double(x); });
    case MapOp::kExpm1:
      return run({true, 0, 80.0f}, std::expm1, [](VD x) { return expm1_double(x); });
    default: {  // log1p: of both signs where none is large
      const Reach small{true, 0, 0.99f}, positive{false, 0, kMost};
      return run(all_within(a, n, small) ? small : positive, std::log1p,
                 [](VD x) { return log1p_double(x); });
    }
  }
}

HWY_NOINLINE void remainders(const MapStep& s, const float* a, const float* b, int n, float* out) {
  binary(s, a, b, n, out, [](VF x, VF y) { return remainder(x, y); });
}

// pow(x, y) where one of them is a number: whole powers by multiplication, others by y log x.
HWY_NOINLINE void power(const MapStep& s, const float* a, const float* b, int n, float* out) {
  constexpr double kMostPower = 64, kMostLog = 80;
  const float given = static_cast<float>(s.number);
  const auto number = static_cast<double>(given);
  if (s.immediate == 2 && std::abs(number) <= kMostPower && number == std::floor(number)) {
    const int whole = static_cast<int>(number);
    return unary(a, n, out, ThroughDoubles{[whole](VD x) { return whole_power(x, whole); }});
  }
  if (s.immediate == 2 && number == 0.5)
    return unary(a, n, out, ThroughDoubles{[](VD x) { return root_power(x); }});
  if (s.immediate == 2 && std::abs(number) > 1e-3 && std::isfinite(number)) {
    const double most = kMostLog / std::abs(number);  // of |log x|
    const Reach reach{false, std::max(kLeastNormal, static_cast<float>(std::exp(-most))),
                      std::min(kMost, static_cast<float>(std::exp(std::min(most, 88.0))))};
    return apply_alone(
        a, n, out, reach, [number](double x) { return std::pow(x, number); },
        [number](VD x) { return exp_double(hn::Mul(log_double(x), constant(number))); });
  }
  if (s.immediate == 1 && given >= kLeastNormal && given <= kMost && given != 1) {
    const double log = std::log(number);
    const Reach reach{true, 0, static_cast<float>(kMostLog / std::abs(log))};
    return apply_alone(
        b, n, out, reach, [number](double y) { return std::pow(number, y); },
        [log](VD y) { return exp_double(hn::Mul(y, constant(log))); });
  }
  pairs_lane_by_lane(s, a, b, n, out, [](double x, double y) { return std::pow(x, y); });
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
      return remainders(s, a, b, n, out);
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
    case MapOp::kTrunc:
      return unary(a, n, out, [](VF x) { return hn::Trunc(x); });
    case MapOp::kHypot:
      return binary(s, a, b, n, out, ThroughDoubles{[](VD x, VD y) { return hypot_double(x, y); }});
    case MapOp::kTan:
    case MapOp::kSinh:
    case MapOp::kCosh:
    case MapOp::kTanh:
    case MapOp::kLog1p:
    case MapOp::kExpm1:
      return other_function(s.op, a, n, out);
    case MapOp::kAsin:
      return lane_by_lane(a, n, out, [](double x) { return std::asin(x); });
    case MapOp::kAcos:
      return lane_by_lane(a, n, out, [](double x) { return std::acos(x); });
    case MapOp::kAtan:
      return lane_by_lane(a, n, out, [](double x) { return std::atan(x); });
    case MapOp::kCbrt:
      return lane_by_lane(a, n, out, [](double x) { return std::cbrt(x); });
    case MapOp::kAtan2:
      return pairs_lane_by_lane(s, a, b, n, out,
                                [](double x, double y) { return std::atan2(x, y); });
    case MapOp::kPow:
      return power(s, a, b, n, out);
    default:
      return;
  }
}

// The columns or rows of pixels that follow each other past the ends of rows. Not inlined, as
// other_function.
template <bool kRows>
HWY_NOINLINE void places_from_index(const MapPlace& place, int n, std::int64_t* out) {
  std::int64_t x = place.idx % place.width, y = place.idx / place.width;
  for (int i = 0; i < n; ++i) {
    out[i] = kRows ? y : x;
    if (++x == place.width) {
      x = 0;
      ++y;
    }
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
  const auto by_two = [&](auto&& f) { return each(out, [&](int i) { return f(a[i], b[i]); }); };
  float* truth_out = blocks[s.out];
  switch (s.op) {
    case MapOp::kNumber:
      return each(out, [&](int) { return s.whole; });
    case MapOp::kColumn:
      if (place.width != 0) return places_from_index<false>(place, n, out);
      return each(out, [&](int i) { return place.ix + i * place.step; });
    case MapOp::kRow:
      if (place.width != 0) return places_from_index<true>(place, n, out);
      return each(out, [&](int) { return place.iy; });
    case MapOp::kIndex:
      return each(out, [&](int i) { return place.idx + i * place.step; });
    case MapOp::kAdd:
      return by_two([](std::int64_t x, std::int64_t y) { return wrapped_sum(x, y); });
    case MapOp::kSub:
      return by_two([](std::int64_t x, std::int64_t y) { return wrapped_difference(x, y); });
    case MapOp::kMul:
      return by_two([](std::int64_t x, std::int64_t y) { return wrapped_product(x, y); });
    case MapOp::kMod:
      return by_two([](std::int64_t x, std::int64_t y) { return whole_remainder(x, y); });
    case MapOp::kNeg:
      return each(out, [&](int i) { return wrapped_difference(0, a[i]); });
    case MapOp::kAbs:
      return each(out, [&](int i) { return wrapped_magnitude(a[i]); });
    case MapOp::kMin:
      return by_two([](std::int64_t x, std::int64_t y) { return lesser(x, y); });
    case MapOp::kMax:
      return by_two([](std::int64_t x, std::int64_t y) { return greater(x, y); });
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

const char* instructions() { return hwy::TargetName(HWY_TARGET); }

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::field {
HWY_EXPORT(run_program);
HWY_EXPORT(instructions);

void run_map_program(const MapProgram& program, bool fast, int repeat, const MapPlace& place, int n,
                     float* values, float* floats, std::int64_t* integers, const float* ahead) {
  HWY_DYNAMIC_DISPATCH(run_program)
  (program, fast, repeat, place, n, values, floats, integers, ahead);
}
const char* map_instructions() { return HWY_DYNAMIC_DISPATCH(instructions)(); }
}  // namespace tilewave::field
#endif
