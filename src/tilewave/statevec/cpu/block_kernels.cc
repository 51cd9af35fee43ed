// Register kernels of the CPU engine, written once with Highway and compiled for every instruction
// set that is worth it; the best one is chosen at run time. All arithmetic of lifts is real: real
// and imaginary parts go through the same code. Cost per amplitude: a lift 2 multiply-adds, a phase
// 8 (4 to build the factor, 4 to apply it), a 4x4 matrix 16.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/block_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <type_traits>
#include <vector>

#include "tilewave/statevec/cpu/block.h"

#ifndef TW_UNROLL
#define TW_UNROLL _Pragma("GCC unroll 32")  // fully: the arrays of vectors then live in registers
#endif

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

template <class T>
constexpr int kLanes = HWY_LANES(T);
template <class T>
constexpr int kVectors = kRowLength / kLanes<T>;  // of one component of a row

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

template <class T>
HWY_INLINE T* row_at(T* tile, const BlockRows& b, std::uint32_t row) {
  return tile + (static_cast<std::size_t>(b.rows[row] ^ b.outer) << (kLowBits + 1));
}

HWY_INLINE std::uint32_t open_bit(std::uint32_t x, int k) {
  const std::uint32_t low = (1u << k) - 1;
  return ((x & ~low) << 1) | (x & low);
}

template <class T>
void load(const T* HWY_RESTRICT src, T* HWY_RESTRICT dst, std::size_t count) {
  const Tag<T> d;
  std::size_t i = 0;
  if constexpr (kLanes < T >> 1) {
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      Vec<T> re, im;
      hn::LoadInterleaved2(d, src + 2 * i, re, im);
      hn::StoreU(re, d, dst + i);
      hn::StoreU(im, d, dst + kRowLength + i);
    }
  }
  for (; i < count; ++i) {
    dst[i] = src[2 * i];
    dst[kRowLength + i] = src[2 * i + 1];
  }
}

template <class T>
void store(const T* HWY_RESTRICT src, T* HWY_RESTRICT dst, std::size_t count, T scale_re,
           T scale_im) {
  const Tag<T> d;
  const auto sr = hn::Set(d, scale_re), si = hn::Set(d, scale_im);
  std::size_t i = 0;
  if constexpr (kLanes < T >> 1) {
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      const auto re = hn::LoadU(d, src + i), im = hn::LoadU(d, src + kRowLength + i);
      if (scale_im == 0) {
        hn::StoreInterleaved2(hn::Mul(re, sr), hn::Mul(im, sr), d, dst + 2 * i);
      } else {
        hn::StoreInterleaved2(hn::NegMulAdd(im, si, hn::Mul(re, sr)),
                              hn::MulAdd(im, sr, hn::Mul(re, si)), d, dst + 2 * i);
      }
    }
  }
  for (; i < count; ++i) {
    const T re = src[i], im = src[kRowLength + i];
    dst[2 * i] = re * scale_re - im * scale_im;
    dst[2 * i + 1] = re * scale_im + im * scale_re;
  }
}

template <class T>
auto lane_xor_indices(int x) {
  using TI = hwy::MakeSigned<T>;
  const Tag<T> d;
  HWY_ALIGN TI index[kLanes<T>];
  for (int l = 0; l < kLanes<T>; ++l) index[l] = static_cast<TI>(l ^ x);
  return hn::SetTableIndices(d, index);
}

template <class T>
void low_lifts(T* tile, BlockRows b, const LowLifts<T>& step) {
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
void row_lifts_of(T* tile, BlockRows b, const RowLifts<T>& step) {
  const Tag<T> d;
  constexpr int kRows = 1 << R;
  Vec<T> t[R];
  for (int k = 0; k < R; ++k) t[k] = hn::Set(d, step.t[k]);
  const std::uint32_t groups = 1u << (b.num_bits - R);
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::uint32_t base = g;
    for (int k = 0; k < R; ++k) base = open_bit(base, step.bits[k]);
    T* HWY_RESTRICT p[kRows];
    for (int j = 0; j < kRows; ++j) {
      std::uint32_t row = base;
      for (int k = 0; k < R; ++k) row |= static_cast<std::uint32_t>(j >> k & 1) << step.bits[k];
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
void row_lifts(T* tile, BlockRows b, const RowLifts<T>& step) {
  switch (step.count) {
    case 1:
      row_lifts_of<T, 1>(tile, b, step);
      return;
    case 2:
      row_lifts_of<T, 2>(tile, b, step);
      return;
    default:
      row_lifts_of<T, 3>(tile, b, step);
      return;
  }
}

template <class T>
void row_flip(T* tile, BlockRows b, const RowFlip& step) {
  const Tag<T> d;
  for (std::uint32_t g = 0; g < 1u << (b.num_bits - 1); ++g) {
    const std::uint32_t row = open_bit(g, step.target);
    if ((row & step.control_mask) != step.control_value) continue;
    T* HWY_RESTRICT p = row_at(tile, b, row);
    T* HWY_RESTRICT q = row_at(tile, b, row | 1u << step.target);
    for (int i = 0; i < 2 * kRowLength; i += kLanes<T>) {
      const auto x = hn::Load(d, p + i), y = hn::Load(d, q + i);
      hn::Store(y, d, p + i);
      hn::Store(x, d, q + i);
    }
  }
}

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

template <class T>
void masked_flip(T* tile, BlockRows b, const MaskedFlip& step) {
  const Tag<T> d;
  constexpr int kN = kVectors<T>;
  HWY_ALIGN T select[kRowLength];
  for (std::uint32_t a = 0; a < kRowLength; ++a)
    select[a] = (a & step.low_mask) == step.low_value ? T(1) : T(0);
  const auto half = hn::Set(d, T(0.5));
  if (step.row_target >= 0) {
    for (std::uint32_t g = 0; g < 1u << (b.num_bits - 1); ++g) {
      const std::uint32_t row = open_bit(g, step.row_target);
      if ((row & step.control_mask) != step.control_value) continue;
      T* HWY_RESTRICT p = row_at(tile, b, row);
      T* HWY_RESTRICT q = row_at(tile, b, row | 1u << step.row_target);
      TW_UNROLL
      for (int i = 0; i < 2 * kN; ++i) {
        const auto mask = hn::Gt(hn::Load(d, select + i % kN * kLanes<T>), half);
        const auto x = hn::Load(d, p + i * kLanes<T>), y = hn::Load(d, q + i * kLanes<T>);
        hn::Store(hn::IfThenElse(mask, y, x), d, p + i * kLanes<T>);
        hn::Store(hn::IfThenElse(mask, x, y), d, q + i * kLanes<T>);
      }
    }
    return;
  }
  const int vector_offset = static_cast<int>(step.offset) & ~(kLanes<T> - 1);
  const auto index = lane_xor_indices<T>(static_cast<int>(step.offset) & (kLanes<T> - 1));
  const bool lanes = step.offset & (kLanes<T> - 1);
  HWY_ALIGN T in[kRowLength];
  for (std::uint32_t r = 0; r < 2u << b.num_bits; ++r) {
    if ((r >> 1 & step.control_mask) != step.control_value) continue;
    T* HWY_RESTRICT p = row_at(tile, b, r >> 1) + (r & 1) * kRowLength;
    if (vector_offset) {
      TW_UNROLL
      for (int i = 0; i < kN; ++i) hn::Store(hn::Load(d, p + i * kLanes<T>), d, in + i * kLanes<T>);
    }
    for (int i = 0; i < kRowLength; i += kLanes<T>) {
      const auto mask = hn::Gt(hn::Load(d, select + i), half);
      const auto x = hn::Load(d, p + i);
      auto y = vector_offset ? hn::Load(d, in + (i ^ vector_offset)) : x;
      if constexpr (kLanes < T >> 1) {
        if (lanes) y = hn::TableLookupLanes(y, index);
      }
      hn::Store(hn::IfThenElse(mask, y, x), d, p + i);
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
void phase(T* tile, BlockRows b, const PhaseStep<T>& step) {
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
void store_gathered(const T* HWY_RESTRICT tile, std::uint32_t place,
                    const std::int32_t* HWY_RESTRICT table, T* HWY_RESTRICT dst, std::size_t count,
                    T scale_re, T scale_im) {
  const Tag<T> d;
  using TI = hwy::MakeSigned<T>;
  const hn::Rebind<TI, Tag<T>> di;
  std::size_t x = 0;
  if constexpr (kLanes < T >> 1) {
    const auto sr = hn::Set(d, scale_re), si = hn::Set(d, scale_im);
    const auto base = hn::Set(di, static_cast<TI>(place));
    for (; x + kLanes<T> <= count; x += kLanes<T>) {
      hn::Vec<decltype(di)> index;
      if constexpr (sizeof(TI) == 4) {
        index = hn::LoadU(di, table + x);
      } else {
        const hn::Rebind<std::int32_t, Tag<T>> narrow;
        index = hn::PromoteTo(di, hn::LoadU(narrow, table + x));
      }
      index = hn::Xor(index, base);
      const auto re = hn::GatherIndex(d, tile, index),
                 im = hn::GatherIndex(d, tile + kRowLength, index);
      hn::StoreInterleaved2(hn::NegMulAdd(im, si, hn::Mul(re, sr)),
                            hn::MulAdd(im, sr, hn::Mul(re, si)), d, dst + 2 * x);
    }
  }
  for (; x < count; ++x) {
    const T* from = tile + (place ^ static_cast<std::uint32_t>(table[x]));
    const T re = from[0], im = from[kRowLength];
    dst[2 * x] = re * scale_re - im * scale_im;
    dst[2 * x + 1] = re * scale_im + im * scale_re;
  }
}

template <class T>
BlockKernels<T> make_kernels() {
  return {hwy::TargetName(HWY_TARGET),
          load<T>,
          store<T>,
          low_lifts<T>,
          row_lifts<T>,
          row_flip<T>,
          masked_flip<T>,
          dense<T>,
          phase<T>,
          store_gathered<T>};
}

BlockKernels<float> kernels_f32() { return make_kernels<float>(); }
BlockKernels<double> kernels_f64() { return make_kernels<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::statevec::cpu {

HWY_EXPORT(kernels_f32);
HWY_EXPORT(kernels_f64);

const BlockKernels<float>& block_kernels(float) {
  static const BlockKernels<float> kernels = HWY_DYNAMIC_DISPATCH(kernels_f32)();
  return kernels;
}

const BlockKernels<double>& block_kernels(double) {
  static const BlockKernels<double> kernels = HWY_DYNAMIC_DISPATCH(kernels_f64)();
  return kernels;
}

}  // namespace tilewave::statevec::cpu
#endif  // HWY_ONCE
