// Movement of amplitudes between the state and a tile, and permutations inside a block, written
// once with Highway and compiled for every instruction set that is worth it; the best one is chosen
// at run time.
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/block_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' header comes after
#include "tilewave/statevec/cpu/block_kernels-inl.h"
#include "tilewave/statevec/cpu/chunk_stores-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

template <class T, bool kRow>
constexpr bool kHasTail = !kRow || kLanes<T> == 1;

template <class T, bool kRow>
HWY_INLINE void load_chunk(const T* HWY_RESTRICT src, T* HWY_RESTRICT dst, std::size_t count) {
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
  for (; kHasTail<T, kRow> && i < count; ++i) {
    dst[i] = src[2 * i];
    dst[kRowLength + i] = src[2 * i + 1];
  }
}

template <class T, bool kRow>
HWY_INLINE void store_chunk(const T* HWY_RESTRICT src, T* HWY_RESTRICT dst, std::size_t count,
                            T scale_re, T scale_im) {
  const Tag<T> d;
  const auto sr = hn::Set(d, scale_re), si = hn::Set(d, scale_im);
  std::size_t i = 0;
  if constexpr (kLanes < T >> 1) {
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      const auto re = hn::LoadU(d, src + i), im = hn::LoadU(d, src + kRowLength + i);
      if (scale_im == 0) {
        store_interleaved<T>(hn::Mul(re, sr), hn::Mul(im, sr), d, dst + 2 * i);
      } else {
        store_interleaved<T>(hn::NegMulAdd(im, si, hn::Mul(re, sr)),
                             hn::MulAdd(im, sr, hn::Mul(re, si)), d, dst + 2 * i);
      }
    }
  }
  for (; kHasTail<T, kRow> && i < count; ++i) {
    const T re = src[i], im = src[kRowLength + i];
    dst[2 * i] = re * scale_re - im * scale_im;
    dst[2 * i + 1] = re * scale_im + im * scale_re;
  }
}

template <class T, bool kRow>
void load_all(const T* HWY_RESTRICT state, T* HWY_RESTRICT tile, const Chunks& c,
              const Chunks& next) {
  const std::size_t size = std::size_t{1} << (kRow ? kRowChunkBits<T> : c.bits);
  for (std::size_t k = 0; k < c.count; ++k) {
    ask_before_load(state, c, next, k, 2 * size * sizeof(T));
    load_chunk<T, kRow>(state + 2 * (c.base ^ c.offset[k]), tile + (c.place[k] ^ c.shift), size);
  }
}

template <class T>
void load(const T* state, T* tile, const Chunks& chunks, const Chunks& next) {
  return chunks.bits == kRowChunkBits<T> ? load_all<T, true>(state, tile, chunks, next)
                                         : load_all<T, false>(state, tile, chunks, next);
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

template <class T, bool kRow>
HWY_INLINE void store_gathered_chunk(const T* HWY_RESTRICT tile, std::uint32_t place,
                                     const std::int32_t* HWY_RESTRICT table, T* HWY_RESTRICT dst,
                                     std::size_t count, T scale_re, T scale_im) {
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
      store_interleaved<T>(hn::NegMulAdd(im, si, hn::Mul(re, sr)),
                           hn::MulAdd(im, sr, hn::Mul(re, si)), d, dst + 2 * x);
    }
  }
  for (; kHasTail<T, kRow> && x < count; ++x) {
    const T* from = tile + (place ^ static_cast<std::uint32_t>(table[x]));
    const T re = from[0], im = from[kRowLength];
    dst[2 * x] = re * scale_re - im * scale_im;
    dst[2 * x + 1] = re * scale_im + im * scale_re;
  }
}

/// Asks for the next tile, to be read: asked for as to be written it takes a fifth longer to load
/// (AMD EPYC Zen 4).
template <bool kRow, class T, class Store>
HWY_INLINE void store_all(const Chunks& c, T* state, const Chunks& next, Store store_one) {
  const std::size_t bytes = kRow ? kRowBytes<T> : (std::size_t{2} << c.bits) * sizeof(T);
  for (std::size_t k = 0; k < c.count; ++k) {
    ask_for_next<false>(state, next, k, bytes);
    store_one(c.place[k] ^ c.shift, state + 2 * (c.base ^ c.offset[k]));
  }
}

template <int M, class T>
HWY_INLINE void store_transposed(const ChunkTranspose<T>& transpose, const T* tile, T* state,
                                 const Chunks& c, const Chunks& next, Vec<T> re, Vec<T> im) {
  if constexpr (M <= ChunkTranspose<T>::kMost) {
    if (transpose.num_exchanges() == M) {
      transpose.template store<M>(tile, state, c, next, re, im);
    } else {
      store_transposed<M + 1>(transpose, tile, state, c, next, re, im);
    }
  }
}

template <class T, bool kRow>
HWY_INLINE void store_sized(const T* tile, T* state, const Chunks& c, const Chunks& next,
                            T scale_re, T scale_im) {
  const std::size_t size = std::size_t{1} << (kRow ? kRowChunkBits<T> : c.bits);
  if (!c.table) {
    store_all<kRow>(c, state, next, [&](std::uint32_t from, T* to) {
      store_chunk<T, kRow>(tile + from, to, size, scale_re, scale_im);
    });
    return;
  }
  if constexpr (kRow && kLanes < T >> 1) {
    const auto re = hn::Set(Tag<T>(), scale_re), im = hn::Set(Tag<T>(), scale_im);
    static thread_local StoreWay<T> way;
    way.enter(c);
    switch (way.kind) {
      case StoreKind::kTranspose:
        store_transposed<1>(way.transpose, tile, state, c, next, re, im);
        return;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
      case StoreKind::kPairs:
        way.pairs.store_all(tile, state, c, next, re, im);
        return;
#endif
      case StoreKind::kShuffle:
        store_all<kRow>(c, state, next, [&](std::uint32_t from, T* to) {
          way.shuffle.store(tile, from, to, re, im);
        });
        return;
      default:
        break;
    }
  }
  store_all<kRow>(c, state, next, [&](std::uint32_t from, T* to) {
    store_gathered_chunk<T, kRow>(tile, from, c.table, to, size, scale_re, scale_im);
  });
}

template <class T>
void store(const T* tile, T* state, const Chunks& chunks, const Chunks& next, T scale_re,
           T scale_im) {
  return chunks.bits == kRowChunkBits<T>
             ? store_sized<T, true>(tile, state, chunks, next, scale_re, scale_im)
             : store_sized<T, false>(tile, state, chunks, next, scale_re, scale_im);
}

// The slices of cycles in the order in which they are moved.
template <class T>
class RowWalk {
 public:
  explicit RowWalk(const RowCycles& cycles)
      : c_(cycles), offset_(cycles.offset), slice_(cycles.first_slice) {}

  bool at_end() const { return base_ == c_.num_bases; }
  std::uint64_t place() const {
    return c_.base[base_] ^ offset_[row_] ^ std::uint64_t{slice_} << kRowChunkBits<T>;
  }
  HWY_INLINE void next() {
    if (++row_ < c_.length[cycle_]) return;
    row_ = 0;
    if (++slice_ < c_.first_slice + c_.num_slices) return;
    slice_ = c_.first_slice;
    offset_ += c_.length[cycle_];
    if (++cycle_ < c_.count) return;
    cycle_ = 0;
    offset_ = c_.offset;
    ++base_;
  }

 private:
  const RowCycles& c_;
  const std::uint64_t* offset_;
  std::size_t base_ = 0, cycle_ = 0;
  std::uint32_t slice_, row_ = 0;
};

/// Slices are asked for this many before they are read.
constexpr int kSlicesAhead = 40;

template <class T>
void move_rows(T* state, const RowCycles& cycles, T scale) {
  const Tag<T> d;
  constexpr int kElements = 2 << kRowChunkBits<T>, kN = kElements / kLanes<T>;
  const auto sv = hn::Set(d, scale);
  RowWalk<T> ahead(cycles);
  const auto ask = [&] {
    if (ahead.at_end()) return;
    ask_for<2>(state + 2 * ahead.place(), kRowBytes<T>);
    ahead.next();
  };
  for (int k = 0; k < kSlicesAhead; ++k) ask();
  for (std::size_t b = 0; b < cycles.num_bases; ++b) {
    const std::uint64_t* offset = cycles.offset;
    for (std::size_t c = 0; c < cycles.count; offset += cycles.length[c], ++c) {
      for (std::uint32_t s = 0; s < cycles.num_slices; ++s) {
        const std::uint64_t slice = std::uint64_t{cycles.first_slice + s} << kRowChunkBits<T>;
        const auto row = [&](std::uint32_t j) {
          return state + 2 * (cycles.base[b] ^ offset[j] ^ slice);
        };
        T* to = row(0);
        Vec<T> first[kN];
        TW_UNROLL
        for (int i = 0; i < kN; ++i) first[i] = hn::Load(d, to + i * kLanes<T>);
        for (std::uint32_t j = 1; j < cycles.length[c]; ++j) {
          ask();
          T* const from = row(j);
          TW_UNROLL
          for (int i = 0; i < kN; ++i)
            hn::Store(hn::Mul(hn::Load(d, from + i * kLanes<T>), sv), d, to + i * kLanes<T>);
          to = from;
        }
        ask();
        TW_UNROLL
        for (int i = 0; i < kN; ++i) hn::Store(hn::Mul(first[i], sv), d, to + i * kLanes<T>);
      }
    }
  }
}

template <class T>
void fill_moves(BlockKernels<T>& k) {
  k.target = hwy::TargetName(HWY_TARGET);
  k.lanes = kLanes<T>;
  k.load = load<T>;
  k.store = store<T>;
  k.move_rows = move_rows<T>;
  k.row_flip = row_flip<T>;
  k.masked_flip = masked_flip<T>;
}

void fill_moves_f32(BlockKernels<float>& k) { fill_moves(k); }
void fill_moves_f64(BlockKernels<double>& k) { fill_moves(k); }

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewave::statevec::cpu {

HWY_EXPORT(fill_moves_f32);
HWY_EXPORT(fill_moves_f64);

void add_move_kernels(BlockKernels<float>& k) { HWY_DYNAMIC_DISPATCH(fill_moves_f32)(k); }
void add_move_kernels(BlockKernels<double>& k) { HWY_DYNAMIC_DISPATCH(fill_moves_f64)(k); }

namespace {

template <class T>
const BlockKernels<T>& all_kernels() {
  static const BlockKernels<T> kernels = [] {
    BlockKernels<T> k{};
    add_move_kernels(k);
    add_layer_kernels(k);
    add_sweep_kernels(k);
    add_dense_kernels(k);
    return k;
  }();
  return kernels;
}

}  // namespace

const BlockKernels<float>& block_kernels(float) { return all_kernels<float>(); }
const BlockKernels<double>& block_kernels(double) { return all_kernels<double>(); }

}  // namespace tilewave::statevec::cpu
#endif  // HWY_ONCE
