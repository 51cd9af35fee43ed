// Matrices on one block of the CPU engine. Cost per amplitude: 4 multiply-adds an entry of a row,
// so 16 for a complex 4x4 matrix, 8 for one that has factors.
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

// A group is 2^U vectors of both components; with 2^L lane permutations of each they are the
// inputs.
template <class T, int U, int L, bool kReal>
void pair_of(T* tile, BlockRows b, const PairStep<T>& step) {
  const Tag<T> d;
  constexpr int kSize = 1 << U, kMasks = 1 << L, kInputs = kSize * kMasks;
  int row_bits[2] = {}, num_row_bits = 0, offset[kSize] = {};
  std::uint32_t row[kSize] = {}, low_mask = 0;
  for (int k = 0; k < U; ++k) {
    const bool low = step.upper[k] < kLowBits;
    if (low) {
      low_mask |= 1u << step.upper[k];
    } else {
      row_bits[num_row_bits++] = step.upper[k] - kLowBits;
    }
    for (int j = 0; j < kSize; ++j) {
      if (!(j >> k & 1)) continue;
      offset[j] |= low ? 1 << step.upper[k] : 0;
      row[j] |= low ? 0 : 1u << (step.upper[k] - kLowBits);
    }
  }
  const std::uint32_t low_control = step.control_mask & (kRowLength - 1),
                      low_value = step.control_value & (kRowLength - 1),
                      row_control = step.control_mask >> kLowBits,
                      row_value = step.control_value >> kLowBits;
  int starts[kVectors<T>], num_starts = 0;
  for (std::uint32_t i = 0; i < kRowLength; i += kLanes<T>) {
    if (!(i & low_mask) && (i & low_control) == low_value)
      starts[num_starts++] = static_cast<int>(i);
  }
  const auto index1 = lane_xor_indices<T>(L > 0 ? 1 << step.lane[0] : 0);
  const auto index2 = lane_xor_indices<T>(L > 1 ? 1 << step.lane[1] : 0);
  const T* HWY_RESTRICT c = step.coefficients.data();
  constexpr int kWidth = L > 0 ? kLanes<T> : 1;
  Vec<T> cr[kSize * kInputs], ci[kSize * kInputs];
  if constexpr (L > 0) {
    TW_UNROLL
    for (int e = 0; e < kSize * kInputs; ++e) {
      cr[e] = hn::LoadU(d, c + 2 * e * kWidth);
      ci[e] = hn::LoadU(d, c + (2 * e + 1) * kWidth);
    }
  }
  for (std::uint32_t g = 0; g < 1u << (b.num_bits - num_row_bits); ++g) {
    std::uint32_t base = g;
    for (int k = 0; k < num_row_bits; ++k) base = open_bit(base, row_bits[k]);
    if ((base & row_control) != row_value) continue;
    T* HWY_RESTRICT p[kSize];
    for (int j = 0; j < kSize; ++j) p[j] = row_at(tile, b, base | row[j]) + offset[j];
    for (int s = 0; s < num_starts; ++s) {
      const int i = starts[s];
      Vec<T> re[kInputs], im[kInputs];
      TW_UNROLL
      for (int j = 0; j < kSize; ++j) {
        re[j * kMasks] = hn::Load(d, p[j] + i);
        im[j * kMasks] = hn::Load(d, p[j] + kRowLength + i);
        if constexpr (L > 0) {
          re[j * kMasks + 1] = hn::TableLookupLanes(re[j * kMasks], index1);
          im[j * kMasks + 1] = hn::TableLookupLanes(im[j * kMasks], index1);
        }
        if constexpr (L > 1) {
          re[j * kMasks + 2] = hn::TableLookupLanes(re[j * kMasks], index2);
          im[j * kMasks + 2] = hn::TableLookupLanes(im[j * kMasks], index2);
          re[j * kMasks + 3] = hn::TableLookupLanes(re[j * kMasks + 1], index2);
          im[j * kMasks + 3] = hn::TableLookupLanes(im[j * kMasks + 1], index2);
        }
      }
      TW_UNROLL
      for (int o = 0; o < kSize; ++o) {
        auto x = hn::Zero(d), y = hn::Zero(d);
        TW_UNROLL
        for (int e = 0; e < kInputs; ++e) {
          const int at = o * kInputs + e;
          const auto r = L > 0 ? cr[at] : hn::Set(d, c[2 * at]);
          x = e == 0 ? hn::Mul(r, re[e]) : hn::MulAdd(r, re[e], x);
          y = e == 0 ? hn::Mul(r, im[e]) : hn::MulAdd(r, im[e], y);
          if (!kReal) {
            const auto q = L > 0 ? ci[at] : hn::Set(d, c[2 * at + 1]);
            x = hn::NegMulAdd(q, im[e], x);
            y = hn::MulAdd(q, re[e], y);
          }
        }
        hn::Store(x, d, p[o] + i);
        hn::Store(y, d, p[o] + kRowLength + i);
      }
    }
  }
}

template <class T, int U, int L>
void pair_of(T* tile, BlockRows b, const PairStep<T>& step) {
  return step.real ? pair_of<T, U, L, true>(tile, b, step) : pair_of<T, U, L, false>(tile, b, step);
}

template <class T>
void pair(T* tile, BlockRows b, const PairStep<T>& step) {
  switch (step.num_upper * 3 + step.num_lanes) {
    case 1:
      return pair_of<T, 0, 1>(tile, b, step);
    case 2:
      return pair_of<T, 0, 2>(tile, b, step);
    case 3:
      return pair_of<T, 1, 0>(tile, b, step);
    case 4:
      return pair_of<T, 1, 1>(tile, b, step);
    default:
      return pair_of<T, 2, 0>(tile, b, step);
  }
}

// The steps of FactoredStep on one group. kLane0, kLane1: whether bit 0 or bit 1 of the amplitudes'
// numbers is a lane bit; vectors are numbered by those that are not.
template <class T, bool kLane0, bool kLane1>
class Group {
 public:
  static constexpr int kVectors = 4 >> (kLane0 + kLane1);

  // Coefficients are read once: in the loop they would be read again after every store.
  HWY_INLINE explicit Group(const FactoredStep<T>& step)
      : index0_(lane_xor_indices<T>(kLane0 ? 1 << step.lane[0] : 0)),
        index1_(lane_xor_indices<T>(kLane1 ? 1 << step.lane[1] : 0)) {
    TW_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      first_[v] = coefficient(step.first, v);
      second_[v] = coefficient(step.second, v);
      tangent_[v] = coefficient(step.tangent, v);
      third_[v] = coefficient(step.third, v);
      weight_re_[v] = coefficient(step.weight_re, v);
      weight_im_[v] = coefficient(step.weight_im, v);
    }
  }

  HWY_INLINE void run(T* const* at, int i) const {
    const Tag<T> d;
    Vec<T> re[kVectors], im[kVectors];
    TW_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      re[v] = in_register(hn::Load(d, at[v] + i));
      im[v] = in_register(hn::Load(d, at[v] + kRowLength + i));
    }
    add<0, kBit1Set>(re, im, first_);
    add<1, kBit0Set>(re, im, second_);
    TW_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      if (!(kBit0Set >> v & 1)) continue;
      const auto x = re[v];
      re[v] = hn::NegMulAdd(tangent_[v], im[v], x);
      im[v] = hn::MulAdd(tangent_[v], x, im[v]);
    }
    add<0, kAll>(re, im, third_);
    TW_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      auto x = re[v], y = im[v];
      if (kVectors < 4 || v > 0) {  // that of amplitude 0 is 1
        x = hn::NegMulAdd(weight_im_[v], im[v], hn::Mul(weight_re_[v], re[v]));
        y = hn::MulAdd(weight_im_[v], re[v], hn::Mul(weight_re_[v], im[v]));
      }
      hn::Store(x, d, at[v] + i);
      hn::Store(y, d, at[v] + kRowLength + i);
    }
  }

 private:
  static constexpr unsigned kAll = (1u << kVectors) - 1;
  // Vectors of which some amplitudes have that bit; the two lanes of a bit are in one.
  static constexpr unsigned kBit0Set = kLane0   ? kAll
                                       : kLane1 ? 2
                                                : 10,
                            kBit1Set = kLane1   ? kAll
                                       : kLane0 ? 2
                                                : 12;

  HWY_INLINE static Vec<T> coefficient(const std::vector<T>& of, int v) {
    const Tag<T> d;
    if constexpr (kVectors == 4) {
      return hn::Set(d, of[v]);
    } else {
      return hn::LoadU(d, of.data() + v * kLanes<T>);
    }
  }

  // h[j] += c[j] * h[j ^ (1 << kBit)] in some vectors.
  template <int kBit, unsigned kOf>
  HWY_INLINE void add(Vec<T>* re, Vec<T>* im, const Vec<T>* c) const {
    constexpr bool kLane = kBit == 0 ? kLane0 : kLane1;
    constexpr int kOther = kBit == 1 && !kLane0 ? 2 : 1;  // between the numbers of vectors
    TW_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kLane) {
        if (!(kOf >> v & 1)) continue;
        const auto& index = kBit == 0 ? index0_ : index1_;
        re[v] = hn::MulAdd(c[v], hn::TableLookupLanes(re[v], index), re[v]);
        im[v] = hn::MulAdd(c[v], hn::TableLookupLanes(im[v], index), im[v]);
      } else {
        if ((v & kOther) || !(kOf >> (v | kOther) & 1)) continue;
        const auto x = re[v], y = im[v];
        re[v] = hn::MulAdd(c[v], re[v | kOther], x);
        im[v] = hn::MulAdd(c[v], im[v | kOther], y);
        re[v | kOther] = hn::MulAdd(c[v | kOther], x, re[v | kOther]);
        im[v | kOther] = hn::MulAdd(c[v | kOther], y, im[v | kOther]);
      }
    }
  }

  Vec<T> first_[kVectors], second_[kVectors], tangent_[kVectors], third_[kVectors],
      weight_re_[kVectors], weight_im_[kVectors];
  decltype(lane_xor_indices<T>(0)) index0_, index1_;
};

template <class T, bool kLane0, bool kLane1>
void factored_of(T* tile, BlockRows b, const FactoredStep<T>& step) {
  const Group<T, kLane0, kLane1> group(step);
  constexpr int kSize = Group<T, kLane0, kLane1>::kVectors;
  int row_bits[2] = {}, num_row_bits = 0;
  std::uint32_t low_mask = 0;
  for (int k = 0; k < step.num_upper; ++k) {
    if (step.upper[k] < kLowBits)
      low_mask |= 1u << step.upper[k];
    else
      row_bits[num_row_bits++] = step.upper[k] - kLowBits;
  }
  int starts[kVectors<T>], num_starts = 0;
  for (std::uint32_t i = 0; i < kRowLength; i += kLanes<T>) {
    if (!(i & low_mask)) starts[num_starts++] = static_cast<int>(i);
  }
  for (std::uint32_t g = 0; g < 1u << (b.num_bits - num_row_bits); ++g) {
    std::uint32_t base = g;
    for (int k = 0; k < num_row_bits; ++k) base = open_bit(base, row_bits[k]);
    T* at[kSize];
    for (int v = 0; v < kSize; ++v)
      at[v] = row_at(tile, b, base | step.vectors[v] >> kLowBits) +
              (step.vectors[v] & (kRowLength - 1));
    for (int s = 0; s < num_starts; ++s) group.run(at, starts[s]);
  }
}

template <class T>
void factored(T* tile, BlockRows b, const FactoredStep<T>& step) {
  if (step.num_upper == 2) return factored_of<T, false, false>(tile, b, step);
  return step.lane[0] < 0 ? factored_of<T, false, true>(tile, b, step)
                          : factored_of<T, true, false>(tile, b, step);
}

// Any matrix: the inputs of a row group are copied aside, outputs are sums of table * permuted
// input.
template <class T>
void dense(T* tile, BlockRows b, const DenseStep<T>& step) {
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

template <class T>
void fill_dense(BlockKernels<T>& k) {
  k.pair = pair<T>;
  k.factored = factored<T>;
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
