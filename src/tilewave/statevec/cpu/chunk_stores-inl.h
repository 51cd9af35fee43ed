// How chunks of a tile are put together for the state where amplitudes change places inside rows:
// shuffles of the vectors that an output vector's amplitudes are in, and transposes of groups of
// vectors. Included by block_kernels.cc after block_kernels-inl.h, once for every instruction set.
#if defined(TILEWAVE_STATEVEC_CPU_CHUNK_STORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_STATEVEC_CPU_CHUNK_STORES_INL_H_
#undef TILEWAVE_STATEVEC_CPU_CHUNK_STORES_INL_H_
#else
#define TILEWAVE_STATEVEC_CPU_CHUNK_STORES_INL_H_
#endif

#include "hwy/highway.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/block_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilewave::statevec::cpu {
namespace HWY_NAMESPACE {

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

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
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

enum class StoreKind { kTranspose, kPairs, kShuffle, kGather };

// How the chunks of a movement are put together, the same for all its tiles (but for the lanes of
// their shift).
template <class T>
struct StoreWay {
  std::uint64_t movement = 0;
  std::uint32_t lane = 0;
  StoreKind kind = StoreKind::kGather;
  ChunkTranspose<T> transpose;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  PairShuffle<T> pairs;
#endif
  ChunkShuffle<T> shuffle;

  void enter(const Chunks& c) {
    const std::uint32_t lane_now = (c.place[0] ^ c.shift) & (kLanes<T> - 1u);
    if (c.movement != 0 && c.movement == movement && lane_now == lane) return;
    movement = c.movement;
    lane = lane_now;
    kind = kind_of(c);
  }

 private:
  StoreKind kind_of(const Chunks& c) {
    transpose = ChunkTranspose<T>();
    if (transpose.make(c)) return StoreKind::kTranspose;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    if (pairs.make(c.table)) return StoreKind::kPairs;
#endif
    return shuffle.make(c.table) ? StoreKind::kShuffle : StoreKind::kGather;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#endif  // TILEWAVE_STATEVEC_CPU_CHUNK_STORES_INL_H_
