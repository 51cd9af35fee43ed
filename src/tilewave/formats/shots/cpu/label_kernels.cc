// hits and dets as text: 32 numbers at a time, five digits each, without a table or a branch.
//
// Layout: a label is eight bytes in four 16-bit planes, one element a number; bytes that are 0 are
// left out. hits: 0 0, d4 d3, d2 d1, d0 `,`; a row's end is `\n` alone, in the place of the comma
// before it. dets: ` D`, d4 d3, d2 d1, d0 0; a row's end is `\nshot`. Planes are woven into eight
// labels a vector, which a compression by bytes brings together. Cost: 2.5 instructions a number.
#include <bit>

#include "tilewave/formats/shots/cpu/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tilewave::formats {
namespace {

constexpr std::uint32_t two(char low, char high) {
  return static_cast<std::uint32_t>(low) | static_cast<std::uint32_t>(high) << 8;
}

TW_TARGET_VBMI2 inline __m512i all(std::uint32_t v) {
  return _mm512_set1_epi16(static_cast<short>(v));
}

// Digit d of the numbers in `used` as a character.
TW_TARGET_VBMI2 inline __m512i character(__mmask32 used, __m512i digit) {
  return _mm512_maskz_add_epi16(used, digit, all('0'));
}
// value - 10 tens.
TW_TARGET_VBMI2 inline __m512i last_digit(__m512i value, __m512i tens) {
  return _mm512_sub_epi16(value, _mm512_mullo_epi16(tens, all(10)));
}
TW_TARGET_VBMI2 inline __m512i pair(__m512i low, __m512i high) {
  return _mm512_or_si512(low, _mm512_slli_epi16(high, 8));
}

// Writes what is not 0 of eight labels.
TW_TARGET_VBMI2 inline char* put(__m512i text, char* to) {
  const __mmask64 kept = _mm512_test_epi8_mask(text, text);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(kept, text));
  return to + std::popcount(kept);
}

template <bool Typed>
TW_TARGET_VBMI2 char* labels_vbmi2(const LabelJob& job, char* to) {
  // Weaving works inside quarters of a vector: pairs of numbers are dealt out to them first.
  const __m512i deal = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m512i iota = _mm512_add_epi16(_mm512_set1_epi32(0x00010000),
                                        _mm512_mullo_epi32(deal, _mm512_set1_epi32(0x00020002)));
  const __m512i end = all(job.end), first = all(job.first), tenth = all(6554);
  const __mmask32 with_ends = job.ends ? ~__mmask32{0} : 0;
  for (std::size_t k = 0; k < job.count; k += 32) {
    const __m512i number = _mm512_permutexvar_epi32(deal, _mm512_loadu_si512(job.numbers + k));
    const __mmask32 ends = _mm512_mask_cmpeq_epi16_mask(with_ends, number, end);
    const __mmask32 ones = ~ends;
    __m512i v = _mm512_add_epi16(number, first);
    [[maybe_unused]] __m512i kind = all(two(' ', 'M'));
    if constexpr (Typed) {
      const __mmask32 d = _mm512_cmpge_epu16_mask(v, all(job.detectors));
      const __mmask32 l = _mm512_cmpge_epu16_mask(v, all(job.observables));
      kind = _mm512_mask_mov_epi16(kind, d, all(two(' ', 'D')));
      kind = _mm512_mask_mov_epi16(kind, l, all(two(' ', 'L')));
      const __m512i before = _mm512_mask_mov_epi16(_mm512_maskz_mov_epi16(d, all(job.detectors)), l,
                                                   all(job.observables));
      v = _mm512_sub_epi16(v, before);
    }
    const __m512i q1 = _mm512_srli_epi16(_mm512_mulhi_epu16(v, all(52429)), 3);
    const __m512i q2 = _mm512_mulhi_epu16(q1, tenth), q3 = _mm512_mulhi_epu16(q2, tenth),
                  q4 = _mm512_mulhi_epu16(q3, tenth);
    const __m512i d0 = character(ones, last_digit(v, q1));
    const __m512i d1 = character(_mm512_mask_test_epi16_mask(ones, q1, q1), last_digit(q1, q2));
    const __m512i d2 = character(_mm512_mask_test_epi16_mask(ones, q2, q2), last_digit(q2, q3));
    const __m512i d3 = character(_mm512_mask_test_epi16_mask(ones, q3, q3), last_digit(q3, q4));
    const __m512i d4 = character(_mm512_mask_test_epi16_mask(ones, q4, q4), q4);
    __m512i w0 = _mm512_setzero_si512(), w1 = pair(d4, d3), w2 = pair(d2, d1), w3 = d0;
    if constexpr (Typed) {
      w0 = _mm512_mask_mov_epi16(kind, ends, all(two('\n', 's')));
      w1 = _mm512_mask_mov_epi16(w1, ends, all(two('h', 'o')));
      w2 = _mm512_mask_mov_epi16(w2, ends, all(two('t', 0)));
    } else {
      const __m512i next = _mm512_permutexvar_epi32(deal, _mm512_loadu_si512(job.numbers + k + 1));
      const __mmask32 comma = _mm512_mask_cmpneq_epi16_mask(ones, next, end) | (ones & ~with_ends);
      w3 = _mm512_or_si512(w3, _mm512_maskz_mov_epi16(comma, all(two(0, ','))));
      w3 = _mm512_mask_mov_epi16(w3, ends, all(two(0, '\n')));
    }
    if (job.count - k < 32) {
      const __mmask32 used =
          _mm512_cmplt_epu16_mask(iota, all(static_cast<std::uint32_t>(job.count - k)));
      w0 = _mm512_maskz_mov_epi16(used, w0), w1 = _mm512_maskz_mov_epi16(used, w1);
      w2 = _mm512_maskz_mov_epi16(used, w2), w3 = _mm512_maskz_mov_epi16(used, w3);
    }
    const __m512i low01 = _mm512_unpacklo_epi16(w0, w1), high01 = _mm512_unpackhi_epi16(w0, w1);
    const __m512i low23 = _mm512_unpacklo_epi16(w2, w3), high23 = _mm512_unpackhi_epi16(w2, w3);
    to = put(_mm512_unpacklo_epi32(low01, low23), to);
    to = put(_mm512_unpackhi_epi32(low01, low23), to);
    to = put(_mm512_unpacklo_epi32(high01, high23), to);
    to = put(_mm512_unpackhi_epi32(high01, high23), to);
  }
  return to;
}

}  // namespace

LabelKernel pick_labels(bool typed) {
  if (!has_vbmi2()) return nullptr;
  return typed ? labels_vbmi2<true> : labels_vbmi2<false>;
}

}  // namespace tilewave::formats

#else

namespace tilewave::formats {
LabelKernel pick_labels(bool) { return nullptr; }
}  // namespace tilewave::formats

#endif
