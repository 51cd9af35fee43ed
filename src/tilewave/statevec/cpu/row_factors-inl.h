// The factors of a phase block on the rows of a block, from tables of one row each. Included by units
// of kernels after block_kernels-inl.h, once for every instruction set.
#if defined(TILEWAVE_STATEVEC_CPU_ROW_FACTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_STATEVEC_CPU_ROW_FACTORS_INL_H_
#undef TILEWAVE_STATEVEC_CPU_ROW_FACTORS_INL_H_
#else
#define TILEWAVE_STATEVEC_CPU_ROW_FACTORS_INL_H_
#endif

#include "hwy/highway.h"

#include <cstdint>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/block_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void multiply_row(const T* HWY_RESTRICT a, const T* b, T* out) {
  const Tag<T> d;
  for (int i = 0; i < kRowLength; i += kLanes<T>) {
    const auto ar = hn::LoadU(d, a + i), ai = hn::LoadU(d, a + kRowLength + i);
    const auto br = hn::LoadU(d, b + i), bi = hn::LoadU(d, b + kRowLength + i);
    hn::StoreU(hn::NegMulAdd(ai, bi, hn::Mul(ar, br)), d, out + i);
    hn::StoreU(hn::MulAdd(ai, br, hn::Mul(ar, bi)), d, out + kRowLength + i);
  }
}

template <class T>
HWY_INLINE void scale_row(const T* HWY_RESTRICT a, T re, T im, T* out) {
  const Tag<T> d;
  const auto br = hn::Set(d, re), bi = hn::Set(d, im);
  for (int i = 0; i < kRowLength; i += kLanes<T>) {
    const auto ar = hn::LoadU(d, a + i), ai = hn::LoadU(d, a + kRowLength + i);
    hn::StoreU(hn::NegMulAdd(ai, bi, hn::Mul(ar, br)), d, out + i);
    hn::StoreU(hn::MulAdd(ai, br, hn::Mul(ar, bi)), d, out + kRowLength + i);
  }
}

// What a run of rows is multiplied by.
template <class T>
struct RowFactor {
  const T* table = nullptr;  // null: 1
  bool scaled = false;       // and the scalars of the rows are still to be multiplied
};

// The factors of a phase block, run by run. Rows in counting order: from number k-1 to k the bits
// below the lowest set bit t of k fall to zero and t rises, so the product of the tables above t is
// still there and one multiplication gives the next. Bits that change inside a run have no table.
template <class T>
class RowFactors {
 public:
  RowFactors(const PhaseStep<T>* phase, int num_bits, int beside)
      : phase_(*phase), num_rows_(1u << num_bits), other_(beside < 0 ? 0 : 1u << beside) {
    for (int j = 0; j <= num_bits; ++j) product_[j] = phase_.root;
  }

  using Factor = RowFactor<T>;

  // Of the rows of the run that starts at number k. Not inline: what it keeps in registers is not
  // needed between runs.
  HWY_NOINLINE Factor of(std::uint32_t k) {
    if (k) advance(static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(k)));
    return scaled(product_[0], k, false);
  }

  // Of the rows beside them.
  HWY_NOINLINE Factor beside(std::uint32_t k) {
    const T* table = phase_.beside_table;
    if (table && product_[0]) {
      multiply_row(table, product_[0], beside_);
      table = beside_;
    } else if (!table) {
      table = product_[0];
    }
    return scaled(table, k, true);
  }

 private:
  void advance(int t) {
    const T* table = phase_.bit_tables[t];
    const T* above = product_[t + 1];
    if (table && above) {
      multiply_row(table, above, buffers_[t]);
      above = buffers_[t];
    } else if (table) {
      above = table;
    }
    for (int j = 0; j <= t; ++j) product_[j] = above;
  }

  Factor scaled(const T* table, std::uint32_t k, bool is_beside) {
    if (!phase_.scalars || !phase_.alike) return {table, phase_.scalars != nullptr};
    return scale(table, phase_.order[k] | (is_beside ? other_ : 0), scaled_[is_beside]);
  }

  HWY_NOINLINE Factor scale(const T* table, std::uint32_t row, T* out) const {
    const T re = phase_.scalars[row], im = phase_.scalars[num_rows_ + row];
    if (re == 1 && im == 0) return {table, false};
    if (!table) return {nullptr, true};
    scale_row(table, re, im, out);
    return {out, false};
  }

  const PhaseStep<T>& phase_;
  std::uint32_t num_rows_, other_;
  const T* product_[kMaxRowBits + 1] = {};  // product_[j]: over the bits of the number from j up
  HWY_ALIGN T buffers_[kMaxRowBits][2 * kRowLength];
  HWY_ALIGN T beside_[2 * kRowLength];
  HWY_ALIGN T scaled_[2][2 * kRowLength];  // a product times a scalar
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#endif  // TILEWAVE_STATEVEC_CPU_ROW_FACTORS_INL_H_
