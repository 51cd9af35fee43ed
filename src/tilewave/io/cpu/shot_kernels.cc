#include "tilewave/io/cpu/shot_kernels.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tilewave/base/cpu_dispatch.h"

namespace tilewave::io {
namespace {

// Calls word(at, bits) for the words of the bits [first, end) of a row.
template <class F>
[[gnu::always_inline]] inline void for_each_word(const std::uint8_t* row, std::uint32_t first,
                                                 std::uint32_t end, F word) {
  std::uint32_t at = first;
  for (; end - at >= 64; at += 64) {
    std::uint64_t bits;
    std::memcpy(&bits, row + at / 8, 8);
    word(at, bits);
  }
  if (at == end) return;
  std::uint64_t bits = 0;
  std::memcpy(&bits, row + at / 8, (end - at + 7) / 8);
  word(at, bits & ((std::uint64_t{1} << (end - at)) - 1));
}

// Four ones of a word are always stored; more are rare.
[[gnu::always_inline]] inline std::uint16_t* ones_body(const OnesJob& job) {
  std::uint16_t* to = job.to;
  for (std::size_t r = 0; r < job.num_rows; ++r) {
    for_each_word(
        job.rows + r * job.stride, job.first,
        job.last, [&](std::uint32_t at, std::uint64_t word) __attribute__((always_inline)) {
          std::uint16_t* end = to;
          to += std::popcount(word);
          do {
            for (int k = 0; k < 4; ++k, word &= word - 1)
              *end++ = static_cast<std::uint16_t>(
                  at - job.first + static_cast<std::uint32_t>(std::countr_zero(word)));
          } while (__builtin_expect(word != 0, 0));
        });
    *to = job.end;
    to += job.ends;
  }
  return to;
}
TW_TARGET_AVX2 std::uint16_t* ones_avx2(const OnesJob& job) { return ones_body(job); }
std::uint16_t* ones_base(const OnesJob& job) { return ones_body(job); }

#if defined(__x86_64__)
#define TW_TARGET_VBMI2 \
  __attribute__((       \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))

// The bytes that are not zero of some blocks of 2048 bits, eight to a word, each block's last word
// filled with zeros.
struct DenseBytes {
  static constexpr std::size_t kBlocks = 16;
  alignas(64) std::uint8_t value[(kBlocks + 1) * 256], number[(kBlocks + 1) * 256];
  alignas(64) std::uint16_t base[(kBlocks + 1) * 32];     // of a word: bit of the block's byte 0
  alignas(64) std::uint8_t row_ends[(kBlocks + 1) * 32];  // behind this word
};

// First the bytes that are not zero are brought together (one byte in ten), then the ones of eight
// of them at a time: positions 0 to 63 compressed by the bits, a position's upper part chooses the
// number of its byte. 16 are always stored. Neither loop ends at a place that depends on the bits
// of one row: such ends cannot be foreseen, and cost as much as the rest.
TW_TARGET_VBMI2 std::uint16_t* ones_vbmi2(const OnesJob& job) {
  constexpr std::uint32_t kBlockBits = 2048;
  DenseBytes d;
  alignas(64) std::uint8_t bytes[64];
  for (int k = 0; k < 64; ++k) bytes[k] = static_cast<std::uint8_t>(k);
  const __m512i iota = _mm512_load_si512(bytes);
  const std::size_t blocks = (job.last - job.first + kBlockBits - 1) / kBlockBits;
  const std::size_t at_once = DenseBytes::kBlocks / blocks;
  const std::uint32_t tail_bits = job.last % 8;
  std::uint16_t* to = job.to;
  for (std::size_t from = 0; from < job.num_rows; from += at_once) {
    const std::size_t rows = std::min(at_once, job.num_rows - from);
    std::uint32_t words = 0;
    for (std::size_t k = 0; k < rows * blocks; ++k) {
      const auto block = static_cast<std::uint32_t>(k % blocks);
      const std::uint32_t first = job.first + block * kBlockBits;
      const std::uint32_t end = std::min(job.last, first + kBlockBits);
      const std::uint8_t* row = job.rows + (from + k / blocks) * job.stride;
      std::uint32_t count = 8 * words;
      for (std::uint32_t byte = first / 8; byte < (end + 7) / 8; byte += 64) {
        const std::uint32_t left = (end + 7) / 8 - byte;
        const __mmask64 used = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
        __m512i v = _mm512_maskz_loadu_epi8(used, row + byte);
        if (left <= 64 && tail_bits && end == job.last) {
          const __m512i mask = _mm512_set1_epi8(static_cast<char>((1u << tail_bits) - 1));
          v = _mm512_mask_blend_epi8(__mmask64{1} << (left - 1), v, _mm512_and_si512(v, mask));
        }
        const __mmask64 some = _mm512_test_epi8_mask(v, v);
        const __m512i numbers =
            _mm512_add_epi8(iota, _mm512_set1_epi8(static_cast<char>(byte - first / 8)));
        _mm512_storeu_si512(d.value + count, _mm512_maskz_compress_epi8(some, v));
        _mm512_storeu_si512(d.number + count, _mm512_maskz_compress_epi8(some, numbers));
        count += static_cast<std::uint32_t>(std::popcount(some));
      }
      // A word at least, for the end of the row; zeros follow the last byte.
      std::memset(d.value + count, 0, 16);
      _mm512_storeu_si512(d.base + words, _mm512_set1_epi16(static_cast<short>(first - job.first)));
      std::memset(d.row_ends + words, 0, 32);
      words = std::max(words + 1, (count + 7) / 8);
      d.row_ends[words - 1] = job.ends && block == blocks - 1;
    }
    for (std::uint32_t w = 0; w < words; ++w) {
      std::uint64_t word;
      std::memcpy(&word, d.value + 8 * w, 8);
      const auto ones = static_cast<std::uint32_t>(std::popcount(word));
      const __m256i base = _mm256_set1_epi16(static_cast<short>(d.base[w]));
      const __m128i number = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(d.number + 8 * w));
      __m512i places = _mm512_maskz_compress_epi8(word, iota);
      for (std::uint32_t done = 0;;) {
        const __m128i place = _mm512_castsi512_si128(places);
        const __m128i byte =
            _mm_shuffle_epi8(number, _mm_and_si128(_mm_srli_epi16(place, 3), _mm_set1_epi8(7)));
        const __m128i bit = _mm_and_si128(place, _mm_set1_epi8(7));
        const __m256i one = _mm256_or_si256(_mm256_slli_epi16(_mm256_cvtepu8_epi16(byte), 3),
                                            _mm256_cvtepu8_epi16(bit));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + done), _mm256_or_si256(one, base));
        done += 16;
        if (__builtin_expect(done >= ones, 1)) break;
        places = _mm512_shuffle_i64x2(places, places, 0b00111001);
      }
      to[ones] = job.end;
      to += ones + d.row_ends[w];
    }
  }
  return to;
}
#endif

char* runs_plain(const std::uint16_t* ones, std::size_t count, std::uint32_t end, char* to) {
  std::uint32_t at = 0;
  for (std::size_t k = 0; k < count; ++k) {
    to = run_of(ones[k] - at, to);
    at = ones[k] == end ? 0 : ones[k] + 1u;
  }
  return to;
}

#if defined(__x86_64__)
TW_TARGET_VBMI2 inline __m512i sixteen(const std::uint16_t* from) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

// 16 runs at a time as four bytes each, 255 255 255 rest, of which those needed are kept; runs of
// 1020 zeros are rare.
TW_TARGET_VBMI2 char* runs_vbmi2(const std::uint16_t* ones, std::size_t count, std::uint32_t end,
                                 char* to) {
  const __m512i one = _mm512_set1_epi32(1), ends = _mm512_set1_epi32(static_cast<int>(end));
  const __m512i byte = _mm512_set1_epi32(static_cast<int>(0xFF020100u));  // the last is always kept
  for (std::size_t k = 0; k < count; k += 16) {
    const std::size_t n = std::min<std::size_t>(16, count - k);
    const __m512i before = sixteen(ones + k - 1);
    const __m512i at = _mm512_maskz_add_epi32(_mm512_cmpneq_epu32_mask(before, ends), before, one);
    const __m512i zeros = _mm512_sub_epi32(sixteen(ones + k), at);
    const auto used = static_cast<__mmask16>((1u << n) - 1);
    if (__builtin_expect(_mm512_mask_cmpge_epu32_mask(used, zeros, _mm512_set1_epi32(4 * 255)) != 0,
                         0)) {
      for (std::size_t j = k; j < k + n; ++j)
        to = run_of(ones[j] - (ones[j - 1] == end ? 0u : ones[j - 1] + 1u), to);
      continue;
    }
    const __m512i full = _mm512_srli_epi32(
        _mm512_mullo_epi32(_mm512_add_epi32(zeros, one), _mm512_set1_epi32(257)), 16);
    const __m512i rest =
        _mm512_sub_epi32(zeros, _mm512_sub_epi32(_mm512_slli_epi32(full, 8), full));
    const __m512i bytes =
        _mm512_or_si512(_mm512_slli_epi32(rest, 24), _mm512_set1_epi32(0x00FFFFFF));
    const __m512i fulls = _mm512_mullo_epi32(full, _mm512_set1_epi32(0x01010101));
    const __mmask64 kept = _mm512_cmpgt_epi8_mask(fulls, byte) &
                           (n == 16 ? ~__mmask64{0} : (__mmask64{1} << (4 * n)) - 1);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(kept, bytes));
    to += std::popcount(kept);
  }
  return to;
}
#endif

}  // namespace

OnesKernel pick_ones() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512 && __builtin_cpu_supports("avx512vbmi2")) return ones_vbmi2;
#endif
  return cpu_level() == CpuLevel::kBase ? ones_base : ones_avx2;
}

RunsKernel pick_runs() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512 && __builtin_cpu_supports("avx512vbmi2")) return runs_vbmi2;
#endif
  return runs_plain;
}

}  // namespace tilewave::io
