// sums[n] of a vector of counts, for each instruction set: included inside Highway's loop over
// targets. A table lookup (gather) waits for loads, the formula behind the table (LogCurve) for
// arithmetic: with AVX-512 the plane kernel mixes the two, the column kernel takes the formula.
#if defined(TILEWAVE_FIELD_CPU_ENTROPY_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_FIELD_CPU_ENTROPY_SUMS_INL_H_
#undef TILEWAVE_FIELD_CPU_ENTROPY_SUMS_INL_H_
#else
#define TILEWAVE_FIELD_CPU_ENTROPY_SUMS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "tilewave/field/entropy_tables.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::field::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

using DCount = hn::CappedTag<std::int32_t, 16>;
using VCount = hn::Vec<DCount>;

// The table itself.
struct LookUp {
  const std::int32_t* sums;
  explicit LookUp(const EntropyTables& t) : sums(t.sums.data()) {}
  HWY_INLINE VCount operator()(VCount n) const { return hn::GatherIndex(DCount(), sums, n); }
};

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// LogCurve::sum of 16 counts.
struct Formula {
  __m512 a[2], b[2], c[2], per_bit;
  explicit Formula(const EntropyTables& t) {
    for (int half = 0; half < 2; ++half) {
      a[half] = _mm512_loadu_ps(t.curve.a + 16 * half);
      b[half] = _mm512_loadu_ps(t.curve.b + 16 * half);
      c[half] = _mm512_loadu_ps(t.curve.c + 16 * half);
    }
    per_bit = _mm512_set1_ps(t.curve.per_bit);
  }
  HWY_INLINE VCount operator()(VCount n) const {
    const __m512i one = _mm512_set1_epi32(0x3F800000);
    const __m512 x = _mm512_cvtepi32_ps(n.raw);
    const __m512i bits = _mm512_castps_si512(x);
    const __m512 u = _mm512_cvtepi32_ps(_mm512_sub_epi32(bits, one));
    const __m512i i = _mm512_srli_epi32(bits, 18);  // the permutations read its low 5 bits
    const __m512 m = _mm512_castsi512_ps(           // (bits & fraction) | one
        _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(0x7FFFFF), one, 0xEA));
    const __m512 inner = _mm512_fmadd_ps(m, _mm512_permutex2var_ps(c[0], i, c[1]),
                                         _mm512_permutex2var_ps(b[0], i, b[1]));
    const __m512 g = _mm512_fmadd_ps(m, inner, _mm512_permutex2var_ps(a[0], i, a[1]));
    return VCount{_mm512_cvtps_epi32(_mm512_mul_ps(x, _mm512_fmadd_ps(u, per_bit, g)))};
  }
};
#else
using Formula = LookUp;
#endif

// H of a row of pixels: log_n[N] and inverse[N] of its populations, kept from row to row while
// pop_y stays. Most pixels of a row have the same population: those take two numbers.
class RowEntropy {
 public:
  RowEntropy(const EntropyTables& tables, const std::int32_t* pop_x, int width, double* log_n,
             double* inverse)
      : tables_(tables), pop_x_(pop_x), width_(width), log_n_(log_n), inverse_(inverse) {
    if (pop_x == nullptr) return;
    same_begin_ = static_cast<int>(std::max_element(pop_x, pop_x + width) - pop_x);
    same_end_ = same_begin_;
    while (same_end_ < width && pop_x[same_end_] == pop_x[same_begin_]) ++same_end_;
  }

  // N = pop_x * pop_y.
  void operator()(const std::int32_t* sum, std::int32_t pop_y, float* out) {
    if (tables_.narrow) {
      for (int x = 0; x < width_; ++x) out[x] = tables_.entropy(sum[x], pop_x_[x] * pop_y);
      return;
    }
    if (pop_y != current_) {
      current_ = pop_y;
      for (int x = 0; x < width_; ++x) {
        if (x > same_begin_ && x < same_end_) continue;
        log_n_[x] = tables_.log_n_wide[static_cast<std::size_t>(pop_x_[x] * current_)];
        inverse_[x] = tables_.inverse_wide[static_cast<std::size_t>(pop_x_[x] * current_)];
      }
    }
    const double log_n = log_n_[same_begin_], inverse = inverse_[same_begin_];
    for (int x = same_begin_; x < same_end_; ++x)
      out[x] = entropy(static_cast<double>(sum[x]), log_n, inverse);
    each(sum, 0, same_begin_, out);
    each(sum, same_end_, width_, out);
  }

  // N counted: all cells but the invalid ones.
  void operator()(const std::int32_t* sum, const std::int32_t* invalid, float* out) const {
    for (int x = 0; x < width_; ++x)
      out[x] = tables_.entropy(sum[x], tables_.max_count - invalid[x]);
  }

 private:
  static float entropy(double sum, double log_n, double inverse) {
    const double part = sum * inverse;
    return static_cast<float>(log_n - part);
  }
  void each(const std::int32_t* sum, int begin, int end, float* out) const {
    for (int x = begin; x < end; ++x)
      out[x] = entropy(static_cast<double>(sum[x]), log_n_[x], inverse_[x]);
  }

  const EntropyTables& tables_;
  const std::int32_t* pop_x_;
  const int width_;
  double *const log_n_, *const inverse_;
  std::int32_t current_ = -1;
  int same_begin_ = 0, same_end_ = 0;  // pixels of the greatest population
};
#endif

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
