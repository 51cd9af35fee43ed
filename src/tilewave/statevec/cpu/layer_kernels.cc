// A layer on one block of the CPU engine: a phase block, then real lifts on any bits. Lifts are
// real, so real and imaginary parts go through the same code. Cost per amplitude: a lift 2
// multiply-adds (on a bit inside a vector also 2 lane permutations), a phase block 8 (4 to build
// the factor, 4 to apply it). The phase, the lifts inside rows and every three lifts on rows load
// and store the block once. One loop for the phase and three rows with all their vectors in
// registers was faster on a block that stays in the first-level cache and slower in a pass, where
// blocks come from the second level.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/layer_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' header comes after
#include "tilewave/statevec/cpu/block_kernels-inl.h"
// clang-format on

#include <type_traits>

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
void low_lifts(T* tile, BlockRows b, const LayerStep<T>& step) {
  const Tag<T> d;
  constexpr int kN = kVectors<T>, kLaneBits = log2_of(kLanes<T>);
  HWY_ALIGN T coefficients[kLaneBits + 1][kLanes<T>];
  for (int l = 0; l < kLaneBits; ++l) {
    for (int i = 0; i < kLanes<T>; ++i) coefficients[l][i] = (i >> l & 1) ? step.t[l] : -step.t[l];
  }
  const int num_rows = 1 << b.num_bits;
  for (int r = 0; r < 2 * num_rows; ++r) {
    T* HWY_RESTRICT p = row_at(tile, b, static_cast<std::uint32_t>(r >> 1)) + (r & 1) * kRowLength;
    Vec<T> v[kN];
    TW_UNROLL
    for (int i = 0; i < kN; ++i) v[i] = hn::Load(d, p + i * kLanes<T>);
    const auto lift_lane = [&](int l) HWY_ATTR {
      const auto c = hn::Load(d, coefficients[l]);
      const auto index = lane_xor_indices<T>(1 << l);
      TW_UNROLL
      for (int i = 0; i < kN; ++i) v[i] = hn::MulAdd(c, hn::TableLookupLanes(v[i], index), v[i]);
    };
    if constexpr (kLaneBits > 0) {
      if (step.mask & 1) lift_lane(0);
    }
    if constexpr (kLaneBits > 1) {
      if (step.mask & 2) lift_lane(1);
    }
    if constexpr (kLaneBits > 2) {
      if (step.mask & 4) lift_lane(2);
    }
    if constexpr (kLaneBits > 3) {
      if (step.mask & 8) lift_lane(3);
    }
    const auto lift_vectors = [&](auto stride_constant, T t) HWY_ATTR {
      constexpr int kStride = decltype(stride_constant)::value;
      const auto tv = hn::Set(d, t);
      TW_UNROLL
      for (int i = 0; i < kN / 2; ++i) {
        const int lo = ((i / kStride) * 2 * kStride) | (i % kStride), hi = lo + kStride;
        const auto x = v[lo], y = v[hi];
        v[lo] = hn::NegMulAdd(tv, y, x);
        v[hi] = hn::MulAdd(tv, x, y);
      }
    };
    constexpr int kVectorBits = kLowBits - kLaneBits;
    if constexpr (kVectorBits > 0) {
      if (step.mask >> kLaneBits & 1)
        lift_vectors(std::integral_constant<int, 1>(), step.t[kLaneBits]);
    }
    if constexpr (kVectorBits > 1) {
      if (step.mask >> (kLaneBits + 1) & 1)
        lift_vectors(std::integral_constant<int, 2>(), step.t[kLaneBits + 1]);
    }
    if constexpr (kVectorBits > 2) {
      if (step.mask >> (kLaneBits + 2) & 1)
        lift_vectors(std::integral_constant<int, 4>(), step.t[kLaneBits + 2]);
    }
    if constexpr (kVectorBits > 3) {
      if (step.mask >> (kLaneBits + 3) & 1)
        lift_vectors(std::integral_constant<int, 8>(), step.t[kLaneBits + 3]);
    }
    if constexpr (kVectorBits > 4) {
      if (step.mask >> (kLaneBits + 4) & 1)
        lift_vectors(std::integral_constant<int, 16>(), step.t[kLaneBits + 4]);
    }
    if constexpr (kVectorBits > 5) {
      if (step.mask >> (kLaneBits + 5) & 1)
        lift_vectors(std::integral_constant<int, 32>(), step.t[kLaneBits + 5]);
    }
    TW_UNROLL
    for (int i = 0; i < kN; ++i) hn::Store(v[i], d, p + i * kLanes<T>);
  }
}

template <class T, int R>
void row_lifts_of(T* tile, BlockRows b, const int* bits, const T* lifts) {
  const Tag<T> d;
  constexpr int kRows = 1 << R;
  Vec<T> t[R];
  for (int k = 0; k < R; ++k) t[k] = hn::Set(d, lifts[k]);
  const std::uint32_t groups = 1u << (b.num_bits - R);
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::uint32_t base = g;
    for (int k = 0; k < R; ++k) base = open_bit(base, bits[k]);
    T* HWY_RESTRICT p[kRows];
    for (int j = 0; j < kRows; ++j) {
      std::uint32_t row = base;
      for (int k = 0; k < R; ++k) row |= static_cast<std::uint32_t>(j >> k & 1) << bits[k];
      p[j] = row_at(tile, b, row);
    }
    for (int i = 0; i < 2 * kRowLength; i += kLanes<T>) {
      Vec<T> v[kRows];
      TW_UNROLL
      for (int j = 0; j < kRows; ++j) v[j] = hn::Load(d, p[j] + i);
      TW_UNROLL
      for (int k = 0; k < R; ++k) {
        TW_UNROLL
        for (int j = 0; j < kRows / 2; ++j) {
          const int lo = ((j >> k) << (k + 1)) | (j & ((1 << k) - 1)), hi = lo | 1 << k;
          const auto x = v[lo], y = v[hi];
          v[lo] = hn::NegMulAdd(t[k], y, x);
          v[hi] = hn::MulAdd(t[k], x, y);
        }
      }
      TW_UNROLL
      for (int j = 0; j < kRows; ++j) hn::Store(v[j], d, p[j] + i);
    }
  }
}

template <class T>
HWY_INLINE void scale_row(T* p, T re, T im) {
  const Tag<T> d;
  const auto cr = hn::Set(d, re), ci = hn::Set(d, im);
  for (int i = 0; i < kRowLength; i += kLanes<T>) {
    const auto x = hn::Load(d, p + i), y = hn::Load(d, p + kRowLength + i);
    hn::Store(hn::NegMulAdd(y, ci, hn::Mul(x, cr)), d, p + i);
    hn::Store(hn::MulAdd(y, cr, hn::Mul(x, ci)), d, p + kRowLength + i);
  }
}

// p *= table * (re + i im)
template <class T>
HWY_INLINE void multiply_scaled_row(const T* HWY_RESTRICT table, T re, T im, T* HWY_RESTRICT p) {
  const Tag<T> d;
  const auto sr = hn::Set(d, re), si = hn::Set(d, im);
  TW_UNROLL
  for (int i = 0; i < kRowLength; i += kLanes<T>) {
    const auto tr = hn::LoadU(d, table + i), ti = hn::LoadU(d, table + kRowLength + i);
    const auto fr = hn::NegMulAdd(ti, si, hn::Mul(tr, sr)),
               fi = hn::MulAdd(ti, sr, hn::Mul(tr, si));
    const auto x = hn::Load(d, p + i), y = hn::Load(d, p + kRowLength + i);
    hn::Store(hn::NegMulAdd(y, fi, hn::Mul(x, fr)), d, p + i);
    hn::Store(hn::MulAdd(y, fr, hn::Mul(x, fi)), d, p + kRowLength + i);
  }
}

// Rows in counting order: from row r-1 to r the bits below the lowest set bit t of r fall to zero
// and t rises, so the product of the rows above t is still there and one multiplication of tables
// gives the next.
template <class T>
void phase_rows(T* tile, BlockRows b, const PhaseStep<T>& step) {
  HWY_ALIGN T buffers[kMaxRowBits][2 * kRowLength];
  const T* product[kMaxRowBits + 1];  // product[j]: over the bits of the row from j up
  for (int j = 0; j <= b.num_bits; ++j) product[j] = step.root;
  const std::uint32_t num_rows = 1u << b.num_bits;
  for (std::uint32_t r = 0; r < num_rows; ++r) {
    if (r) {
      int t = 0;
      while (!(r >> t & 1)) ++t;
      const T* table = step.bit_tables[t];
      const T* above = product[t + 1];
      if (table && above) {
        multiply_row(table, above, buffers[t]);
        above = buffers[t];
      } else if (table) {
        above = table;
      }
      for (int j = 0; j <= t; ++j) product[j] = above;
    }
    const T* factor = product[0];
    T* p = row_at(tile, b, r);
    if (!step.scalars) {
      if (factor) multiply_row(factor, p, p);
      continue;
    }
    const T re = step.scalars[r], im = step.scalars[num_rows + r];
    if (re == T(1) && im == T(0)) {
      if (factor) multiply_row(factor, p, p);
    } else if (factor) {
      multiply_scaled_row(factor, re, im, p);
    } else {
      scale_row(p, re, im);
    }
  }
}

template <class T>
void run_layer(T* tile, BlockRows b, const LayerStep<T>& step, const PhaseStep<T>* phase) {
  if (phase) phase_rows(tile, b, *phase);
  if (step.mask & ((1u << kLowBits) - 1)) low_lifts(tile, b, step);
  std::uint32_t left = step.mask >> kLowBits;
  while (left) {
    const int all = static_cast<int>(hwy::PopCount(left));
    const int count = all == 4 ? 2 : all > 3 ? 3 : all;
    int bits[3];
    T t[3];
    for (int j = 0; j < count; ++j) {
      bits[j] = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(left));
      t[j] = step.t[kLowBits + bits[j]];
      left &= left - 1;
    }
    if (count == 1) {
      row_lifts_of<T, 1>(tile, b, bits, t);
    } else if (count == 2) {
      row_lifts_of<T, 2>(tile, b, bits, t);
    } else {
      row_lifts_of<T, 3>(tile, b, bits, t);
    }
  }
}

template <class T>
void fill_layer(BlockKernels<T>& k) {
  k.layer = run_layer<T>;
}

void fill_layer_f32(BlockKernels<float>& k) { fill_layer(k); }
void fill_layer_f64(BlockKernels<double>& k) { fill_layer(k); }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::statevec::cpu {

HWY_EXPORT(fill_layer_f32);
HWY_EXPORT(fill_layer_f64);

void add_layer_kernels(BlockKernels<float>& k) { HWY_DYNAMIC_DISPATCH(fill_layer_f32)(k); }
void add_layer_kernels(BlockKernels<double>& k) { HWY_DYNAMIC_DISPATCH(fill_layer_f64)(k); }

}  // namespace tilewave::statevec::cpu
#endif  // HWY_ONCE
