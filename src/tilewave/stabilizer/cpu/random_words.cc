#include "tilewave/stabilizer/cpu/random_words.h"

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/stabilizer/cpu/philox_avx512-inl.h"

namespace tilewave::stabilizer {
namespace {

// words[2 i], words[2 i + 1]: the two halves of Philox block first + i.
[[gnu::always_inline]] inline void random_words_plain(const UnitStream& s, std::uint32_t first,
                                                      std::size_t blocks, std::uint64_t* words) {
  for (std::size_t i = 0; i < blocks; ++i) {
    const Philox4x32 r = s.block(first + static_cast<std::uint32_t>(i));
    words[2 * i] = (std::uint64_t{r.v[1]} << 32) | r.v[0];
    words[2 * i + 1] = (std::uint64_t{r.v[3]} << 32) | r.v[2];
  }
}

#if defined(__x86_64__)
// The words of eight blocks, block by block.
TW_TARGET_AVX512 inline void store_blocks(const PhiloxLanes& c, std::uint64_t* to) {
  const __m512i even = _mm512_mask_blend_epi32(0xAAAA, c.v0, _mm512_slli_epi64(c.v1, 32));
  const __m512i odd = _mm512_mask_blend_epi32(0xAAAA, c.v2, _mm512_slli_epi64(c.v3, 32));
  _mm512_storeu_si512(
      to, _mm512_permutex2var_epi64(even, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), odd));
  _mm512_storeu_si512(
      to + 8, _mm512_permutex2var_epi64(even, _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4), odd));
}

// Eight blocks at a time, one in each 64-bit lane. Two interleaved sets hide the multiplier's
// latency.
TW_TARGET_AVX512 void random_words_avx512(const UnitStream& s, std::uint32_t first,
                                          std::size_t blocks, std::uint64_t* words) {
  const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i low = _mm512_set1_epi64(0xFFFFFFFFll);
  const auto c1 = static_cast<std::uint32_t>(s.tick), c2 = static_cast<std::uint32_t>(s.unit);
  const std::uint32_t c3 =
      static_cast<std::uint32_t>(s.unit >> 32) | (static_cast<std::uint32_t>(s.tick >> 32) << 16);
  for (std::size_t i = 0; i < blocks; i += 16) {
    PhiloxLanes c[2];
    for (int k = 0; k < 2; ++k) {
      const __m512i from = _mm512_set1_epi64(first + static_cast<std::uint32_t>(i) + 8u * k);
      c[k] = {_mm512_and_si512(_mm512_add_epi64(from, lanes), low), _mm512_set1_epi64(c1),
              _mm512_set1_epi64(c2), _mm512_set1_epi64(c3)};
    }
    philox_lanes(c, s.key0, s.key1);
    store_blocks(c[0], words + 2 * i);
    store_blocks(c[1], words + 2 * i + 16);
  }
}
#endif

}  // namespace

void random_words(const UnitStream& s, std::uint32_t first, std::size_t blocks,
                  std::uint64_t* words) {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) return random_words_avx512(s, first, blocks, words);
#endif
  random_words_plain(s, first, blocks, words);
}

}  // namespace tilewave::stabilizer
