// Movement of amplitudes between the state and a tile, and permutations inside a block, written
// once with Highway and compiled for every instruction set that is worth it; the best one is chosen
// at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tilewave/statevec/cpu/block_kernels.cc"
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// clang-format off: the kernels' header comes after
#include "tilewave/statevec/cpu/block_kernels-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

// A state's rows are 256 bytes: chunks of that size have a loop of known length.
template <class T>
constexpr int kRowChunkBits = log2_of(256 / (2 * sizeof(T)));

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
        hn::StoreInterleaved2(hn::Mul(re, sr), hn::Mul(im, sr), d, dst + 2 * i);
      } else {
        hn::StoreInterleaved2(hn::NegMulAdd(im, si, hn::Mul(re, sr)),
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
void load_all(const T* HWY_RESTRICT state, T* HWY_RESTRICT tile, const Chunks& c) {
  const std::size_t size = std::size_t{1} << (kRow ? kRowChunkBits<T> : c.bits);
  for (std::size_t k = 0; k < c.count; ++k)
    load_chunk<T, kRow>(state + 2 * (c.base ^ c.offset[k]), tile + (c.place[k] ^ c.shift), size);
}

template <class T>
void load(const T* state, T* tile, const Chunks& chunks) {
  return chunks.bits == kRowChunkBits<T> ? load_all<T, true>(state, tile, chunks)
                                         : load_all<T, false>(state, tile, chunks);
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
      hn::StoreInterleaved2(hn::NegMulAdd(im, si, hn::Mul(re, sr)),
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

// The amplitudes of a chunk whose places are table[x] ^ place, by shuffles of the few vectors they
// are in.
template <class T>
class ChunkShuffle {
 public:
  /// False where the places are in too many vectors.
  bool make(const std::int32_t* table) {
    for (int o = 0; o < kOut; ++o) {
      count_[o] = 0;
      for (int l = 0; l < kN; ++l) {
        const std::int32_t place = table[o * kN + l], vector = place & ~(kN - 1);
        int s = 0;
        while (s < count_[o] && offset_[o][s] != vector) ++s;
        if (s == kMost) return false;
        if (s == count_[o]) {
          ++count_[o];
          offset_[o][s] = vector;
          for (T& m : mine_[o][s]) m = 0;
        }
        mine_[o][s][l] = 1;
        lane_[o][l] = static_cast<TI>(place & (kN - 1));
      }
    }
    return true;
  }

  HWY_INLINE void store(const T* HWY_RESTRICT tile, std::uint32_t place, T* HWY_RESTRICT dst,
                        Vec<T> scale_re, Vec<T> scale_im) const {
    const Tag<T> d;
    const hn::Rebind<TI, Tag<T>> di;
    const auto turned = hn::Set(di, static_cast<TI>(place & (kN - 1)));
    const std::uint32_t first = place & ~static_cast<std::uint32_t>(kN - 1);
    TW_UNROLL
    for (int o = 0; o < kOut; ++o) {
      const auto lane = hn::IndicesFromVec(d, hn::Xor(hn::Load(di, lane_[o]), turned));
      const auto from = [&](int s) {
        return tile + (first ^ static_cast<std::uint32_t>(offset_[o][s]));
      };
      auto re = hn::TableLookupLanes(hn::Load(d, from(0)), lane),
           im = hn::TableLookupLanes(hn::Load(d, from(0) + kRowLength), lane);
      for (int s = 1; s < count_[o]; ++s) {
        const auto mine = hn::Ne(hn::Load(d, mine_[o][s]), hn::Zero(d));
        re = hn::IfThenElse(mine, hn::TableLookupLanes(hn::Load(d, from(s)), lane), re);
        im =
            hn::IfThenElse(mine, hn::TableLookupLanes(hn::Load(d, from(s) + kRowLength), lane), im);
      }
      hn::StoreInterleaved2(hn::NegMulAdd(im, scale_im, hn::Mul(re, scale_re)),
                            hn::MulAdd(im, scale_re, hn::Mul(re, scale_im)), d, dst + 2 * o * kN);
    }
  }

 private:
  using TI = hwy::MakeSigned<T>;
  static constexpr int kN = kLanes<T>, kMost = 8;
  static constexpr int kOut = (1 << kRowChunkBits<T>) / kN;
  int count_[kOut];
  std::int32_t offset_[kOut][kMost];
  HWY_ALIGN TI lane_[kOut][kN];
  HWY_ALIGN T mine_[kOut][kMost][kN];
};

template <class T, class Store>
HWY_INLINE void store_all(const Chunks& c, T* state, const Chunks& next, Store store_one) {
  const std::size_t bytes = (std::size_t{2} << c.bits) * sizeof(T);
  for (std::size_t k = 0; k < c.count; ++k) {
    const char* ahead = reinterpret_cast<const char*>(state + 2 * (next.base ^ next.offset[k]));
    for (std::size_t b = 0; b < bytes; b += 64) __builtin_prefetch(ahead + b, 1, 2);
    store_one(c.place[k] ^ c.shift, state + 2 * (c.base ^ c.offset[k]));
  }
}

template <class T, bool kRow>
HWY_INLINE void store_sized(const T* tile, T* state, const Chunks& c, const Chunks& next,
                            T scale_re, T scale_im) {
  const std::size_t size = std::size_t{1} << (kRow ? kRowChunkBits<T> : c.bits);
  if (!c.table) {
    store_all(c, state, next, [&](std::uint32_t from, T* to) {
      store_chunk<T, kRow>(tile + from, to, size, scale_re, scale_im);
    });
    return;
  }
  if constexpr (kRow && kLanes < T >> 1) {
    ChunkShuffle<T> shuffle;
    if (shuffle.make(c.table)) {
      const auto re = hn::Set(Tag<T>(), scale_re), im = hn::Set(Tag<T>(), scale_im);
      store_all(c, state, next,
                [&](std::uint32_t from, T* to) { shuffle.store(tile, from, to, re, im); });
      return;
    }
  }
  store_all(c, state, next, [&](std::uint32_t from, T* to) {
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

template <class T>
void move_rows(T* state, std::uint64_t base, std::uint64_t next, const RowCycles& cycles, T scale) {
  const Tag<T> d;
  constexpr int kElements = 2 << kRowChunkBits<T>, kN = kElements / kLanes<T>;
  const auto sv = hn::Set(d, scale);
  const auto row = [&](std::uint64_t offset) { return state + 2 * (base ^ offset); };
  const std::uint64_t* offset = cycles.offset;
  for (std::size_t c = 0; c < cycles.count; offset += cycles.length[c], ++c) {
    const std::uint32_t length = cycles.length[c];
    if (length == 1 && scale == T(1)) continue;
    Vec<T> carried[kN];
    const T* last = row(offset[length - 1]);
    TW_UNROLL
    for (int i = 0; i < kN; ++i) carried[i] = hn::Load(d, last + i * kLanes<T>);
    for (std::uint32_t j = 0; j < length; ++j) {
      const char* ahead = reinterpret_cast<const char*>(state + 2 * (next ^ offset[j]));
      for (int b = 0; b < 256; b += 64) __builtin_prefetch(ahead + b, 1, 2);
      T* to = row(offset[j]);
      TW_UNROLL
      for (int i = 0; i < kN; ++i) {
        const auto here = hn::Load(d, to + i * kLanes<T>);
        hn::Store(hn::Mul(carried[i], sv), d, to + i * kLanes<T>);
        carried[i] = here;
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
