// Matrices on one block of the CPU engine. Cost per amplitude: 4 multiply-adds an entry of a row,
// so 16 for a complex 4x4 matrix, 7 or 8 for one that has factors.
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

// A lane bit of two vectors and the choice between them change places, `out` undoes it. The other
// lanes may be in another order meanwhile: with shuffles inside 128 bits this costs next to nothing
// beside multiply-adds (AMD EPYC Zen 5); across them they take the multiply-adds' ports.
template <class T, int kLane>
class LaneExchange;
template <class T>
class LaneExchange<T, -1> {};

#if HWY_TARGET != HWY_SCALAR
template <class T, int kLane>
class LaneExchange {
 public:
  HWY_INLINE LaneExchange() {
    if constexpr (kWay == kAny) {
      const Tag<T> d;
      HWY_ALIGN T upper[kLanes<T>];
      for (int l = 0; l < kLanes<T>; ++l) upper[l] = l >> kLane & 1 ? T(1) : T(0);
      upper_ = hn::Ne(hn::Load(d, upper), hn::Zero(d));
      lower_ = hn::Not(upper_);
    }
  }

  HWY_INLINE void in(Vec<T>& x, Vec<T>& y) const {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    if constexpr (kWay == kSingles) {
#if HWY_TARGET <= HWY_AVX3
      const Vec<T> even{_mm512_shuffle_ps(x.raw, y.raw, 0x88)};
      y = Vec<T>{_mm512_shuffle_ps(x.raw, y.raw, 0xdd)};
#else
      const Vec<T> even{_mm256_shuffle_ps(x.raw, y.raw, 0x88)};
      y = Vec<T>{_mm256_shuffle_ps(x.raw, y.raw, 0xdd)};
#endif
      x = even;
      return;
    }
#endif
    exchange(x, y);
  }

  HWY_INLINE void out(Vec<T>& x, Vec<T>& y) const {
    if constexpr (kWay == kSingles) {
      const Tag<T> d;
      const auto lower = hn::InterleaveLower(d, x, y);
      y = hn::InterleaveUpper(d, x, y);
      x = lower;
    } else {
      exchange(x, y);
    }
  }

 private:
  enum Way { kSingles, kDoubles, kHalves, kAny };
  static constexpr int kBytes = sizeof(T) << kLane;
  static constexpr Way kWay = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && kBytes == 4 ? kSingles
                              : kBytes == 8                                         ? kDoubles
                              : 2 << kLane == kLanes<T>                             ? kHalves
                                                                                    : kAny;

  HWY_INLINE void exchange(Vec<T>& x, Vec<T>& y) const {
    const Tag<T> d;
    const auto a = x, b = y;
    if constexpr (kWay == kDoubles) {
      const hn::Repartition<double, Tag<T>> pairs;
      const auto u = hn::BitCast(pairs, a), v = hn::BitCast(pairs, b);
      x = hn::BitCast(d, hn::InterleaveLower(pairs, u, v));
      y = hn::BitCast(d, hn::InterleaveUpper(pairs, u, v));
    } else if constexpr (kWay == kHalves) {
      x = hn::ConcatLowerLower(d, b, a);
      y = hn::ConcatUpperUpper(d, b, a);
    } else {
      x = merged(a, upper_, b);
      y = merged(b, lower_, a);
    }
  }

  // The lanes of `from` on the other side where the mask is set.
  HWY_INLINE Vec<T> merged(Vec<T> to, hn::Mask<Tag<T>> where, Vec<T> from) const {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if constexpr (sizeof(T) == 8) {
      return Vec<T>{_mm512_mask_permutexvar_pd(to.raw, where.raw, across_.raw, from.raw)};
    } else {
      return Vec<T>{_mm512_mask_permutexvar_ps(to.raw, where.raw, across_.raw, from.raw)};
    }
#else
    return hn::IfThenElse(where, hn::TableLookupLanes(from, across_), to);
#endif
  }

  decltype(lane_xor_indices<T>(0)) across_ = lane_xor_indices<T>(1 << kLane);
  hn::Mask<Tag<T>> upper_, lower_;
};
#endif

// The steps of FactoredStep on one group. kLane0, kLane1: where bit 0 or bit 1 of the amplitudes'
// numbers is a lane bit, this bit, otherwise -1. kUnit: bit v - 1 where the weight of amplitude v has the
// real part 1.
template <class T, int kLane0, int kLane1, int kUnit>
class Group {
 public:
  // Coefficients are read once: in the loop they would be read again after every store.
  HWY_INLINE explicit Group(const FactoredStep<T>& step) {
    const Tag<T> d;
    TW_UNROLL
    for (int v = 0; v < 4; ++v) {
      first_[v] = hn::Set(d, step.first[v]);
      second_[v] = hn::Set(d, step.second[v]);
      tangent_[v] = hn::Set(d, step.tangent[v]);
      third_[v] = hn::Set(d, step.third[v]);
      weight_re_[v] = hn::Set(d, step.weight_re[v]);
      weight_im_[v] = hn::Set(d, step.weight_im[v]);
    }
  }

  HWY_INLINE void run(T* const* at, std::size_t i) const {
    const Tag<T> d;
    Vec<T> re[4], im[4];
    TW_UNROLL
    for (int v = 0; v < 4; ++v) {
      re[v] = in_register(hn::Load(d, at[v] + i));
      im[v] = in_register(hn::Load(d, at[v] + kRowLength + i));
    }
    for (Vec<T>* const h : {re, im}) {
      if constexpr (kLane0 >= 0) exchange0_.in(h[0], h[1]), exchange0_.in(h[2], h[3]);
      if constexpr (kLane1 >= 0) exchange1_.in(h[0], h[2]), exchange1_.in(h[1], h[3]);
    }
    rotate<2, 3>(re, im, first_);
    rotate<1, 3>(re, im, second_);
    TW_UNROLL
    for (int v = 1; v < 4; v += 2) {
      const auto x = re[v];
      re[v] = hn::NegMulAdd(tangent_[v], im[v], x);
      im[v] = hn::MulAdd(tangent_[v], x, im[v]);
    }
    rotate<0, 1>(re, im, third_);
    rotate<2, 3>(re, im, third_);
    TW_UNROLL
    for (int v = 1; v < 4; ++v) {  // that of amplitude 0 is 1
      const bool unit = kUnit >> (v - 1) & 1;
      const auto x = re[v], y = im[v];
      re[v] = hn::NegMulAdd(weight_im_[v], y, unit ? x : hn::Mul(weight_re_[v], x));
      im[v] = hn::MulAdd(weight_im_[v], x, unit ? y : hn::Mul(weight_re_[v], y));
    }
    for (Vec<T>* const h : {re, im}) {
      if constexpr (kLane0 >= 0) exchange0_.out(h[0], h[1]), exchange0_.out(h[2], h[3]);
      if constexpr (kLane1 >= 0) exchange1_.out(h[0], h[2]), exchange1_.out(h[1], h[3]);
    }
    TW_UNROLL
    for (int v = 0; v < 4; ++v) {
      hn::Store(re[v], d, at[v] + i);
      hn::Store(im[v], d, at[v] + kRowLength + i);
    }
  }

 private:
  // h[I] += c[I] * h[J] and h[J] += c[J] * h[I] at once.
  template <int I, int J>
  HWY_INLINE void rotate(Vec<T>* re, Vec<T>* im, const Vec<T>* c) const {
    const auto x = re[I], y = im[I];
    re[I] = hn::MulAdd(c[I], re[J], x);
    im[I] = hn::MulAdd(c[I], im[J], y);
    re[J] = hn::MulAdd(c[J], x, re[J]);
    im[J] = hn::MulAdd(c[J], y, im[J]);
  }

  Vec<T> first_[4], second_[4], tangent_[4], third_[4], weight_re_[4], weight_im_[4];
  LaneExchange<T, kLane0> exchange0_;
  LaneExchange<T, kLane1> exchange1_;
};

template <class T, int kLane0, int kLane1, int kUnit>
void factored_of(T* tile, BlockRows b, const FactoredStep<T>& step) {
  const Group<T, kLane0, kLane1, kUnit> group(step);
  std::uint32_t row_mask = 0, low_mask = 0;
  for (const int upper : step.upper)
    (upper < kLowBits ? low_mask : row_mask) |= 1u << (upper < kLowBits ? upper : upper - kLowBits);
  std::size_t starts[kVectors<T>];
  int num_starts = 0;
  for (std::uint32_t i = 0; i < kRowLength; i += kLanes<T>) {
    if (!(i & low_mask)) starts[num_starts++] = i;
  }
  // places of rows are XOR-linear: the four vectors are as far apart in every group
  const auto place = [&](std::uint32_t row) {
    return static_cast<std::size_t>(b.rows[row]) << (kLowBits + 1);
  };
  std::size_t apart[4];
  for (int v = 0; v < 4; ++v)
    apart[v] = place(step.vectors[v] >> kLowBits) + (step.vectors[v] & (kRowLength - 1));
  const std::size_t outer = static_cast<std::size_t>(b.outer) << (kLowBits + 1);
  for (std::uint32_t row = 0; row < 1u << b.num_bits; row = ((row | row_mask) + 1) & ~row_mask) {
    const std::size_t first = place(row) ^ outer;
    T* at[4];
    for (int v = 0; v < 4; ++v) at[v] = in_register(tile + (first ^ apart[v]));
    for (int s = 0; s < num_starts; ++s) group.run(at, starts[s]);
  }
}

template <class T, int kLane0, int kLane1>
void factored_at(T* tile, BlockRows b, const FactoredStep<T>& step) {
  switch ((step.weight_re[1] == 1) + 2 * (step.weight_re[2] == 1)) {
    case 0:
      return factored_of<T, kLane0, kLane1, 0>(tile, b, step);
    case 1:
      return factored_of<T, kLane0, kLane1, 1>(tile, b, step);
    case 2:
      return factored_of<T, kLane0, kLane1, 2>(tile, b, step);
    default:
      return factored_of<T, kLane0, kLane1, 3>(tile, b, step);
  }
}

template <class T, int kLane>
void factored_lane(T* tile, BlockRows b, const FactoredStep<T>& step) {
  if constexpr (1 << kLane < kLanes<T>) {
    if (step.lane[0] == kLane) return factored_at<T, kLane, -1>(tile, b, step);
    if (step.lane[1] == kLane) return factored_at<T, -1, kLane>(tile, b, step);
    factored_lane<T, kLane + 1>(tile, b, step);
  }
}

template <class T>
void factored(T* tile, BlockRows b, const FactoredStep<T>& step) {
  if (step.lane[0] < 0 && step.lane[1] < 0) return factored_at<T, -1, -1>(tile, b, step);
  factored_lane<T, 0>(tile, b, step);
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
