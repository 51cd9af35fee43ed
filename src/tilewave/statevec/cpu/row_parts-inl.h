// Lifts on bits inside rows that do not fit the registers. A row is four strips of 2^kPairBit
// columns: factors and lifts on the bits below go strip by strip, then those on the others a few
// vectors of each strip at a time. Included by units of kernels after row_lifts-inl.h, once for
// every instruction set.
#if defined(TILEWAVE_STATEVEC_CPU_ROW_PARTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_STATEVEC_CPU_ROW_PARTS_INL_H_
#undef TILEWAVE_STATEVEC_CPU_ROW_PARTS_INL_H_
#else
#define TILEWAVE_STATEVEC_CPU_ROW_PARTS_INL_H_
#endif

#include "hwy/highway.h"

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/block_kernels-inl.h"
#include "tilewave/statevec/cpu/row_lifts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

// Whether a row fits the registers. One that does not has half of it in memory when it goes as a
// whole, at a load and a store a vector and lift.
template <class T>
constexpr bool kWholeRows = 2 * kVectors<T> <= kRegisters;

// What a row is multiplied by before its lifts.
template <class T>
struct RowProduct {
  const T* table = nullptr;  // null: 1
  bool scaled = false;       // and by a number
  T re = 1, im = 0;
};

template <class T, bool kWeighs>
class RowParts {
 public:
  explicit RowParts(const LowLifts<T, kWeighs>& lifts) : lifts_(lifts) {}

  // Begins a row. What goes across strips is done for several rows at a time: it would wait for
  // what the strips store.
  HWY_INLINE void start(T* row, const RowProduct<T>& product) {
    if (product.table || product.scaled || lifts_.in_strips()) run_strips(row, product);
    if (!lifts_.across_strips()) return;
    rows_[count_++] = row;
    if (count_ == kMostRows) finish();
  }

  HWY_INLINE void finish() {
    for (int k = 0; k < count_; ++k) run_across(rows_[k]);
    count_ = 0;
  }

 private:
  static constexpr int kStrip = 1 << kPairBit;   // columns
  static constexpr int kN = kStrip / kLanes<T>;  // vectors
  static constexpr int kM = kN > 1 ? 2 : 1;      // of a strip, at a time
  static constexpr int kMostRows = 8;

  HWY_INLINE void run_strips(T* HWY_RESTRICT row, const RowProduct<T>& product) const {
    const Tag<T> d;
    const auto re = hn::Set(d, product.re), im = hn::Set(d, product.im);
    for (int s = 0; s < kRowLength; s += kStrip) {
      Vec<T> v[2 * kN];
      TW_UNROLL
      for (int i = 0; i < kN; ++i) {
        v[i] = in_register(hn::Load(d, row + s + i * kLanes<T>));
        v[kN + i] = in_register(hn::Load(d, row + kRowLength + s + i * kLanes<T>));
      }
      if (product.table) {
        TW_UNROLL
        for (int i = 0; i < kN; ++i) {
          const T* const factor = product.table + s + i * kLanes<T>;
          multiply<T>(v[i], v[kN + i], in_register(hn::Load(d, factor)),
                      in_register(hn::Load(d, factor + kRowLength)));
        }
      }
      if (product.scaled) {
        TW_UNROLL
        for (int i = 0; i < kN; ++i) multiply<T>(v[i], v[kN + i], re, im);
      }
      lifts_.template run_strips<2 * kN>(v);
      TW_UNROLL
      for (int i = 0; i < kN; ++i) {
        hn::Store(v[i], d, row + s + i * kLanes<T>);
        hn::Store(v[kN + i], d, row + kRowLength + s + i * kLanes<T>);
      }
    }
  }

  HWY_INLINE void run_across(T* row) const {
    const Tag<T> d;
    for (int half = 0; half < 2 * kRowLength; half += kRowLength) {
      for (int s = 0; s < kStrip; s += kM * kLanes<T>) {
        T* HWY_RESTRICT const at = row + half + s;
        Vec<T> v[4 * kM];
        TW_UNROLL
        for (int i = 0; i < 4 * kM; ++i)
          v[i] = in_register(hn::Load(d, at + (i / kM) * kStrip + i % kM * kLanes<T>));
        lifts_.template run_across<4 * kM, kM>(v);
        TW_UNROLL
        for (int i = 0; i < 4 * kM; ++i)
          hn::Store(v[i], d, at + (i / kM) * kStrip + i % kM * kLanes<T>);
      }
    }
  }

  const LowLifts<T, kWeighs>& lifts_;
  T* rows_[kMostRows];
  int count_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#endif  // TILEWAVE_STATEVEC_CPU_ROW_PARTS_INL_H_
