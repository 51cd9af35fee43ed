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
  RowFactors(const PhaseStep<T>* phase, int num_bits) : phase_(*phase) {
    for (int j = 0; j <= num_bits; ++j) product_[j] = phase_.root;
  }

  using Factor = RowFactor<T>;

  // Of the rows of the run that starts at number k. Not inline: what it keeps in registers is not
  // needed between runs.
  HWY_NOINLINE Factor of(std::uint32_t k) {
    if (k) advance(static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(k)));
    return {product_[0], phase_.scalars != nullptr};
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

  const PhaseStep<T>& phase_;
  const T* product_[kMaxRowBits + 1] = {};  // product_[j]: over the bits of the number from j up
  HWY_ALIGN T buffers_[kMaxRowBits][2 * kRowLength];
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#endif  // TILEWAVE_STATEVEC_CPU_ROW_FACTORS_INL_H_
