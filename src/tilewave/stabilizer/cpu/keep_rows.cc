#include "tilewave/stabilizer/cpu/keep_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::stabilizer {
namespace {

constexpr std::uint64_t kTogether = 64;
constexpr std::size_t kShortRow = 16;  // bytes

struct WordMask {
  std::uint64_t byte, mask;  // of the row's bytes from `byte` on
};

std::vector<WordMask> words_of(std::span<const std::uint64_t> must_be_zero, std::uint64_t bytes) {
  std::vector<WordMask> words;
  for (std::uint64_t w = 0; w < must_be_zero.size() && 8 * w < bytes; ++w) {
    std::uint64_t mask = must_be_zero[w];
    if (bytes - 8 * w < 8) mask &= (std::uint64_t{1} << (8 * (bytes - 8 * w))) - 1;
    if (mask) words.push_back({8 * w, mask});
  }
  return words;
}

void flag_rows(const std::uint8_t* rows, std::uint64_t stride, std::uint64_t num_rows,
               const std::vector<WordMask>& words, std::uint8_t* failed) {
  std::fill_n(failed, kTogether, std::uint8_t{0});
  for (const WordMask& w : words) {
    for (std::uint64_t s = 0; s < num_rows; ++s) {
      std::uint64_t word;
      std::memcpy(&word, rows + s * stride + w.byte, sizeof word);
      failed[s] |= static_cast<std::uint8_t>((word & w.mask) != 0);
    }
  }
}

// Bit s: flags[s], which is 0 or 1.
std::uint64_t bits_of(const std::uint8_t* flags) {
  std::uint64_t bits = 0;
  for (unsigned k = 0; k < 8; ++k) {
    std::uint64_t eight;
    std::memcpy(&eight, flags + 8 * k, 8);
    bits |= ((eight * 0x0102040810204080U) >> 56) << (8 * k);  // flag s of eight to bit 56 + s
  }
  return bits;
}

// Rows of few bytes: each is written behind the kept ones, and stays where it is kept, so that there is
// no branch to mispredict. Two words that overlap are a row.
template <std::size_t kStride>
std::uint64_t keep_short_rows(std::uint8_t* rows, std::uint64_t first, std::uint64_t end,
                              const std::uint8_t* mask) {
  using Two = std::conditional_t<(kStride > 2), std::uint16_t, std::uint8_t>;
  using Four = std::conditional_t<(kStride > 4), std::uint32_t, Two>;
  using Word = std::conditional_t<(kStride > 8), std::uint64_t, Four>;
  constexpr std::size_t kLast = kStride - sizeof(Word);
  Word front_mask, back_mask;
  std::memcpy(&front_mask, mask, sizeof front_mask);
  std::memcpy(&back_mask, mask + kLast, sizeof back_mask);
  std::uint64_t kept = 0;
  for (std::uint64_t s = first; s < end; ++s) {
    Word front, back;
    std::memcpy(&front, rows + s * kStride, sizeof front);
    std::memcpy(&back, rows + s * kStride + kLast, sizeof back);
    std::memcpy(rows + kept * kStride, &front, sizeof front);
    std::memcpy(rows + kept * kStride + kLast, &back, sizeof back);
    kept += ((front & front_mask) | (back & back_mask)) == 0;
  }
  return kept;
}

using KeepShortRows = std::uint64_t (*)(std::uint8_t*, std::uint64_t, std::uint64_t,
                                        const std::uint8_t*);
template <std::size_t... kLess>
KeepShortRows keeper_of(std::uint64_t stride, std::index_sequence<kLess...>) {
  static constexpr KeepShortRows kKeepers[] = {keep_short_rows<kLess + 1>...};
  return kKeepers[stride - 1];
}

// Whole runs of kept rows.
std::uint8_t* move_runs(const std::uint8_t* from, std::uint64_t stride, const std::uint8_t* failed,
                        std::uint64_t num_rows, std::uint8_t* to) {
  std::uint64_t left = ~bits_of(failed);
  if (num_rows < kTogether) left &= (std::uint64_t{1} << num_rows) - 1;
  while (left != 0) {
    const auto first = static_cast<std::uint64_t>(__builtin_ctzll(left));
    const std::uint64_t after = ~(left >> first);
    const std::uint64_t run =
        after == 0 ? kTogether : static_cast<std::uint64_t>(__builtin_ctzll(after));
    if (to != from + first * stride) std::memmove(to, from + first * stride, run * stride);
    to += run * stride;
    left = first + run >= kTogether ? 0 : left >> (first + run) << (first + run);
  }
  return to;
}

#if defined(__x86_64__)
// Rows of 4, 8 or 16 bytes, a vector of them at a time. What is kept of a vector is written whole:
// behind the kept rows lie only ones that have been read.
template <std::uint64_t kStride>
TW_TARGET_AVX512 std::uint64_t keep_rows_avx512(std::uint8_t* rows, std::uint64_t first,
                                                std::uint64_t end, const std::uint64_t* bits) {
  constexpr std::uint64_t kRows = 64 / kStride, kLane = kStride == 4 ? 4 : 8,
                          kLanes = kStride / kLane;  // of a row
  std::uint64_t of_rows[8];
  for (std::uint64_t k = 0; k < 8; ++k)
    of_rows[k] = kStride == 4 ? bits[0] | bits[0] << 32 : bits[k % kLanes];
  const __m512i mask = _mm512_loadu_si512(of_rows);
  std::uint8_t* to = rows;
  for (std::uint64_t s = first; s < end; s += kRows) {
    const std::uint64_t lanes = kLanes * std::min(kRows, end - s);
    const auto there = static_cast<std::uint32_t>((std::uint64_t{1} << lanes) - 1);
    std::uint32_t kept;
    if constexpr (kLane == 4) {
      const __m512i v = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(there), rows + s * kStride);
      kept = _mm512_testn_epi32_mask(v, mask) & there;
      const __m512i together = _mm512_maskz_compress_epi32(static_cast<__mmask16>(kept), v);
      _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(there), together);
    } else {
      const __m512i v = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(there), rows + s * kStride);
      kept = _mm512_testn_epi64_mask(v, mask);
      if constexpr (kLanes == 2) kept = (kept & (kept >> 1) & 0x55) * 3;
      kept &= there;
      const __m512i together = _mm512_maskz_compress_epi64(static_cast<__mmask8>(kept), v);
      _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(there), together);
    }
    to += static_cast<std::uint64_t>(std::popcount(kept)) * kLane;
  }
  return static_cast<std::uint64_t>(to - rows) / kStride;
}

// Rows of up to 64 bytes, one at a time.
TW_TARGET_AVX512 std::uint64_t keep_each_avx512(std::uint8_t* rows, std::uint64_t stride,
                                                std::uint64_t first, std::uint64_t end,
                                                const std::uint64_t* bits) {
  const __mmask64 there = ~std::uint64_t{0} >> (64 - stride);
  const __m512i mask = _mm512_loadu_si512(bits);
  std::uint8_t* to = rows;
  for (std::uint64_t s = first; s < end; ++s) {
    const __m512i row = _mm512_maskz_loadu_epi8(there, rows + s * stride);
    _mm512_mask_storeu_epi8(to, there, row);
    to += _mm512_test_epi64_mask(row, mask) ? 0 : stride;
  }
  return static_cast<std::uint64_t>(to - rows) / stride;
}
#endif

}  // namespace

std::uint64_t keep_rows(std::uint8_t* rows, std::uint64_t stride, std::uint64_t bytes,
                        std::uint64_t first, std::uint64_t end,
                        std::span<const std::uint64_t> must_be_zero) {
  const std::vector<WordMask> words = words_of(must_be_zero, bytes);
  if (words.empty()) {  // rows without bits too
    if (first > 0) std::memmove(rows, rows + first * stride, (end - first) * stride);
    return end - first;
  }
  std::uint64_t mask[8] = {};
  for (const WordMask& w : words) {
    if (w.byte < sizeof mask) mask[w.byte / 8] = w.mask;
  }
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512) {
    if (stride == 4) return keep_rows_avx512<4>(rows, first, end, mask);
    if (stride == 8) return keep_rows_avx512<8>(rows, first, end, mask);
    if (stride == 16) return keep_rows_avx512<16>(rows, first, end, mask);
    if (stride > kShortRow && stride <= sizeof mask)
      return keep_each_avx512(rows, stride, first, end, mask);
  }
#endif
  if (stride <= kShortRow) {
    const auto keep = keeper_of(stride, std::make_index_sequence<kShortRow>());
    return keep(rows, first, end, reinterpret_cast<const std::uint8_t*>(mask));
  }
  std::uint8_t* to = rows;
  for (std::uint64_t begin = first; begin < end; begin += kTogether) {
    const std::uint64_t num_rows = std::min(kTogether, end - begin);
    const std::uint8_t* from = rows + begin * stride;
    std::uint8_t failed[kTogether];
    flag_rows(from, stride, num_rows, words, failed);
    to = move_runs(from, stride, failed, num_rows, to);
  }
  return static_cast<std::uint64_t>(to - rows) / stride;
}

}  // namespace tilewave::stabilizer
