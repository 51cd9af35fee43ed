// What the block kernels share, once for every instruction set: vectors, places of rows, lane
// permutations.
#if defined(TILEWAVE_STATEVEC_CPU_BLOCK_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILEWAVE_STATEVEC_CPU_BLOCK_KERNELS_INL_H_
#undef TILEWAVE_STATEVEC_CPU_BLOCK_KERNELS_INL_H_
#else
#define TILEWAVE_STATEVEC_CPU_BLOCK_KERNELS_INL_H_
#endif

#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewave/statevec/cpu/address.h"
#include "tilewave/statevec/cpu/block.h"

#undef TW_UNROLL
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define TW_UNROLL  // arrays of numbers fill no registers: their loops are for the compiler
#else
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

#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int kRegisters = 16;  // vectors
#else
constexpr int kRegisters = 32;
#endif

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

template <class T>
HWY_INLINE T* row_at(T* tile, const BlockRows& b, std::uint32_t row) {
  return tile + (static_cast<std::size_t>(b.rows[row] ^ b.outer) << (kLowBits + 1));
}

HWY_INLINE std::uint32_t open_bit(std::uint32_t x, int k) {
  const std::uint32_t low = (1u << k) - 1;
  return ((x & ~low) << 1) | (x & low);
}

// The value, in a register from here on: GCC reads an operand that several instructions use from
// memory for each of them, and computes a handful of addresses in vectors to take them apart again.
template <class V>
HWY_INLINE V in_register(V v) {
#if HWY_ARCH_X86 && defined(__GNUC__) && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (std::is_pointer_v<V>) {
    asm("" : "+r"(v));
  } else {
#if HWY_TARGET <= HWY_AVX3
    asm("" : "+v"(v.raw));
#else
    asm("" : "+x"(v.raw));
#endif
  }
#endif
  return v;
}

/// Chunks of the size of a state's rows have a loop of known length.
template <class T>
constexpr int kRowChunkBits = Address<T>::kRowBits;
template <class T>
constexpr std::size_t kRowBytes = (std::size_t{2} << kRowChunkBits<T>)*sizeof(T);

/// Asks for the lines of a chunk; locality 3 is the first level, 2 the second.
template <int locality, class T>
HWY_INLINE void ask_for(const T* chunk, std::size_t bytes) {
  const char* const at = reinterpret_cast<const char*>(chunk);
  for (std::size_t b = 0; b < bytes; b += 64) __builtin_prefetch(at + b, 0, locality);
}

/// Chunks are loaded from the second level, where the store of the tile before has asked for them.
constexpr std::size_t kChunksAhead = 16;

/// Asks for what a load, or a store, has to ask for of a chunk of the next tile.
template <bool in_load, class T>
HWY_INLINE void ask_for_next(const T* state, const Chunks& next, std::size_t chunk,
                             std::size_t bytes) {
  if (in_load && !next.halves) return;
  const T* const at = state + 2 * (next.base ^ next.offset[chunk]);
  if (!next.halves) {
    ask_for<2>(at, bytes);
  } else {
    ask_for<2>(in_load ? at : at + bytes / 2 / sizeof(T), bytes / 2);
  }
}

/// What a load of chunk k asks for: one of the same tile, from the second level, and one of the
/// next.
template <class T>
HWY_INLINE void ask_before_load(const T* state, const Chunks& c, const Chunks& next, std::size_t k,
                                std::size_t bytes) {
  const std::size_t ahead = k + kChunksAhead < c.count ? k + kChunksAhead : c.count - 1;
  ask_for<3>(state + 2 * (c.base ^ c.offset[ahead]), bytes);
  ask_for_next<true>(state, next, k, bytes);
}

// What StoreInterleaved2 does, with one shuffle for each vector where Highway 1.0 takes three.
template <class T>
HWY_INLINE void store_interleaved(Vec<T> re, Vec<T> im, Tag<T> d, T* HWY_RESTRICT to) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(T) == 8) {
    const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                  high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_pd(to, _mm512_permutex2var_pd(re.raw, low, im.raw));
    _mm512_storeu_pd(to + 8, _mm512_permutex2var_pd(re.raw, high, im.raw));
  } else {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                  high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                           31);
    _mm512_storeu_ps(to, _mm512_permutex2var_ps(re.raw, low, im.raw));
    _mm512_storeu_ps(to + 16, _mm512_permutex2var_ps(re.raw, high, im.raw));
  }
#else
  hn::StoreInterleaved2(re, im, d, to);
#endif
}

template <class T>
auto lane_xor_indices(int x) {
  using TI = hwy::MakeSigned<T>;
  const Tag<T> d;
  HWY_ALIGN TI index[kLanes<T>];
  for (int l = 0; l < kLanes<T>; ++l) index[l] = static_cast<TI>(l ^ x);
  return hn::SetTableIndices(d, index);
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewave::statevec::cpu
HWY_AFTER_NAMESPACE();

#endif  // TILEWAVE_STATEVEC_CPU_BLOCK_KERNELS_INL_H_
