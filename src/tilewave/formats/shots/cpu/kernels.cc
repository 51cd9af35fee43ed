#include "tilewave/formats/shots/cpu/kernels.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewave::formats {
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
// The bytes that are not zero of some blocks of 2048 bits, eight to a word, each block's last word
// filled with zeros.
struct DenseBytes {
  static constexpr std::size_t kBlocks = 16;
  alignas(64) std::uint8_t value[(kBlocks + 1) * 256], number[(kBlocks + 1) * 256];
  alignas(
      64) std::uint32_t base[(kBlocks + 1) * 32];  // of a word: bit of the block's byte 0, twice
  alignas(64) std::uint8_t row_ends[(kBlocks + 1) * 32];  // behind this word
};

// First the bytes that are not zero are brought together (one byte in ten), then the ones of eight
// of them at a time: places (bit << 5 | byte) compressed by the bits; the byte chooses its number,
// so that number << 8 | place is 32 times the one. 16 are always stored. Neither loop ends at a
// place that depends on the bits of one row: such ends cannot be foreseen, and cost as much as the
// rest.
TW_TARGET_VBMI2 std::uint16_t* ones_vbmi2(const OnesJob& job) {
  constexpr std::uint32_t kBlockBits = 2048, kBlockVectors = kBlockBits / 512;
  DenseBytes d;
  alignas(64) std::uint8_t bytes[64], split[64];
  for (int k = 0; k < 64; ++k) {
    bytes[k] = static_cast<std::uint8_t>(k);
    split[k] = static_cast<std::uint8_t>(k >> 3 | (k & 7) << 5);
  }
  const __m512i places_of_all = _mm512_load_si512(split);
  const __m512i iota = _mm512_load_si512(bytes), next = _mm512_set1_epi8(64);
  const std::uint32_t num_bits = job.last - job.first, vectors = (num_bits + 511) / 512;
  const std::uint32_t blocks = (vectors + kBlockVectors - 1) / kBlockVectors;
  const std::size_t at_once = DenseBytes::kBlocks / blocks;
  // What counts of a row's last vector.
  const std::uint32_t last_bytes = (num_bits + 7) / 8 - 64 * (vectors - 1);
  const __mmask64 last_used = ~__mmask64{0} >> (64 - last_bytes);
  const __m512i last_mask = _mm512_mask_mov_epi8(
      _mm512_set1_epi8(-1), __mmask64{1} << (last_bytes - 1),
      _mm512_set1_epi8(static_cast<char>(num_bits % 8 ? (1u << num_bits % 8) - 1 : 255)));
  std::uint16_t* to = job.to;
  for (std::size_t from = 0; from < job.num_rows; from += at_once) {
    const std::size_t rows = std::min(at_once, job.num_rows - from);
    std::uint32_t words = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint8_t* at = job.rows + (from + r) * job.stride + job.first / 8;
      for (std::uint32_t block = 0; block < blocks; ++block) {
        std::uint32_t count = 8 * words;
        __m512i numbers = iota;
        const auto bring = [&](__m512i v) TW_TARGET_VBMI2 __attribute__((always_inline)) {
          const __mmask64 some = _mm512_test_epi8_mask(v, v);
          _mm512_storeu_si512(d.value + count, _mm512_maskz_compress_epi8(some, v));
          _mm512_storeu_si512(d.number + count, _mm512_maskz_compress_epi8(some, numbers));
          count += static_cast<std::uint32_t>(std::popcount(some));
        };
        const bool last = block == blocks - 1;
        const std::uint32_t whole = last ? vectors - 1 - block * kBlockVectors : kBlockVectors;
        for (std::uint32_t k = 0; k < whole; ++k, at += 64) {
          bring(_mm512_loadu_si512(at));
          numbers = _mm512_add_epi8(numbers, next);
        }
        if (last) bring(_mm512_and_si512(_mm512_maskz_loadu_epi8(last_used, at), last_mask));
        // A word at least, for the end of the row; zeros follow the last byte.
        std::memset(d.value + count, 0, 16);
        const __m512i base = _mm512_set1_epi32(static_cast<int>(block * kBlockBits * 0x10001));
        _mm512_storeu_si512(d.base + words, base);
        _mm512_storeu_si512(d.base + words + 16, base);
        std::memset(d.row_ends + words, 0, 32);
        words = std::max(words + 1, (count + 7) / 8);
        d.row_ends[words - 1] = job.ends && last;
      }
    }
    for (std::uint32_t w = 0; w < words; ++w) {
      std::uint64_t word;
      std::memcpy(&word, d.value + 8 * w, 8);
      const auto ones = static_cast<std::uint32_t>(std::popcount(word));
      const __m256i base = _mm256_set1_epi32(static_cast<int>(d.base[w]));
      const __m256i number = _mm256_castsi128_si256(
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(d.number + 8 * w)));
      __m512i places = _mm512_maskz_compress_epi8(word, places_of_all);
      for (std::uint32_t done = 0;;) {
        const __m256i place = _mm256_cvtepu8_epi16(_mm512_castsi512_si128(places));
        const __m256i byte = _mm256_permutexvar_epi8(_mm256_slli_epi16(place, 8), number);
        const __m256i one = _mm256_srli_epi16(_mm256_mask_mov_epi8(byte, 0x55555555, place), 5);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + done), _mm256_add_epi16(one, base));
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

// Moves number k, one from `first` on, behind those of its row that are in front already.
inline void bring_one(std::uint16_t* numbers, std::size_t k, std::uint16_t first,
                      std::uint16_t end) {
  const std::uint16_t number = numbers[k];
  for (; k > 0 && numbers[k - 1] != end && numbers[k - 1] < first; --k) numbers[k] = numbers[k - 1];
  numbers[k] = number;
}
void bring_forward_plain(std::uint16_t* numbers, std::size_t count, std::uint16_t first,
                         std::uint16_t end) {
  for (std::size_t k = 0; k < count; ++k) {
    if (numbers[k] >= first && numbers[k] != end) bring_one(numbers, k, first, end);
  }
}

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

TW_TARGET_VBMI2 void bring_forward_vbmi2(std::uint16_t* numbers, std::size_t count,
                                         std::uint16_t first, std::uint16_t end) {
  const __m512i from_first = _mm512_set1_epi16(static_cast<short>(first)),
                row_end = _mm512_set1_epi16(static_cast<short>(end));
  for (std::size_t k = 0; k < count; k += 32) {
    const __m512i v = _mm512_loadu_si512(numbers + k);
    std::uint32_t some =
        _mm512_cmpge_epu16_mask(v, from_first) & _mm512_cmpneq_epu16_mask(v, row_end);
    if (count - k < 32) some &= (1u << (count - k)) - 1;
    for (; some; some &= some - 1) {
      const std::size_t at = k + static_cast<std::size_t>(std::countr_zero(some));
      // The 31 numbers before it; its place is behind the last of them that stays in front of it.
      std::uint16_t* const from = numbers + at - 31;
      const __m512i old = _mm512_loadu_si512(from);
      const std::uint32_t before = _mm512_cmpge_epu16_mask(old, from_first) & 0x7FFFFFFFu;
      if (__builtin_expect(before == 0, 0)) {
        bring_one(numbers, at, first, end);
        continue;
      }
      const std::uint32_t place = std::uint32_t{1} << std::bit_width(before);
      const __m512i moved = _mm512_loadu_si512(from - 1);
      const __m512i number = _mm512_set1_epi16(static_cast<short>(numbers[at]));
      _mm512_mask_storeu_epi16(from, ~(place - 1), _mm512_mask_mov_epi16(moved, place, number));
    }
  }
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
      for (const std::uint16_t* o = ones + k; o < ones + k + n; ++o)
        to = run_of(*o - (o[-1] == end ? 0u : o[-1] + 1u), to);
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
  if (has_vbmi2()) return ones_vbmi2;
#endif
  return cpu_level() == CpuLevel::kBase ? ones_base : ones_avx2;
}

BringForward pick_bring_forward() {
#if defined(__x86_64__)
  if (has_vbmi2()) return bring_forward_vbmi2;
#endif
  return bring_forward_plain;
}

RunsKernel pick_runs() {
#if defined(__x86_64__)
  if (has_vbmi2()) return runs_vbmi2;
#endif
  return runs_plain;
}

}  // namespace tilewave::formats
