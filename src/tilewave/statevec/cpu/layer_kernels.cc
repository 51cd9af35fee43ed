// A layer on one block of the CPU engine: a phase block, then real lifts on any bits. Lifts are
// real, so real and imaginary parts go through the same code. Cost per amplitude: a lift 2
// multiply-adds (on a bit inside a vector also 2 lane permutations; by 1 additions; two by one
// t 2.5 and 2.5 additions), a phase block 8 (4 to build the factor, 4 to apply it). The phase with
// the lifts inside rows, and every four lifts on rows, load and store the block once. One loop for
// the phase and three rows with all their vectors in registers was faster on a block that stays in
// the first-level cache and slower in a pass, where blocks come from the second level.
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
HWY_INLINE void scale_row(const T* HWY_RESTRICT a, T re, T im, T* out) {
  const Tag<T> d;
  const auto br = hn::Set(d, re), bi = hn::Set(d, im);
  for (int i = 0; i < kRowLength; i += kLanes<T>) {
    const auto ar = hn::LoadU(d, a + i), ai = hn::LoadU(d, a + kRowLength + i);
    hn::StoreU(hn::NegMulAdd(ai, bi, hn::Mul(ar, br)), d, out + i);
    hn::StoreU(hn::MulAdd(ai, br, hn::Mul(ar, bi)), d, out + kRowLength + i);
  }
}

template <class T>
HWY_INLINE void multiply(Vec<T>& re, Vec<T>& im, Vec<T> fr, Vec<T> fi) {
  const auto x = re;
  re = hn::NegMulAdd(im, fi, hn::Mul(x, fr));
  im = hn::MulAdd(im, fr, hn::Mul(x, fi));
}

// Two lifts by one t on four vectors, divided by 1 + t^2. Sums and differences of opposite corners
// are enough:  d = x00 - x11 and u = x01 + x10 give  e = (t^2 d + t u) / (1 + t^2)  and
// f = (t d - t^2 u) / (1 + t^2),  and x00 - e, x01 + f, x10 + f, x11 + e are the results: 4
// multiply-adds and 6 additions for 8 multiply-adds, 5 and 5 as written.
template <class T>
struct PairedLifts {
  T a, b;

  explicit PairedLifts(T t) {
    const double square = static_cast<double>(t) * static_cast<double>(t);
    a = static_cast<T>(square / (1 + square));
    b = static_cast<T>(static_cast<double>(t) / (1 + square));
  }
  HWY_INLINE void operator()(Vec<T>& x00, Vec<T>& x01, Vec<T>& x10, Vec<T>& x11) const {
    const Tag<T> tag;
    const auto av = hn::Set(tag, a), bv = hn::Set(tag, b);
    const auto one = in_register(hn::Set(tag, T(1)));
    const auto d = hn::Sub(x00, x11), u = hn::Add(x01, x10);
    const auto e = hn::MulAdd(bv, u, hn::Mul(av, d)), f = hn::NegMulAdd(av, u, hn::Mul(bv, d));
    x00 = hn::NegMulAdd(one, e, x00);
    x01 = hn::Add(x01, f);
    x10 = hn::Add(x10, f);
    x11 = hn::Add(x11, e);
  }
};

// Lane l of the result is lane l ^ (1 << kBit): by a shuffle that needs no indices where there is
// one.
template <class T, int kBit>
HWY_INLINE Vec<T> lanes_exchanged(Vec<T> v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  constexpr std::size_t kBytes = sizeof(T) << kBit;
  if constexpr (kBytes == 4) return hn::Shuffle2301(v);
  if constexpr (kBytes == 8 && sizeof(T) == 4) return hn::Shuffle1032(v);
  if constexpr (kBytes == 8 && sizeof(T) == 8) return hn::Shuffle01(v);
  if constexpr (kBytes == 16) return hn::SwapAdjacentBlocks(v);
  if constexpr (kBytes == 32) return hn::ConcatLowerUpper(Tag<T>(), v, v);
#else
  return hn::TableLookupLanes(v, lane_xor_indices<T>(1 << kBit));
#endif
}

// Lifts on the bits inside a row, all 2 kVectors vectors of which are in v.
template <class T>
struct LowLifts {
  std::uint32_t mask, reflected = 0;
  const T* t;
  bool paired = false;
  PairedLifts<T> pair{T(0)};
  HWY_ALIGN T coefficients[4][kLanes<T>];  // bits inside a vector: of a lane's partner

  LowLifts() : mask(0), t(nullptr) {}
  explicit LowLifts(const LayerStep<T>& step)
      : mask(step.mask & ((1u << kLowBits) - 1)),
        reflected(step.reflected),
        t(step.t),
        paired(step.low_pair),
        pair(step.t[kPairBit]) {
    for (int l = 0; l < log2_of(kLanes<T>); ++l) {
      const T sign = reflected >> l & 1 ? T(-1) : T(1);
      for (int i = 0; i < kLanes<T>; ++i) coefficients[l][i] = ((i >> l & 1) ? t[l] : -t[l]) * sign;
    }
  }

  template <int kBit>
  HWY_INLINE void lift(Vec<T>* v) const {
    const Tag<T> d;
    constexpr int kLaneBits = log2_of(kLanes<T>), kN = 2 * kVectors<T>;
    if constexpr (kBit < kLaneBits) {
      if (!(mask >> kBit & 1)) return;
      const auto c = hn::Load(d, coefficients[kBit]);
      if (reflected >> kBit & 1) {
        TW_UNROLL
        for (int i = 0; i < kN; ++i) v[i] = hn::MulAdd(c, v[i], lanes_exchanged<T, kBit>(v[i]));
        return;
      }
      TW_UNROLL
      for (int i = 0; i < kN; ++i) v[i] = hn::MulAdd(c, lanes_exchanged<T, kBit>(v[i]), v[i]);
    } else if constexpr (kBit < kLowBits) {
      if (!(mask >> kBit & 1)) return;
      constexpr int kStride = 1 << (kBit - kLaneBits);
      const auto each_two = [v](auto lift_two) {
        TW_UNROLL
        for (int i = 0; i < kN / 2; ++i) {
          const int lo = ((i / kStride) * 2 * kStride) | (i % kStride);
          lift_two(v[lo], v[lo + kStride]);
        }
      };
      const auto tv = hn::Set(d, t[kBit]);
      if (reflected >> kBit & 1) {
        each_two([](Vec<T>& x, Vec<T>& y) {
          const auto difference = hn::Sub(x, y);
          x = hn::Add(x, y);
          y = difference;
        });
      } else if (t[kBit] == 1) {
        each_two([](Vec<T>& x, Vec<T>& y) {
          const auto sum = hn::Add(x, y);
          x = hn::Sub(x, y);
          y = sum;
        });
      } else {
        each_two([tv](Vec<T>& x, Vec<T>& y) {
          const auto sum = hn::MulAdd(tv, x, y);
          x = hn::NegMulAdd(tv, y, x);
          y = sum;
        });
      }
    }
  }
  HWY_INLINE void lift_pair(Vec<T>* v) const {
    constexpr int kN = 2 * kVectors<T>, kStride = (1 << kPairBit) / kLanes<T>;
    TW_UNROLL
    for (int i = 0; i < kN / 4; ++i) {
      Vec<T>* x = v + (((i / kStride) * 4 * kStride) | (i % kStride));
      pair(x[0], x[kStride], x[2 * kStride], x[3 * kStride]);
    }
  }
  HWY_INLINE void operator()(Vec<T>* v) const {
    lift<0>(v);
    lift<1>(v);
    lift<2>(v);
    lift<3>(v);
    if (paired) {
      lift_pair(v);
    } else {
      lift<4>(v);
      lift<5>(v);
    }
  }
};

// A link of the chain that a row goes through.
template <class T>
struct Link {
  const T* table = nullptr;
  std::uint64_t columns = 0;
  LowLifts<T> lifts;

  HWY_INLINE void operator()(Vec<T>* v) const {
    const Tag<T> d;
    constexpr int kN = kVectors<T>;
    constexpr std::uint64_t kColumns = (std::uint64_t{1} << (kLanes<T> & 63)) - 1;
    if (table) {
      TW_UNROLL
      for (int i = 0; i < kN; ++i) {
        if (!(columns >> i * kLanes<T> & kColumns)) continue;
        multiply<T>(v[i], v[kN + i], in_register(hn::Load(d, table + i * kLanes<T>)),
                    in_register(hn::Load(d, table + kRowLength + i * kLanes<T>)));
      }
    }
    if (lifts.mask) lifts(v);
  }
};

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

// The factors of a phase block, row by row. Rows in counting order: from number k-1 to k the bits
// below the lowest set bit t of k fall to zero and t rises, so the product of the tables above t is
// still there and one multiplication gives the next.
template <class T>
class RowFactors {
 public:
  RowFactors(const PhaseStep<T>* phase, int num_bits) : phase_(*phase), num_rows_(1u << num_bits) {
    for (int j = 0; j <= num_bits; ++j) product_[j] = phase_.root;
  }

  struct Factor {
    const T* table;  // null: 1
    bool scaled;     // and the scalar of the row is still to be multiplied
  };

  // Of row r, which is number k. Not inline: the caller's vectors stay in registers then.
  HWY_NOINLINE Factor of(std::uint32_t k, std::uint32_t r) {
    if (k) advance(static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(k)));
    const T* table = product_[0];
    const T* scalars = phase_.scalars;
    const bool scaled = scalars && (scalars[r] != 1 || scalars[num_rows_ + r] != 0);
    if (!scaled || !table || !phase_.scalar_class) return {table, scaled};
    const std::uint32_t c = phase_.scalar_class[r];
    if (!(made_ >> c & 1)) scale_row(table, scalars[r], scalars[num_rows_ + r], scaled_[c]);
    made_ |= 1u << c;
    return {scaled_[c], false};
  }

 private:
  void advance(int t) {
    const T* table = phase_.bit_tables[t];
    const T* above = product_[t + 1];
    if (table && above) {
      multiply_row(table, above, buffers_[t]);
      above = buffers_[t];
      made_ = 0;
    } else if (table) {
      above = table;
    }
    if (above != product_[0]) made_ = 0;
    for (int j = 0; j <= t; ++j) product_[j] = above;
  }

  const PhaseStep<T>& phase_;
  std::uint32_t num_rows_;
  std::uint32_t made_ = 0;                  // classes of scalars that are in scaled_
  const T* product_[kMaxRowBits + 1] = {};  // product_[j]: over the bits of the row from j up
  HWY_ALIGN T buffers_[kMaxRowBits][2 * kRowLength];
  HWY_ALIGN T scaled_[kScalarClasses][2 * kRowLength];  // product_[0] times a scalar
};

// The phase block, the lifts inside rows and the links, a row at a time.
template <class T, bool kPhase, bool kLinked>
void inside_rows(T* tile, BlockRows b, const PhaseStep<T>* phase, const LayerStep<T>& step,
                 std::span<const RowLink<T>> links) {
  const Tag<T> d;
  constexpr int kN = kVectors<T>;
  const LowLifts<T> lifts(step);
  Link<T> chain[kLinked ? kMaxLinks : 1];
  const std::size_t num_links = kLinked ? links.size() : 0;
  for (std::size_t l = 0; l < num_links; ++l)
    chain[l] = {links[l].table, links[l].columns, LowLifts<T>(*links[l].lifts)};
  struct None {
    None(const PhaseStep<T>*, int) {}
  };
  std::conditional_t<kPhase, RowFactors<T>, None> factors(phase, b.num_bits);
  const std::uint32_t num_rows = 1u << b.num_bits;
  for (std::uint32_t k = 0; k < num_rows; ++k) {
    std::uint32_t r = k;
    const T* factor = nullptr;
    bool scaled = false;
    if constexpr (kPhase) {
      if (phase->order) r = phase->order[k];
      const auto f = factors.of(k, r);
      factor = f.table;
      scaled = f.scaled;
      if (!factor && !scaled && !lifts.mask && !kLinked) continue;
    }
    T* HWY_RESTRICT p = row_at(tile, b, r);
    Vec<T> v[2 * kN];
    TW_UNROLL
    for (int i = 0; i < 2 * kN; ++i) v[i] = hn::Load(d, p + i * kLanes<T>);
    if (factor) {
      TW_UNROLL
      for (int i = 0; i < kN; ++i) {
        multiply<T>(v[i], v[kN + i], in_register(hn::Load(d, factor + i * kLanes<T>)),
                    in_register(hn::Load(d, factor + kRowLength + i * kLanes<T>)));
      }
    }
    if (scaled) {
      const auto re = hn::Set(d, phase->scalars[r]), im = hn::Set(d, phase->scalars[num_rows + r]);
      TW_UNROLL
      for (int i = 0; i < kN; ++i) multiply<T>(v[i], v[kN + i], re, im);
    }
    if (lifts.mask) lifts(v);
    if constexpr (kLinked) {
      for (std::size_t l = 0; l < num_links; ++l) chain[l](v);
    }
    TW_UNROLL
    for (int i = 0; i < 2 * kN; ++i) hn::Store(v[i], d, p + i * kLanes<T>);
  }
}

enum class Lifts {
  kAny,
  kUnit,  // all by 1 or -1: half of the multiply-adds are additions, for which some cores have
          // ports of their own
  kHadamard,
  kPaired,  // all by one t: two and two
};

// Lifts on R bits of the row number in one sweep, all by t > 0. A lift by -t is one by t with both
// rows exchanged.
template <class T, int R, Lifts kLifts>
void row_lifts_of(T* tile, BlockRows b, const int* bits, const T* lifts) {
  const Tag<T> d;
  constexpr int kRows = 1 << R;
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
      for (int j = 0; j < kRows; ++j) v[j] = in_register(hn::Load(d, p[j] + i));
      constexpr int kPaired = kLifts == Lifts::kPaired ? R / 2 * 2 : 0;  // bits
      TW_UNROLL
      for (int k = 0; k < kPaired; k += 2) {
        TW_UNROLL
        for (int j = 0; j < kRows / 4; ++j) {
          const int x = ((j >> k) << (k + 2)) | (j & ((1 << k) - 1)), low = 1 << k, high = 2 << k;
          pair(v[x], v[x | low], v[x | high], v[x | low | high]);
        }
      }
      TW_UNROLL
      for (int k = kPaired; k < R; ++k) {
        TW_UNROLL
        for (int j = 0; j < kRows / 2; ++j) {
          const int lo = ((j >> k) << (k + 1)) | (j & ((1 << k) - 1)), hi = lo | 1 << k;
          const auto x = v[lo], y = v[hi];
          const auto difference = hn::NegMulAdd(t[k], y, x);
          const auto sum = kLifts == Lifts::kUnit || kLifts == Lifts::kHadamard
                               ? hn::Add(x, y)
                               : hn::MulAdd(t[k], x, y);
          v[lo] = kLifts == Lifts::kHadamard ? sum : difference;
          v[hi] = kLifts == Lifts::kHadamard ? difference : sum;
        }
      }
      TW_UNROLL
      for (int j = 0; j < kRows; ++j) hn::Store(v[j], d, p[j] + i);
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

template <class T>
void run_layer(T* tile, BlockRows b, const LayerStep<T>& step, const PhaseStep<T>* phase,
               std::span<const RowLink<T>> links) {
  if (!links.empty()) {
    phase ? inside_rows<T, true, true>(tile, b, phase, step, links)
          : inside_rows<T, false, true>(tile, b, phase, step, links);
  } else if (phase) {
    inside_rows<T, true, false>(tile, b, phase, step, links);
  } else if (step.mask & ((1u << kLowBits) - 1)) {
    inside_rows<T, false, false>(tile, b, phase, step, links);
  }
  std::uint32_t left = step.mask >> kLowBits;
  while (left) {
    const int all = static_cast<int>(hwy::PopCount(left));
    const int count = all == 5 ? 3 : all > 4 ? 4 : all;
    int bits[4];
    T t[4];
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
