// Movement of amplitudes between the state and a tile, and permutations inside a block, written
// once with Highway and compiled for every instruction set that is worth it; the best one is chosen
// at run time.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

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

// The amplitudes of a chunk whose places are table[x] ^ place, by shuffles of the few vectors they
// are in. The loop over these stays one: written out for each number of them, a pass that stores so
// takes a tenth longer.
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
#pragma GCC unroll 1
      for (int s = 1; s < count_[o]; ++s) {
        const auto mine = hn::Ne(hn::Load(d, mine_[o][s]), hn::Zero(d));
        re = hn::IfThenElse(mine, hn::TableLookupLanes(hn::Load(d, from(s)), lane), re);
        im =
            hn::IfThenElse(mine, hn::TableLookupLanes(hn::Load(d, from(s) + kRowLength), lane), im);
      }
      store_interleaved<T>(hn::NegMulAdd(im, scale_im, hn::Mul(re, scale_re)),
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

#if HWY_TARGET == HWY_AVX3
HWY_INLINE Vec<double> of_two(Vec<double> a, __m512i index, Vec<double> b) {
  return Vec<double>{_mm512_permutex2var_pd(a.raw, index, b.raw)};
}
HWY_INLINE Vec<float> of_two(Vec<float> a, __m512i index, Vec<float> b) {
  return Vec<float>{_mm512_permutex2var_ps(a.raw, index, b.raw)};
}

// The same where the amplitudes of every output vector are in two vectors at most: one shuffle.
template <class T>
class PairShuffle {
 public:
  bool make(const std::int32_t* table) {
    for (int o = 0; o < kOut; ++o) {
      const std::int32_t* const places = table + o * kN;
      first_[o] = second_[o] = places[0] & ~(kN - 1);
      for (int l = 0; l < kN; ++l) {
        const std::int32_t vector = places[l] & ~(kN - 1);
        if (vector != first_[o]) {
          if (second_[o] == first_[o]) second_[o] = vector;
          if (vector != second_[o]) return false;
        }
        lane_[o][l] = static_cast<TI>((places[l] & (kN - 1)) | (vector != first_[o] ? kN : 0));
      }
    }
    return true;
  }

  HWY_INLINE void store_all(const T* HWY_RESTRICT tile, T* HWY_RESTRICT state, const Chunks& chunks,
                            const Chunks& next, Vec<T> scale_re, Vec<T> scale_im) const {
    const Tag<T> d;
    const hn::Rebind<TI, Tag<T>> di;
    const Chunks c = chunks;  // nothing else can change it
    std::uint32_t first[kOut], second[kOut];
    hn::Vec<decltype(di)> lane[kOut];
    for (int o = 0; o < kOut; ++o) {
      first[o] = static_cast<std::uint32_t>(first_[o]);
      second[o] = static_cast<std::uint32_t>(second_[o]);
      lane[o] = hn::Load(di, lane_[o]);
    }
    for (std::size_t k = 0; k < c.count; ++k) {
      ask_for_next<false>(state, next, k, kRowBytes<T>);
      T* const to = state + 2 * (c.base ^ c.offset[k]);
      const std::uint32_t place = c.place[k] ^ c.shift, vector = place & ~(kN - 1u);
      const auto turned = hn::Set(di, static_cast<TI>(place & (kN - 1u)));
      TW_UNROLL
      for (int o = 0; o < kOut; ++o) {
        const T* const x = tile + (vector ^ first[o]);
        const T* const y = tile + (vector ^ second[o]);
        const auto index = hn::Xor(lane[o], turned).raw;
        const auto re = of_two(hn::Load(d, x), index, hn::Load(d, y)),
                   im = of_two(hn::Load(d, x + kRowLength), index, hn::Load(d, y + kRowLength));
        store_interleaved<T>(hn::NegMulAdd(im, scale_im, hn::Mul(re, scale_re)),
                             hn::MulAdd(im, scale_re, hn::Mul(re, scale_im)), d, to + 2 * o * kN);
      }
    }
  }

 private:
  using TI = hwy::MakeSigned<T>;
  static constexpr int kN = kLanes<T>, kOut = (1 << kRowChunkBits<T>) / kN;
  std::int32_t first_[kOut], second_[kOut];
  HWY_ALIGN TI lane_[kOut][kN];
};
#endif

// Output chunks of which some bits inside vectors come from other vectors of the tile, while those
// bits of the tile's vectors tell chunks apart: 2^M vectors, transposed, are vectors of 2^M chunks.
// Every column of places must lie inside vectors or outside of them.
template <class T>
class ChunkTranspose {
 public:
  static constexpr int kMost = log2_of(kLanes<T>);

  /// False where the movement is another one. Places of chunks, and inside them, are XOR-linear.
  bool make(const Chunks& c) {
    if ((c.place[0] ^ c.shift) & kLane) return false;
    std::uint32_t of_output[kMost] = {};  // which bit of a vector of the tile; 0: none
    std::uint32_t taken = 0, wanted = 0;
    for (int j = 0; j < kMost; ++j) {
      const auto column = static_cast<std::uint32_t>(c.table[1 << j]);
      if (!(column & kLane)) {
        wanted |= 1u << j;
      } else if (std::has_single_bit(column) && !(taken & column)) {
        taken |= of_output[j] = column;
      } else {
        return false;
      }
    }
    num_ = std::popcount(wanted);
    if (num_ == 0) return false;
    // Each of the other bits of the tile's vectors chooses a chunk or a vector of it, and in
    // exchange takes over an output bit: its own where that is free.
    const std::uint32_t free = kLane & ~taken;
    std::uint32_t same = free & wanted, others = wanted & ~free;
    std::uint32_t lanes[kMost] = {};
    int found = 0;
    const auto exchange = [&](std::uint32_t lane, std::size_t chunk, int vector) {
      if (!(lane & kLane)) return true;
      if (!std::has_single_bit(lane) || !(free & lane) || (taken & lane)) return false;
      taken |= lane;
      const std::uint32_t output = same & lane ? lane : others & (~others + 1);
      others &= ~output;
      const int j = std::countr_zero(output);
      of_output[j] = lane;
      from_[found] = static_cast<std::uint32_t>(c.table[1 << j]);
      lanes[found] = lane;
      chunk_bit_[found] = chunk;
      vector_bit_[found++] = vector;
      return true;
    };
    for (int v = 1; v < kOut; v *= 2) {
      const auto column = static_cast<std::uint32_t>(c.table[v * kN]);
      if (!exchange(column, 0, v)) return false;
      if (!(column & kLane)) other_vectors_ |= v;
    }
    for (std::size_t k = 1; k < c.count; k *= 2) {
      if (!exchange(c.place[k] ^ c.place[0], k, 0)) return false;
    }
    if (found != num_) return false;
    for (int i = 0; i < num_; ++i) {
      chunk_bits_ |= chunk_bit_[i];
      for (std::uint32_t l = 0; l < kN; ++l) {
        across_[i][l] = static_cast<TI>(l ^ lanes[i]);
        upper_[i][l] = l & lanes[i] ? T(1) : T(0);
      }
    }
    for (std::uint32_t l = 0; l < kN; ++l) {
      std::uint32_t from = 0;
      for (int j = 0; j < kMost; ++j) from |= l >> j & 1 ? of_output[j] : 0;
      last_[l] = static_cast<TI>(from);
      moves_ |= from != l;
    }
    return true;
  }

  int num_exchanges() const { return num_; }

  template <int M>
  HWY_INLINE void store(const T* HWY_RESTRICT tile, T* HWY_RESTRICT state, const Chunks& c,
                        const Chunks& next, Vec<T> scale_re, Vec<T> scale_im) const {
    const Tag<T> d;
    constexpr int kGroup = 1 << M;
    std::uint32_t from[kGroup] = {};
    std::size_t chunk[kGroup] = {};
    int vector[kGroup] = {};
    for (int g = 0; g < kGroup; ++g) {
      for (int i = 0; i < M; ++i) {
        if (!(g >> i & 1)) continue;
        from[g] ^= from_[i];
        chunk[g] |= chunk_bit_[i];
        vector[g] |= vector_bit_[i];
      }
    }
    for (std::size_t k = 0; k < c.count; ++k) {
      if (k & chunk_bits_) continue;
      for (int g = 0; g < kGroup; ++g) {
        if (vector[g]) continue;
        ask_for_next<false>(state, next, k | chunk[g], kRowBytes<T>);
      }
      for (int v = 0; v < kOut; ++v) {
        if (v & ~other_vectors_) continue;
        const std::uint32_t place =
            c.place[k] ^ c.shift ^ static_cast<std::uint32_t>(c.table[v * static_cast<int>(kN)]);
        Vec<T> re[kGroup], im[kGroup];
        transpose<M>(tile, place, from, re);
        transpose<M>(tile + kRowLength, place, from, im);
        TW_UNROLL
        for (int g = 0; g < kGroup; ++g) {
          T* const to = state + 2 * (c.base ^ c.offset[k | chunk[g]]) +
                        2 * kN * static_cast<std::uint32_t>(v | vector[g]);
          store_interleaved<T>(hn::NegMulAdd(im[g], scale_im, hn::Mul(re[g], scale_re)),
                               hn::MulAdd(im[g], scale_re, hn::Mul(re[g], scale_im)), d, to);
        }
      }
    }
  }

 private:
  using TI = hwy::MakeSigned<T>;
  static constexpr std::uint32_t kN = kLanes<T>, kLane = kN - 1;
  static constexpr int kOut = (1 << kRowChunkBits<T>) / static_cast<int>(kN);

  template <int M>
  HWY_INLINE void transpose(const T* HWY_RESTRICT tile, std::uint32_t place,
                            const std::uint32_t* from, Vec<T>* a) const {
    const Tag<T> d;
    TW_UNROLL
    for (int g = 0; g < 1 << M; ++g) a[g] = hn::Load(d, tile + (place ^ from[g]));
    TW_UNROLL
    for (int i = 0; i < M; ++i) {
      const auto across = hn::SetTableIndices(d, across_[i]);
      const auto upper = hn::Ne(hn::Load(d, upper_[i]), hn::Zero(d));
      TW_UNROLL
      for (int g = 0; g < 1 << M; ++g) {
        if (g >> i & 1) continue;
        const auto x = a[g], y = a[g | 1 << i];
        a[g] = hn::IfThenElse(upper, hn::TableLookupLanes(y, across), x);
        a[g | 1 << i] = hn::IfThenElse(upper, y, hn::TableLookupLanes(x, across));
      }
    }
    if (!moves_) return;
    const auto last = hn::SetTableIndices(d, last_);
    TW_UNROLL
    for (int g = 0; g < 1 << M; ++g) a[g] = hn::TableLookupLanes(a[g], last);
  }

  int num_ = 0;
  bool moves_ = false;
  std::uint32_t from_[kMost] = {};
  std::size_t chunk_bit_[kMost] = {}, chunk_bits_ = 0;
  int vector_bit_[kMost] = {}, other_vectors_ = 0;
  HWY_ALIGN TI across_[kMost][kN], last_[kN];
  HWY_ALIGN T upper_[kMost][kN];
};

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
    if (ChunkTranspose<T> transpose; transpose.make(c)) {
      store_transposed<1>(transpose, tile, state, c, next, re, im);
      return;
    }
#if HWY_TARGET == HWY_AVX3
    if (PairShuffle<T> pairs; pairs.make(c.table)) {
      pairs.store_all(tile, state, c, next, re, im);
      return;
    }
#endif
    ChunkShuffle<T> shuffle;
    if (shuffle.make(c.table)) {
      store_all<kRow>(c, state, next,
                      [&](std::uint32_t from, T* to) { shuffle.store(tile, from, to, re, im); });
      return;
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
