// Lifts on bits inside rows whose vectors are all in registers, and links: tables of columns and
// such lifts in turn. Included by units of kernels after block_kernels-inl.h, once for every
// instruction set.
#if defined(TILEWAVE_STATEVEC_CPU_ROW_LIFTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_STATEVEC_CPU_ROW_LIFTS_INL_H_
#undef TILEWAVE_STATEVEC_CPU_ROW_LIFTS_INL_H_
#else
#define TILEWAVE_STATEVEC_CPU_ROW_LIFTS_INL_H_
#endif

#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/block_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void multiply(Vec<T>& re, Vec<T>& im, Vec<T> fr, Vec<T> fi) {
  const auto x = re;
  re = hn::NegMulAdd(im, fi, hn::Mul(x, fr));
  im = hn::MulAdd(im, fr, hn::Mul(x, fi));
}

// Two lifts by one t on four vectors, divided by 1 + t^2. Sums and differences of opposite corners
// are enough:  d = x00 - x11 and u = x01 + x10 give  e = (t^2 d + t u) / (1 + t^2)  and
// f = (t d - t^2 u) / (1 + t^2),  and x00 - e, x01 + f, x10 + f, x11 + e are the results: 4
// multiply-adds and 6 additions for 8 multiply-adds.
template <class T>
struct PairedLifts {
  T a, b;

  explicit PairedLifts(T t) {
    const double square = static_cast<double>(t) * static_cast<double>(t);
    a = static_cast<T>(square / (1 + square));
    b = static_cast<T>(static_cast<double>(t) / (1 + square));
  }
  HWY_INLINE void operator()(Vec<T>& x00, Vec<T>& x01, Vec<T>& x10, Vec<T>& x11) const {
    const Tag<T> tag;
    const auto av = hn::Set(tag, a), bv = hn::Set(tag, b);
    const auto d = hn::Sub(x00, x11), u = hn::Add(x01, x10);
    const auto e = hn::MulAdd(bv, u, hn::Mul(av, d)), f = hn::NegMulAdd(av, u, hn::Mul(bv, d));
    x00 = hn::Sub(x00, e);
    x01 = hn::Add(x01, f);
    x10 = hn::Add(x10, f);
    x11 = hn::Add(x11, e);
  }
};

// Lane l of the result is lane l ^ (1 << kBit): by a shuffle that needs no indices where there is
// one.
template <class T, int kBit>
HWY_INLINE Vec<T> lanes_exchanged(Vec<T> v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  constexpr std::size_t kBytes = sizeof(T) << kBit;
  if constexpr (kBytes == 4) return hn::Shuffle2301(v);
  if constexpr (kBytes == 8 && sizeof(T) == 4) return hn::Shuffle1032(v);
  if constexpr (kBytes == 8 && sizeof(T) == 8) return hn::Shuffle01(v);
  if constexpr (kBytes == 16) return hn::SwapAdjacentBlocks(v);
  if constexpr (kBytes == 32) return hn::ConcatLowerUpper(Tag<T>(), v, v);
#else
  return hn::TableLookupLanes(v, lane_xor_indices<T>(1 << kBit));
#endif
}

// Lifts on the bits inside rows, all vectors of which are in v; weighted ones only with kWeighs.
template <class T, bool kWeighs>
struct LowLifts {
  std::uint32_t mask, reflected = 0, weighted = 0;
  const T* t;
  bool paired = false;
  PairedLifts<T> pair{T(0)};
  T square[kLowBits] = {};
  HWY_ALIGN T coefficients[4][kLanes<T>];  // bits inside a vector: of a lane's partner

  LowLifts() : mask(0), t(nullptr) {}
  explicit LowLifts(const LayerStep<T>& step)
      : mask(step.mask & ((1u << kLowBits) - 1)),
        reflected(step.reflected),
        weighted(step.weighted),
        t(step.t),
        paired(step.low_pair),
        pair(step.t[kPairBit]) {
    for (int l = 0; l < kLowBits; ++l) square[l] = t[l] * t[l];
    for (int l = 0; l < log2_of(kLanes<T>); ++l) {
      const bool is_weighted = weighted >> l & 1;
      const T sign = reflected >> l & 1 ? T(-1) : T(1), x = is_weighted ? T(-1) : -t[l] * sign,
              y = is_weighted ? square[l] : t[l] * sign;
      for (int i = 0; i < kLanes<T>; ++i) coefficients[l][i] = (i >> l & 1) ? y : x;
    }
  }

  // In registers: GCC otherwise keeps half of a row in memory.
  static HWY_INLINE void lift_weighted(Vec<T> square, Vec<T>& x, Vec<T>& y) {
    const auto difference = hn::Sub(x, y);
    y = in_register(hn::MulAdd(square, x, y));
    x = in_register(difference);
  }
  // kStride: from a vector to the one that differs in the bit.
  template <int kBit, int kN, int kStride = (1 << kBit) / kLanes<T>>
  HWY_INLINE void lift(Vec<T>* v) const {
    const Tag<T> d;
    constexpr int kLaneBits = log2_of(kLanes<T>);
    if constexpr (kBit < kLaneBits) {
      if (!(mask >> kBit & 1)) return;
      const auto c = hn::Load(d, coefficients[kBit]);
      if (reflected >> kBit & 1) {
        TW_UNROLL
        for (int i = 0; i < kN; ++i) v[i] = hn::MulAdd(c, v[i], lanes_exchanged<T, kBit>(v[i]));
        return;
      }
      TW_UNROLL
      for (int i = 0; i < kN; ++i) v[i] = hn::MulAdd(c, lanes_exchanged<T, kBit>(v[i]), v[i]);
    } else if constexpr (kBit < kLowBits) {
      if (!(mask >> kBit & 1)) return;
      const auto each_two = [v](auto lift_two) {
        TW_UNROLL
        for (int i = 0; i < kN / 2; ++i) {
          const int lo = ((i / kStride) * 2 * kStride) | (i % kStride);
          lift_two(v[lo], v[lo + kStride]);
        }
      };
      const auto tv = hn::Set(d, t[kBit]);
      if (kWeighs && (weighted >> kBit & 1)) {
        const auto sv = in_register(hn::Set(d, square[kBit]));
        each_two([sv](Vec<T>& x, Vec<T>& y) { lift_weighted(sv, x, y); });
      } else if (reflected >> kBit & 1) {
        each_two([](Vec<T>& x, Vec<T>& y) {
          const auto difference = hn::Sub(x, y);
          x = hn::Add(x, y);
          y = difference;
        });
      } else if (t[kBit] == 1) {
        each_two([](Vec<T>& x, Vec<T>& y) {
          const auto sum = hn::Add(x, y);
          x = hn::Sub(x, y);
          y = sum;
        });
      } else {
        each_two([tv](Vec<T>& x, Vec<T>& y) {
          const auto sum = hn::MulAdd(tv, x, y);
          x = hn::NegMulAdd(tv, y, x);
          y = sum;
        });
      }
    }
  }
  template <int kN, int kStride>
  HWY_INLINE void lift_pair(Vec<T>* v) const {
    TW_UNROLL
    for (int i = 0; i < kN / 4; ++i) {
      Vec<T>* x = v + (((i / kStride) * 4 * kStride) | (i % kStride));
      pair(x[0], x[kStride], x[2 * kStride], x[3 * kStride]);
    }
  }
  HWY_INLINE void run(Vec<T>* v) const {
    constexpr int kN = 2 * kVectors<T>;
    run_strips<kN>(v);
    run_across<kN, (1 << kPairBit) / kLanes<T>>(v);
  }

  // The lifts on the bits below kPairBit, inside strips of a row, and the others, where kStride
  // vectors are of one strip: together or one after the other (row_parts-inl.h).
  bool in_strips() const { return mask & ((1u << kPairBit) - 1); }
  bool across_strips() const { return mask >> kPairBit; }
  template <int kN>
  HWY_INLINE void run_strips(Vec<T>* v) const {
    lift<0, kN>(v);
    lift<1, kN>(v);
    lift<2, kN>(v);
    lift<3, kN>(v);
  }
  template <int kN, int kStride>
  HWY_INLINE void run_across(Vec<T>* v) const {
    if (paired) {
      lift_pair<kN, kStride>(v);
    } else {
      lift<4, kN, kStride>(v);
      lift<5, kN, 2 * kStride>(v);
    }
  }
};

// A link of the chain that a row goes through.
template <class T, bool kWeighs>
struct Link {
  const T* table = nullptr;
  std::uint64_t columns = 0;
  LowLifts<T, kWeighs> lifts;

  HWY_INLINE void run(Vec<T>* v) const {
    const Tag<T> d;
    constexpr int kN = kVectors<T>;
    constexpr std::uint64_t kColumns = (std::uint64_t{1} << (kLanes<T> & 63)) - 1;
    if (table) {
      TW_UNROLL
      for (int i = 0; i < kN; ++i) {
        if (!(columns >> i * kLanes<T> & kColumns)) continue;
        const auto re = in_register(hn::Load(d, table + i * kLanes<T>)),
                   im = in_register(hn::Load(d, table + kRowLength + i * kLanes<T>));
        multiply<T>(v[i], v[kN + i], re, im);
      }
    }
    if (lifts.mask) lifts.run(v);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#endif  // TILEWAVE_STATEVEC_CPU_ROW_LIFTS_INL_H_
