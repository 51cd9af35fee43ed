// Eight Philox4x32-10 counters at a time, one in each 64-bit lane of four registers.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::stabilizer {

struct PhiloxLanes {
  __m512i v0, v1, v2, v3;  ///< the low halves count, the upper ones hold rubbish afterwards
};

/// Ten rounds on N sets; two or more hide the multiplier's latency.
template <int N>
[[gnu::always_inline]] TW_TARGET_AVX512 inline void philox_lanes(PhiloxLanes (&c)[N],
                                                                 std::uint32_t key0,
                                                                 std::uint32_t key1) {
  const __m512i m0 = _mm512_set1_epi64(0xD2511F53ll), m1 = _mm512_set1_epi64(0xCD9E8D57ll);
  for (int round = 0; round < 10; ++round) {
    const __m512i k0 = _mm512_set1_epi64(key0), k1 = _mm512_set1_epi64(key1);
    for (PhiloxLanes& s : c) {
      const __m512i p0 = _mm512_mul_epu32(s.v0, m0), p1 = _mm512_mul_epu32(s.v2, m1);
      s.v0 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), s.v1, k0, 0x96);
      s.v2 = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), s.v3, k1, 0x96);
      s.v1 = p1, s.v3 = p0;
    }
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
}

}  // namespace tilewave::stabilizer
#endif
