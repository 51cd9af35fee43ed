// A sweep over the row number's bits: up to 2^3 rows, which differ in the bits that are lifted, are
// in registers, a vector of each at a time, while lifts and phases of rows follow each other. The
// parts of a radix-8 step of a Fourier transform. Cost per amplitude: a lift by 1 two additions,
// another lift two multiply-adds, a factor four.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/sweep_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' header comes after
#include "tilewave/statevec/cpu/block_kernels-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

// Factors of the rows of a group, and which of them are used.
template <class T, int R>
struct GroupFactors {
  std::uint32_t used = 0;
  T re[1 << R] = {}, im[1 << R] = {};

  // Of the rows whose numbers differ from `first` in bits kFrom to kTo - 1.
  template <int kFrom, int kTo>
  HWY_INLINE void apply(Vec<T>* v, int first) const {
    const Tag<T> d;
    constexpr int kRows = 1 << R;
    if (!used) return;
    TW_UNROLL
    for (int k = 0; k < 1 << (kTo - kFrom); ++k) {
      const int j = first | k << kFrom;
      if (!(used >> j & 1)) continue;
      const auto fr = hn::Set(d, re[j]), fi = hn::Set(d, im[j]);
      const auto x = v[j];
      v[j] = hn::NegMulAdd(v[kRows + j], fi, hn::Mul(x, fr));
      v[kRows + j] = hn::MulAdd(v[kRows + j], fr, hn::Mul(x, fi));
    }
  }
};

// Lift on bit K of the rows' numbers in their group, of both components of the rows whose numbers
// differ from `first` in bits kFrom to kTo - 1.
template <class T, int R, int K, bool kUnit, int kFrom, int kTo>
HWY_INLINE void lift(Vec<T>* v, int first, Vec<T> t, std::uint32_t reflected) {
  constexpr int kBit = K - kFrom, kPairs = 1 << (kTo - kFrom - 1);
  // of pair j, of both components
  const auto lower = [first](int j) {
    const int pair = j % kPairs, component = j / kPairs << R;
    return component | first |
           (((pair >> kBit) << (kBit + 1)) | (pair & ((1 << kBit) - 1))) << kFrom;
  };
  if (reflected >> K & 1) {
    TW_UNROLL
    for (int j = 0; j < 2 * kPairs; ++j) {
      const int lo = lower(j), hi = lo | 1 << K;
      const auto x = v[lo], y = v[hi];
      v[lo] = hn::Add(x, y);
      v[hi] = hn::Sub(x, y);
    }
    return;
  }
  TW_UNROLL
  for (int j = 0; j < 2 * kPairs; ++j) {
    const int lo = lower(j), hi = lo | 1 << K;
    const auto x = v[lo], y = v[hi];
    v[lo] = kUnit ? hn::Sub(x, y) : hn::NegMulAdd(t, y, x);
    v[hi] = kUnit ? hn::Add(x, y) : hn::MulAdd(t, x, y);
  }
}

// kUnit: all lifts are by 1 or -1. A lift by -t is one by t with both rows exchanged.
template <class T, int R, bool kUnit>
void sweep_of(T* tile, BlockRows b, const SweepStep<T>& step) {
  const Tag<T> d;
  constexpr int kRows = 1 << R;
  // With few registers the first lift comes pair by pair while rows are loaded, the others while
  // they are stored.
  constexpr bool kPairwise = kRegisters == 16 && R >= 2;
  constexpr int kFirst = kPairwise ? 1 : R, kThen = kPairwise ? 1 : 0;
  const std::uint32_t num_rows = 1u << b.num_bits;
  std::uint32_t exchanged = 0, row[kRows] = {};
  Vec<T> t[R];
  for (int k = 0; k < R; ++k) {
    exchanged |= (step.t[k] < 0) << k;
    t[k] = hn::Set(d, step.t[k] < 0 ? -step.t[k] : step.t[k]);
    for (int j = 0; j < kRows; ++j)
      row[j] |= ((j >> k & 1) != (step.t[k] < 0)) ? 1u << step.bits[k] : 0;
  }
  const auto used_of = [&](std::uint32_t used, const T* table) {
    std::uint32_t out = 0;
    for (int j = 0; table && j < kRows; ++j) out |= (used >> (j ^ exchanged) & 1) << j;
    return out;
  };
  GroupFactors<T, R> before, after[R];
  before.used = used_of(step.before_used, step.before);
  for (int k = 0; k < R; ++k) {
    after[k].used = used_of(step.after_used[k], step.after[k]);
    for (int j = 0; after[k].used && j < kRows; ++j) {
      after[k].re[j] = step.after[k][j ^ exchanged];
      after[k].im[j] = step.after[k][kRows + (j ^ exchanged)];
    }
  }
  int ascending[R];
  for (int k = 0; k < R; ++k) {
    int place = 0;
    for (int i = 0; i < R; ++i) place += step.bits[i] < step.bits[k];
    ascending[place] = step.bits[k];
  }
  for (std::uint32_t g = 0; g < num_rows >> R; ++g) {
    std::uint32_t base = g;
    for (int k = 0; k < R; ++k) base = open_bit(base, ascending[k]);
    T* HWY_RESTRICT p[kRows];
    TW_UNROLL
    for (int j = 0; j < kRows; ++j) {
      p[j] = row_at(tile, b, base | row[j]);
      if (!before.used) continue;
      before.re[j] = step.before[base | row[j]];
      before.im[j] = step.before[num_rows + (base | row[j])];
    }
    for (int i = 0; i < kRowLength; i += kLanes<T>) {
      Vec<T> v[2 * kRows];
      TW_UNROLL
      for (int h = 0; h < kRows >> kFirst; ++h) {
        const int first = h << kFirst;
        TW_UNROLL
        for (int x = 0; x < 1 << kFirst; ++x) {
          const int j = first | x;
          v[j] = in_register(hn::Load(d, p[j] + i));
          v[kRows + j] = in_register(hn::Load(d, p[j] + kRowLength + i));
        }
        before.template apply<0, kFirst>(v, first);
        lift<T, R, 0, kUnit, 0, kFirst>(v, first, t[0], step.reflected);
        after[0].template apply<0, kFirst>(v, first);
      }
      TW_UNROLL
      for (int h = 0; h < 1 << kThen; ++h) {
        if constexpr (R > 1) {
          lift<T, R, 1, kUnit, kThen, R>(v, h, t[1], step.reflected);
          after[1].template apply<kThen, R>(v, h);
        }
        if constexpr (R > 2) {
          lift<T, R, 2, kUnit, kThen, R>(v, h, t[2], step.reflected);
          after[2].template apply<kThen, R>(v, h);
        }
        TW_UNROLL
        for (int x = 0; x < kRows >> kThen; ++x) {
          const int j = h | x << kThen;
          hn::Store(v[j], d, p[j] + i);
          hn::Store(v[kRows + j], d, p[j] + kRowLength + i);
        }
      }
    }
  }
}

template <class T, bool kUnit>
void sweep(T* tile, BlockRows b, const SweepStep<T>& step) {
  switch (step.num_bits) {
    case 1:
      return sweep_of<T, 1, kUnit>(tile, b, step);
    case 2:
      return sweep_of<T, 2, kUnit>(tile, b, step);
    default:
      return sweep_of<T, 3, kUnit>(tile, b, step);
  }
}

template <class T>
void run_sweep(T* tile, BlockRows b, const SweepStep<T>& step) {
  bool unit = true;
  for (int k = 0; k < step.num_bits; ++k) unit &= step.t[k] == 1 || step.t[k] == -1;
  unit ? sweep<T, true>(tile, b, step) : sweep<T, false>(tile, b, step);
}

void fill_sweep_f32(BlockKernels<float>& k) { k.sweep = run_sweep<float>; }
void fill_sweep_f64(BlockKernels<double>& k) { k.sweep = run_sweep<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::statevec::cpu {

HWY_EXPORT(fill_sweep_f32);
HWY_EXPORT(fill_sweep_f64);

void add_sweep_kernels(BlockKernels<float>& k) { HWY_DYNAMIC_DISPATCH(fill_sweep_f32)(k); }
void add_sweep_kernels(BlockKernels<double>& k) { HWY_DYNAMIC_DISPATCH(fill_sweep_f64)(k); }

}  // namespace tilewave::statevec::cpu
#endif  // HWY_ONCE
