// Applies functions of vectors to the blocks of a map program: included by map_vectors.cc inside
// Highway's loop over targets.
#if defined(TILEWAVE_FIELD_CPU_MAP_APPLY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_FIELD_CPU_MAP_APPLY_INL_H_
#undef TILEWAVE_FIELD_CPU_MAP_APPLY_INL_H_
#else
#define TILEWAVE_FIELD_CPU_MAP_APPLY_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "tilewave/field/cpu/map_functions-inl.h"
#include "tilewave/field/map_program.h"

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
template <bool kFast, class Exact, class Function>
HWY_NOINLINE void out_of_reach(const float* a, int n, float* out, const Reach& reach,
                               const Exact& exact, const Rest& rest, const Function& f) {
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

template <bool kFast, class Exact, class Function>
HWY_INLINE void apply(const float* a, int n, float* out, const Reach& reach, const Exact& exact,
                      const Rest& rest, const float* ahead, const Function& f) {
  if (HWY_UNLIKELY(!all_within(a, n, reach)))
    return out_of_reach<kFast>(a, n, out, reach, exact, rest, f);
  if (ahead == nullptr) ahead = a;  // is there already
  if (!rest.any) return within_reach<Kind::kPlain, kFast>(a, n, out, rest, ahead, f);
  rest.root ? within_reach<Kind::kRoot, kFast>(a, n, out, rest, ahead, f)
            : within_reach<Kind::kSums, kFast>(a, n, out, rest, ahead, f);
}

// f of doubles, rounded once: a function of one or two floats.
template <class Function>
struct ThroughDoubles {
  Function f;
#if HWY_TARGET == HWY_SCALAR
  template <class... X>
  HWY_INLINE VF operator()(X... x) const {
    return VF(static_cast<float>(f(VD(static_cast<double>(x.raw))...).raw));
  }
#else
  template <class... X>
  HWY_INLINE VF operator()(X... x) const {
    const DF d;
    const DD dd;
    const DH dh;
    const auto low = hn::DemoteTo(dh, f(hn::PromoteTo(dd, hn::LowerHalf(dh, x))...));
    const auto high = hn::DemoteTo(dh, f(hn::PromoteTo(dd, hn::UpperHalf(dh, x))...));
    return hn::Combine(d, high, low);
  }
#endif
};
template <class Function>
ThroughDoubles(Function) -> ThroughDoubles<Function>;

// A function that nothing is joined to, of a block of any values.
template <class Exact, class Function>
void apply_alone(const float* a, int n, float* out, const Reach& reach, const Exact& exact,
                 const Function& f) {
  const Rest none(MapStep(), nullptr);
  const ThroughDoubles<Function> through{f};
  if (HWY_LIKELY(all_within(a, n, reach)))
    return within_reach<Kind::kPlain, false>(a, n, out, none, a, through);
  out_of_reach<false>(a, n, out, reach, exact, none, through);
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

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
