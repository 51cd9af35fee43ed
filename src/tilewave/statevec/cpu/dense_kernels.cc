// Matrices on one block of the CPU engine. Cost per amplitude: 4 multiply-adds an entry of a row,
// so 16 for a complex 4x4 matrix.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/dense_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' header comes after
#include "tilewave/statevec/cpu/block_kernels-inl.h"
// clang-format on

#include <vector>

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

// Matrix elements that do not depend on the place in the row, on R row bits: all in registers.
template <class T, int R, bool kReal>
void dense_uniform(T* tile, BlockRows b, const DenseStep<T>& step) {
  const Tag<T> d;
  constexpr int kRows = 1 << R;
  const T* m = step.tables.data();
  for (std::uint32_t g = 0; g < 1u << (b.num_bits - R); ++g) {
    std::uint32_t base = g;
    int sorted[R];
    for (int k = 0; k < R; ++k) sorted[k] = step.row_bits[k];
    for (int i = 1; i < R; ++i) {
      for (int k = i; k > 0 && sorted[k] < sorted[k - 1]; --k) {
        const int swap = sorted[k];
        sorted[k] = sorted[k - 1];
        sorted[k - 1] = swap;
      }
    }
    for (int k = 0; k < R; ++k) base = open_bit(base, sorted[k]);
    if ((base & step.control_mask) != step.control_value) continue;
    T* HWY_RESTRICT p[kRows];
    for (int j = 0; j < kRows; ++j) {
      std::uint32_t row = base;
      for (int k = 0; k < R; ++k) row |= static_cast<std::uint32_t>(j >> k & 1) << step.row_bits[k];
      p[j] = row_at(tile, b, row);
    }
    for (int i = 0; i < kRowLength; i += kLanes<T>) {
      Vec<T> re[kRows], im[kRows];
      TW_UNROLL
      for (int j = 0; j < kRows; ++j) {
        re[j] = hn::Load(d, p[j] + i);
        im[j] = hn::Load(d, p[j] + kRowLength + i);
      }
      TW_UNROLL
      for (int o = 0; o < kRows; ++o) {
        const T* row = m + 2 * o * kRows;
        auto x = hn::Mul(hn::Set(d, row[0]), re[0]);
        auto y = hn::Mul(hn::Set(d, row[0]), im[0]);
        if (!kReal) {
          x = hn::NegMulAdd(hn::Set(d, row[1]), im[0], x);
          y = hn::MulAdd(hn::Set(d, row[1]), re[0], y);
        }
        TW_UNROLL
        for (int j = 1; j < kRows; ++j) {
          const auto cr = hn::Set(d, row[2 * j]);
          x = hn::MulAdd(cr, re[j], x);
          y = hn::MulAdd(cr, im[j], y);
          if (!kReal) {
            const auto ci = hn::Set(d, row[2 * j + 1]);
            x = hn::NegMulAdd(ci, im[j], x);
            y = hn::MulAdd(ci, re[j], y);
          }
        }
        hn::Store(x, d, p[o] + i);
        hn::Store(y, d, p[o] + kRowLength + i);
      }
    }
  }
}

// A matrix on R row bits and L low bits, R + L <= 2, with elements that depend on the place in the
// row. Inputs of a row group are copied aside; every output vector is a sum over 2^R rows and 2^L
// permuted inputs, all unrolled.
template <class T, int R, int L, bool kReal>
void dense_small(T* tile, BlockRows b, const DenseStep<T>& step) {
  const Tag<T> d;
  constexpr int kRows = 1 << R, kOffsets = 1 << L;
  HWY_ALIGN T in[kRows * 2 * kRowLength];
  std::uint32_t target_mask = 0;
  for (int k = 0; k < R; ++k) target_mask |= 1u << step.row_bits[k];
  int vector_offset[kOffsets], lane_offset[kOffsets];
  for (int k = 0; k < kOffsets; ++k) {
    lane_offset[k] = step.offsets[k] & (kLanes<T> - 1);
    vector_offset[k] = step.offsets[k] & ~(kLanes<T> - 1);
  }
  const auto index1 = lane_xor_indices<T>(lane_offset[kOffsets > 1 ? 1 : 0]);
  const auto index2 = lane_xor_indices<T>(lane_offset[kOffsets > 2 ? 2 : 0]);
  const auto index3 = lane_xor_indices<T>(lane_offset[kOffsets > 3 ? 3 : 0]);
  const auto permute = [&](Vec<T> v, int k) HWY_ATTR {
    if constexpr (kLanes<T> == 1) {
      (void)k;
      return v;
    } else {
      if (k == 1) return hn::TableLookupLanes(v, index1);
      if (k == 2) return hn::TableLookupLanes(v, index2);
      if (k == 3) return hn::TableLookupLanes(v, index3);
      return v;
    }
  };
  for (std::uint32_t base = 0; base < 1u << b.num_bits; ++base) {
    if ((base & target_mask) || (base & step.control_mask) != step.control_value) continue;
    T* HWY_RESTRICT p[kRows];
    for (int j = 0; j < kRows; ++j) {
      std::uint32_t row = base;
      for (int k = 0; k < R; ++k) row |= static_cast<std::uint32_t>(j >> k & 1) << step.row_bits[k];
      p[j] = row_at(tile, b, row);
      for (int i = 0; i < 2 * kRowLength; i += kLanes<T>)
        hn::Store(hn::Load(d, p[j] + i), d, in + j * 2 * kRowLength + i);
    }
    for (int i = 0; i < kRowLength; i += kLanes<T>) {
      Vec<T> re[kRows * kOffsets], im[kRows * kOffsets];
      TW_UNROLL
      for (int j = 0; j < kRows; ++j) {
        TW_UNROLL
        for (int k = 0; k < kOffsets; ++k) {
          const T* source = in + j * 2 * kRowLength + (i ^ vector_offset[k]);
          re[j * kOffsets + k] = permute(hn::Load(d, source), k);
          im[j * kOffsets + k] = permute(hn::Load(d, source + kRowLength), k);
        }
      }
      TW_UNROLL
      for (int o = 0; o < kRows; ++o) {
        const T* table = step.tables.data() +
                         static_cast<std::size_t>(o) * kRows * kOffsets * 2 * kRowLength + i;
        auto x = hn::Zero(d), y = hn::Zero(d);
        TW_UNROLL
        for (int e = 0; e < kRows * kOffsets; ++e) {
          const auto cr = hn::LoadU(d, table + e * 2 * kRowLength);
          x = e == 0 ? hn::Mul(cr, re[e]) : hn::MulAdd(cr, re[e], x);
          y = e == 0 ? hn::Mul(cr, im[e]) : hn::MulAdd(cr, im[e], y);
          if (!kReal) {
            const auto ci = hn::LoadU(d, table + e * 2 * kRowLength + kRowLength);
            x = hn::NegMulAdd(ci, im[e], x);
            y = hn::MulAdd(ci, re[e], y);
          }
        }
        hn::Store(x, d, p[o] + i);
        hn::Store(y, d, p[o] + kRowLength + i);
      }
    }
  }
}

// Any matrix: inputs are copied aside, outputs are sums of table * permuted input.
template <class T>
void dense_general(T* tile, BlockRows b, const DenseStep<T>& step) {
  const Tag<T> d;
  const int rows = 1 << step.num_row_bits;
  static thread_local std::vector<T> scratch;
  if (scratch.size() < static_cast<std::size_t>(rows) * 2 * kRowLength + 64) {
    scratch.resize(static_cast<std::size_t>(rows) * 2 * kRowLength + 64);
  }
  T* in = scratch.data();
  std::uint32_t target_mask = 0;
  for (int k = 0; k < step.num_row_bits; ++k) target_mask |= 1u << step.row_bits[k];
  for (std::uint32_t base = 0; base < 1u << b.num_bits; ++base) {
    if ((base & target_mask) || (base & step.control_mask) != step.control_value) continue;
    T* p[256];
    for (int j = 0; j < rows; ++j) {
      std::uint32_t row = base;
      for (int k = 0; k < step.num_row_bits; ++k)
        row |= static_cast<std::uint32_t>(j >> k & 1) << step.row_bits[k];
      p[j] = row_at(tile, b, row);
      for (int i = 0; i < 2 * kRowLength; i += kLanes<T>) {
        hn::StoreU(hn::Load(d, p[j] + i), d, in + j * 2 * kRowLength + i);
      }
    }
    for (int o = 0; o < rows; ++o) {
      for (int i = 0; i < kRowLength; i += kLanes<T>) {
        auto x = hn::Zero(d), y = hn::Zero(d);
        for (int j = 0; j < rows; ++j) {
          for (int k = 0; k < step.num_offsets; ++k) {
            const int offset = step.offsets[k];
            const T* source = in + j * 2 * kRowLength + (i ^ (offset & ~(kLanes<T> - 1)));
            auto re = hn::LoadU(d, source), im = hn::LoadU(d, source + kRowLength);
            if constexpr (kLanes < T >> 1) {
              if (offset & (kLanes<T> - 1)) {
                const auto index = lane_xor_indices<T>(offset & (kLanes<T> - 1));
                re = hn::TableLookupLanes(re, index);
                im = hn::TableLookupLanes(im, index);
              }
            }
            const std::size_t entry = static_cast<std::size_t>(o * rows + j) * step.num_offsets + k;
            if (step.uniform) {
              const auto cr = hn::Set(d, step.tables[2 * entry]),
                         ci = hn::Set(d, step.tables[2 * entry + 1]);
              x = hn::NegMulAdd(ci, im, hn::MulAdd(cr, re, x));
              y = hn::MulAdd(ci, re, hn::MulAdd(cr, im, y));
            } else {
              const T* table = step.tables.data() + entry * 2 * kRowLength + i;
              const auto cr = hn::LoadU(d, table);
              x = hn::MulAdd(cr, re, x);
              y = hn::MulAdd(cr, im, y);
              if (!step.real) {
                const auto ci = hn::LoadU(d, table + kRowLength);
                x = hn::NegMulAdd(ci, im, x);
                y = hn::MulAdd(ci, re, y);
              }
            }
          }
        }
        hn::Store(x, d, p[o] + i);
        hn::Store(y, d, p[o] + kRowLength + i);
      }
    }
  }
}

template <class T, int R, int L>
void dense_small(T* tile, BlockRows b, const DenseStep<T>& step) {
  return step.real ? dense_small<T, R, L, true>(tile, b, step)
                   : dense_small<T, R, L, false>(tile, b, step);
}

template <class T>
void dense(T* tile, BlockRows b, const DenseStep<T>& step) {
  if (step.uniform && step.num_offsets == 1) {
    if (step.num_row_bits == 1) {
      return step.real ? dense_uniform<T, 1, true>(tile, b, step)
                       : dense_uniform<T, 1, false>(tile, b, step);
    }
    if (step.num_row_bits == 2) {
      return step.real ? dense_uniform<T, 2, true>(tile, b, step)
                       : dense_uniform<T, 2, false>(tile, b, step);
    }
  }
  if (!step.uniform) {
    switch (step.num_row_bits * 8 + step.num_offsets) {
      case 2:
        return dense_small<T, 0, 1>(tile, b, step);
      case 4:
        return dense_small<T, 0, 2>(tile, b, step);
      case 9:
        return dense_small<T, 1, 0>(tile, b, step);
      case 10:
        return dense_small<T, 1, 1>(tile, b, step);
      case 17:
        return dense_small<T, 2, 0>(tile, b, step);
      default:
        break;
    }
  }
  dense_general(tile, b, step);
}

template <class T>
void fill_dense(BlockKernels<T>& k) {
  k.dense = dense<T>;
}

void fill_dense_f32(BlockKernels<float>& k) { fill_dense(k); }
void fill_dense_f64(BlockKernels<double>& k) { fill_dense(k); }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::statevec::cpu {

HWY_EXPORT(fill_dense_f32);
HWY_EXPORT(fill_dense_f64);

void add_dense_kernels(BlockKernels<float>& k) { HWY_DYNAMIC_DISPATCH(fill_dense_f32)(k); }
void add_dense_kernels(BlockKernels<double>& k) { HWY_DYNAMIC_DISPATCH(fill_dense_f64)(k); }

}  // namespace tilewave::statevec::cpu
#endif  // HWY_ONCE
