// sums[n] of 64 counts at once with AVX-512 (VBMI, VNNI), included by entropy_column.cc for that
// target: four digits of 8 bits, one byte shuffle and one dot product with ones for each. Counts
// below 64 take one table a digit, below 128 two, below 256 four.
#include <cstring>

#include "tilewave/field/cpu/entropy_sums-inl.h"

HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES("avx512vnni")  // the target has it, Highway 1.0 forgets to say so
namespace tilewave::field::HWY_NAMESPACE {

struct Digits {
  __m512i table[4][4];  // [digit][n / 64]
  explicit Digits(const EntropyTables& t) {
    alignas(64) std::uint8_t bytes[4][256] = {};
    const int most = t.max_count < 255 ? t.max_count : 255;
    for (int n = 0; n <= most; ++n) {
      for (int k = 0; k < 4; ++k) bytes[k][n] = static_cast<std::uint8_t>(t.sums[n] >> 8 * k);
    }
    std::memcpy(table, bytes, sizeof table);
  }

  // Digit k of counts below 64 kTables.
  template <int kTables>
  HWY_INLINE __m512i look_up(__m512i n, int k) const {
    static_assert(kTables == 1 || kTables == 2 || kTables == 4);
    const __m512i* t = table[k];
    if constexpr (kTables == 1) return _mm512_permutexvar_epi8(n, t[0]);
    const __m512i low = _mm512_permutex2var_epi8(t[0], n, t[1]);
    if constexpr (kTables == 2) return low;
    const __m512i high = _mm512_permutex2var_epi8(t[2], n, t[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(n), high);
  }

  // Lane i of 32 bits: the sum of sums[n] over its four counts.
  template <int kTables>
  HWY_INLINE __m512i sum(__m512i n) const {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), look_up<kTables>(n, 3), ones);
    for (int k = 2; k >= 0; --k)
      sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), look_up<kTables>(n, k), ones);
    return sum;
  }
};

// The same over several blocks of 64 counts.
struct DigitSums {
  __m512i digit[4];
  HWY_INLINE DigitSums() {
    for (auto& d : digit) d = _mm512_setzero_si512();
  }
  template <int kTables>
  HWY_INLINE void add(__m512i n, const Digits& t) {
    const __m512i ones = _mm512_set1_epi8(1);
    for (int k = 0; k < 4; ++k)
      digit[k] = _mm512_dpbusd_epi32(digit[k], t.look_up<kTables>(n, k), ones);
  }
  HWY_INLINE __m512i total() const {
    const __m512i low = _mm512_add_epi32(digit[0], _mm512_slli_epi32(digit[1], 8));
    const __m512i high = _mm512_add_epi32(digit[2], _mm512_slli_epi32(digit[3], 8));
    return _mm512_add_epi32(low, _mm512_slli_epi32(high, 16));
  }
};

// Whether counts of 16 bits are all below 2^bits.
template <int kBits>
HWY_INLINE bool all_below(__m512i words) {
  return _mm512_test_epi16_mask(words, _mm512_set1_epi16(static_cast<short>(-1 << kBits))) == 0;
}

// The sum of sums[n] over 64 counts of 16 bits, by the formula.
HWY_INLINE __m512i sum_of_words(__m512i a, __m512i b, const Formula& formula) {
  const __m512i low = _mm512_set1_epi32(0xFFFF);
  const VCount a0{_mm512_and_si512(a, low)}, a1{_mm512_srli_epi32(a, 16)};
  const VCount b0{_mm512_and_si512(b, low)}, b1{_mm512_srli_epi32(b, 16)};
  return hn::Add(hn::Add(formula(a0), formula(a1)), hn::Add(formula(b0), formula(b1))).raw;
}

// Four vectors' sums over lanes of 32 bits, within each of their four 128-bit blocks: lane i of a
// block is vector i's.
HWY_INLINE __m512i sum_blocks(const __m512i* v) {
  const __m512i ab =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
  const __m512i cd =
      _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
  return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

}  // namespace tilewave::field::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
HWY_AFTER_NAMESPACE();
