// A layer on one block of the CPU engine: a phase block, then real lifts on any bits. Lifts are
// real, so real and imaginary parts go through the same code. Cost per amplitude: a lift 2
// multiply-adds (on a bit inside a vector also 2 lane permutations; by 1 additions; two by one
// t 2 and 3 additions; weighted one and an addition), a phase block 8 (4 to build the factor, 4
// to apply it). The phase with the lifts inside rows (twice where a row does not fit the
// registers), and every four lifts on rows, load and store the block once. One loop for the phase
// and three rows with all their vectors in registers was faster on a block that stays in the
// first-level cache and slower in a pass, where blocks come from the second level.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/layer_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' header comes after
#include "tilewave/statevec/cpu/block_kernels-inl.h"
#include "tilewave/statevec/cpu/row_factors-inl.h"
#include "tilewave/statevec/cpu/row_lifts-inl.h"
#include "tilewave/statevec/cpu/row_parts-inl.h"
// clang-format on

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

// A table of linear phases, doubled bit by bit.
template <class T>
void linear_phases(const LinearPhases<T>& p, int num_bits, const T* times, T* HWY_RESTRICT out) {
  const Tag<T> d;
  constexpr std::uint32_t kN = kLanes<T>;
  constexpr int kLaneBits = log2_of(kLanes<T>);
  const std::uint32_t count = 1u << num_bits;
  T* re = out;
  T* im = out + count;
  if (count < kN) {
    re[0] = p.scale.re, im[0] = p.scale.im;
    for (int j = 0; j < num_bits; ++j) {
      const Complex<T> z = p.used >> j & 1 ? p.z[j] : Complex<T>{1, 0};
      for (std::uint32_t x = 0; x < 1u << j; ++x) {
        const Complex<T> product = Complex<T>{re[x], im[x]} * z;
        re[(1u << j) + x] = product.re, im[(1u << j) + x] = product.im;
      }
    }
    for (std::uint32_t x = 0; times && x < count; ++x) {
      const Complex<T> product = Complex<T>{re[x], im[x]} * Complex<T>{times[x], times[count + x]};
      re[x] = product.re, im[x] = product.im;
    }
    return;
  }
  auto first_re = hn::Set(d, p.scale.re), first_im = hn::Set(d, p.scale.im);
  const hn::RebindToUnsigned<Tag<T>> du;
  using TU = hn::TFromD<decltype(du)>;
  const auto lane = hn::Iota(du, 0);
  for (int j = 0; j < kLaneBits; ++j) {
    if (!(p.used >> j & 1)) continue;
    const auto mine = hn::RebindMask(d, hn::TestBit(lane, hn::Set(du, static_cast<TU>(1u << j))));
    multiply<T>(first_re, first_im, hn::IfThenElse(mine, hn::Set(d, p.z[j].re), hn::Set(d, T(1))),
                hn::IfThenElseZero(mine, hn::Set(d, p.z[j].im)));
  }
  hn::StoreU(first_re, d, re);
  hn::StoreU(first_im, d, im);
  for (int j = kLaneBits; j < num_bits; ++j) {
    const bool used = p.used >> j & 1;
    const auto zr = hn::Set(d, p.z[j].re), zi = hn::Set(d, p.z[j].im);
    for (std::uint32_t x = 0; x < 1u << j; x += kN) {
      auto a = hn::LoadU(d, re + x), b = hn::LoadU(d, im + x);
      if (used) multiply<T>(a, b, zr, zi);
      hn::StoreU(a, d, re + (1u << j) + x);
      hn::StoreU(b, d, im + (1u << j) + x);
    }
  }
  for (std::uint32_t x = 0; times && x < count; x += kN) {
    auto a = hn::LoadU(d, re + x), b = hn::LoadU(d, im + x);
    multiply<T>(a, b, hn::LoadU(d, times + x), hn::LoadU(d, times + count + x));
    hn::StoreU(a, d, re + x);
    hn::StoreU(b, d, im + x);
  }
}

// Row r, times its factor. scalars: of num_rows rows.
template <class T>
HWY_INLINE void load_row(const T* HWY_RESTRICT p, RowFactor<T> factor, const T* scalars,
                         std::uint32_t num_rows, std::uint32_t r, Vec<T>* v) {
  const Tag<T> d;
  constexpr int kN = kVectors<T>;
  TW_UNROLL
  for (int i = 0; i < 2 * kN; ++i) v[i] = hn::Load(d, p + i * kLanes<T>);
  if (factor.table) {
    TW_UNROLL
    for (int i = 0; i < kN; ++i) {
      multiply<T>(v[i], v[kN + i], in_register(hn::Load(d, factor.table + i * kLanes<T>)),
                  in_register(hn::Load(d, factor.table + kRowLength + i * kLanes<T>)));
    }
  }
  if (factor.scaled) {
    const auto re = hn::Set(d, scalars[r]), im = hn::Set(d, scalars[num_rows + r]);
    TW_UNROLL
    for (int i = 0; i < kN; ++i) multiply<T>(v[i], v[kN + i], re, im);
  }
}

template <class T>
HWY_INLINE void store_row(const Vec<T>* v, T* HWY_RESTRICT p) {
  TW_UNROLL
  for (int i = 0; i < 2 * kVectors<T>; ++i) hn::Store(v[i], Tag<T>(), p + i * kLanes<T>);
}

// In the place of what is not needed.
struct None {
  template <class... Any>
  explicit None(const Any&...) {}
};

// The phase block, the lifts inside rows and the links, one row at a time.
template <class T, bool kPhase, bool kWeighs, bool kLinked>
void inside_rows(T* tile, BlockRows b, const PhaseStep<T>* phase, const LayerStep<T>& step,
                 std::span<const RowLink<T>> links) {
  constexpr int kN = 2 * kVectors<T>;
  const LowLifts<T, kWeighs> lifts(step);
  Link<T, kWeighs> chain[kLinked ? kMaxLinks : 1];
  const std::size_t num_links = kLinked ? links.size() : 0;
  for (std::size_t l = 0; l < num_links; ++l)
    chain[l] = {links[l].table, links[l].columns, LowLifts<T, kWeighs>(*links[l].lifts)};
  std::conditional_t<kPhase, RowFactors<T>, None> factors(phase, b.num_bits);
  RowFactor<T> factor;
  const T* scalars = kPhase ? phase->scalars : nullptr;
  const std::uint32_t num_rows = 1u << b.num_bits;
  // Links change few columns each, between lifts on one bit: rows with them go as a whole.
  constexpr bool kParts = !kWholeRows<T> && !kLinked;
  std::conditional_t<kParts, RowParts<T, kWeighs>, None> parts(lifts);
  for (std::uint32_t k = 0, end = num_rows, run = 0; k < num_rows; k = end) {
    if constexpr (kPhase) {
      end = k + phase->runs[run++];
      factor = factors.of(k);
      if (!factor.table && !factor.scaled && !lifts.mask && !kLinked) continue;
    }
    for (std::uint32_t j = k; j < end; ++j) {
      const std::uint32_t r = kPhase ? phase->order[j] : j;
      T* const p = row_at(tile, b, r);
      if constexpr (kParts) {
        RowProduct<T> product{factor.table, factor.scaled};
        if (factor.scaled) product.re = scalars[r], product.im = scalars[num_rows + r];
        parts.start(p, product);
        continue;
      }
      Vec<T> v[kN];
      load_row<T>(p, factor, scalars, num_rows, r, v);
      if (lifts.mask) lifts.run(v);
      if constexpr (kLinked) {
        for (std::size_t l = 0; l < num_links; ++l) chain[l].run(v);
      }
      store_row<T>(v, p);
    }
  }
  if constexpr (kParts) parts.finish();
}

template <class T, bool kPhase, bool kWeighs>
void inside_linked(T* tile, BlockRows b, const PhaseStep<T>* phase, const LayerStep<T>& step,
                   std::span<const RowLink<T>> links) {
  links.empty() ? inside_rows<T, kPhase, kWeighs, false>(tile, b, phase, step, links)
                : inside_rows<T, kPhase, kWeighs, true>(tile, b, phase, step, links);
}

// Lifts are weighted after phases only.
template <class T>
void inside(T* tile, BlockRows b, const PhaseStep<T>* phase, const LayerStep<T>& step,
            std::span<const RowLink<T>> links) {
  bool weighs = step.weighted != 0;
  for (const RowLink<T>& link : links) weighs |= link.lifts->weighted != 0;
  if (phase) {
    weighs ? inside_linked<T, true, true>(tile, b, phase, step, links)
           : inside_linked<T, true, false>(tile, b, phase, step, links);
  } else if (!links.empty() || (step.mask & ((1u << kLowBits) - 1))) {
    inside_linked<T, false, false>(tile, b, phase, step, links);
  }
}

enum class Lifts {
  kAny,
  kUnit,  // all by 1 or -1: half of the multiply-adds are additions, for which some cores have
          // ports of their own
  kHadamard,
  kPaired,  // all by one t: two and two
};

// Lifts on bits kFrom to kTo - 1 of the numbers of vectors, of those that differ from `first` in
// them.
template <class T, Lifts kLifts, int kFrom, int kTo>
HWY_INLINE void lift_vectors(Vec<T>* v, int first, const Vec<T>* t, const PairedLifts<T>& pair) {
  constexpr int kBits = kTo - kFrom, kCount = 1 << kBits;
  constexpr int kPaired = kLifts == Lifts::kPaired ? kBits / 2 * 2 : 0;  // bits
  TW_UNROLL
  for (int k = 0; k < kPaired; k += 2) {
    TW_UNROLL
    for (int j = 0; j < kCount / 4; ++j) {
      const int x = first | (((j >> k) << (k + 2)) | (j & ((1 << k) - 1))) << kFrom;
      const int low = 1 << (kFrom + k), high = 2 << (kFrom + k);
      pair(v[x], v[x | low], v[x | high], v[x | low | high]);
    }
  }
  TW_UNROLL
  for (int k = kPaired; k < kBits; ++k) {
    TW_UNROLL
    for (int j = 0; j < kCount / 2; ++j) {
      const int lo = first | (((j >> k) << (k + 1)) | (j & ((1 << k) - 1))) << kFrom,
                hi = lo | 1 << (kFrom + k);
      const auto x = v[lo], y = v[hi];
      const auto difference = hn::NegMulAdd(t[kFrom + k], y, x);
      const auto sum = kLifts == Lifts::kUnit || kLifts == Lifts::kHadamard
                           ? hn::Add(x, y)
                           : hn::MulAdd(t[kFrom + k], x, y);
      v[lo] = kLifts == Lifts::kHadamard ? sum : difference;
      v[hi] = kLifts == Lifts::kHadamard ? difference : sum;
    }
  }
}

// Lifts on R bits of the row number in one sweep, all by t > 0. A lift by -t is one by t with both
// rows exchanged.
template <class T, int R, Lifts kLifts>
void row_lifts_of(T* tile, BlockRows b, const int* bits, const T* lifts) {
  const Tag<T> d;
  constexpr int kRows = 1 << R;
  // With few registers two bits while vectors are loaded, the others while they are stored.
  constexpr int kFirst = kRegisters == 16 && R > 2 ? 2 : R;
  Vec<T> t[R];
  std::uint32_t place[kRows];
  for (int k = 0; k < R; ++k) t[k] = hn::Set(d, lifts[k] < 0 ? -lifts[k] : lifts[k]);
  for (int j = 0; j < kRows; ++j) {
    place[j] = b.outer;
    for (int k = 0; k < R; ++k)
      place[j] ^= ((j >> k & 1) != (lifts[k] < 0)) ? b.rows[1u << bits[k]] : 0;
  }
  const PairedLifts<T> pair(lifts[0] < 0 ? -lifts[0] : lifts[0]);
  const std::uint32_t groups = 1u << (b.num_bits - R);
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::uint32_t base = g;
    for (int k = 0; k < R; ++k) base = open_bit(base, bits[k]);
    base = b.rows[base];
    T* HWY_RESTRICT p[kRows];
    TW_UNROLL
    for (int j = 0; j < kRows; ++j)
      p[j] = in_register(tile + (static_cast<std::size_t>(base ^ place[j]) << (kLowBits + 1)));
    for (int i = 0; i < 2 * kRowLength; i += kLanes<T>) {
      Vec<T> v[kRows];
      TW_UNROLL
      for (int h = 0; h < kRows >> kFirst; ++h) {
        TW_UNROLL
        for (int x = 0; x < 1 << kFirst; ++x) {
          const int j = h << kFirst | x;
          v[j] = in_register(hn::Load(d, p[j] + i));
        }
        lift_vectors<T, kLifts, 0, kFirst>(v, h << kFirst, t, pair);
      }
      TW_UNROLL
      for (int h = 0; h < 1 << kFirst; ++h) {
        if constexpr (kFirst < R) lift_vectors<T, kLifts, kFirst, R>(v, h, t, pair);
        TW_UNROLL
        for (int j = h; j < kRows; j += 1 << kFirst) hn::Store(v[j], d, p[j] + i);
      }
    }
  }
}

template <class T, Lifts kLifts>
void row_lifts(T* tile, BlockRows b, int count, const int* bits, const T* t) {
  switch (count) {
    case 1:
      return row_lifts_of<T, 1, kLifts>(tile, b, bits, t);
    case 2:
      return row_lifts_of<T, 2, kLifts>(tile, b, bits, t);
    case 3:
      return row_lifts_of<T, 3, kLifts>(tile, b, bits, t);
    default:
      return row_lifts_of<T, 4, kLifts>(tile, b, bits, t);
  }
}

// How many of so many lifts on rows are done first. With few registers twice three take less than
// four and two, but of those in pairs one at most may be left over.
constexpr int lifts_of_sweep(int all, bool paired) {
  constexpr int kMost = kMostRowLifts;
  if (kRegisters == 16 && all == kMost + 2 && !paired) return 3;
  return all == kMost + 1 ? 3 : all > kMost ? kMost : all;
}

template <class T>
void run_layer(T* tile, BlockRows b, const LayerStep<T>& step, const PhaseStep<T>* phase,
               std::span<const RowLink<T>> links) {
  std::uint32_t left = step.mask >> kLowBits;
  inside<T>(tile, b, phase, step, links);
  while (left) {
    const int count = lifts_of_sweep(static_cast<int>(hwy::PopCount(left)), step.row_pairs);
    int bits[kMostRowLifts];
    T t[kMostRowLifts];
    bool unit = true;
    for (int j = 0; j < count; ++j) {
      bits[j] = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(left));
      t[j] = step.t[kLowBits + bits[j]];
      unit &= t[j] == 1 || t[j] == -1;
      left &= left - 1;
    }
    if (step.reflected >> kLowBits) {
      row_lifts<T, Lifts::kHadamard>(tile, b, count, bits, t);
    } else if (step.row_pairs) {
      row_lifts<T, Lifts::kPaired>(tile, b, count, bits, t);
    } else if (unit) {
      row_lifts<T, Lifts::kUnit>(tile, b, count, bits, t);
    } else {
      row_lifts<T, Lifts::kAny>(tile, b, count, bits, t);
    }
  }
}

template <class T>
void fill_layer(BlockKernels<T>& k) {
  k.layer = run_layer<T>;
  k.linear_phases = linear_phases<T>;
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
