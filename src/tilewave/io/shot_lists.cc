#include "tilewave/io/shot_lists.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"

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

// Where to look for ones, and where to put them, less `first`. Rows that end here get `end` behind
// their ones.
struct OnesJob {
  const std::uint8_t* rows;
  std::size_t stride, num_rows;
  std::uint32_t first, last;  // bits
  bool ends;
  std::uint16_t end;
  std::uint16_t* to;
};

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

// Eight times 255 are always stored; longer runs are rare.
[[gnu::always_inline]] inline char* run_of(std::uint32_t zeros, char* to) {
  for (; __builtin_expect(zeros >= 8 * 255, 0); zeros -= 255) *to++ = static_cast<char>(255);
  const std::uint32_t full = (zeros + 1) * 257 >> 16;  // zeros / 255
  std::memset(to, 255, 8);
  to[full] = static_cast<char>(zeros - full * 255);
  return to + full + 1;
}

// r8 of whole rows: the runs before `count` ones, row ends (`end`) among them; ones[-1] is a row
// end.
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

auto pick_runs() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512 && __builtin_cpu_supports("avx512vbmi2")) return runs_vbmi2;
#endif
  return runs_plain;
}

auto pick_ones() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512 && __builtin_cpu_supports("avx512vbmi2")) return ones_vbmi2;
#endif
  return cpu_level() == CpuLevel::kBase ? ones_base : ones_avx2;
}

// Copies the labels of a stretch; with Commas a line end takes the place of the comma before it.
// The place of a label depends on the one before by an addition only.
template <std::size_t Width, bool Commas>
char* copy_labels(const char* labels, const RowOnes::Stretch& s, bool& any, char* to) {
  if (s.numbers.empty()) return to;
  const char* const table = labels + Width * s.first;
  const std::size_t end = s.end;
  const std::uint16_t *one = s.numbers.data(), *const last = one + s.numbers.size() - 1;
  const auto copy = [&](std::size_t number) __attribute__((always_inline))->std::size_t {
    const char* label = table + Width * number;
    if constexpr (Width == 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, label, 8);
      std::memcpy(to, &bytes, 8);
      return bytes >> 56;
    } else {
      std::memcpy(to, label, Width);
      return static_cast<unsigned char>(label[Width - 1]);
    }
  };
  if (Commas && any && *one == end) --to;
  for (; one != last; ++one) {
    const std::size_t number = *one;
    to += copy(number) - (Commas && (number != end) & (one[1] == end));
  }
  any = *last != end;
  return to + copy(*last);
}

}  // namespace

RowOnes::RowOnes(std::uint64_t num_bits)
    : num_bits_(num_bits),
      at_once_(num_bits < kPiece ? std::min<std::uint64_t>(64, kPiece / (num_bits + 1)) : 1),
      numbers_(1 + kPiece + 2 * 64) {  // words are stored before they are counted
  if (num_bits >> 32) {
    throw Error(ExitCode::kResources, "a shot of " + std::to_string(num_bits) +
                                          " bits is too long for a list of its ones: use b8 or 01");
  }
}

RowOnes::Stretch RowOnes::stretch(const std::uint8_t* rows, std::size_t stride,
                                  std::size_t num_rows, std::uint64_t first) {
  static const auto kOnes = pick_ones();
  const std::uint64_t last = std::min(num_bits_, first + kPiece);
  const auto end = static_cast<std::uint16_t>(num_bits_ - first);  // read where the row ends only
  numbers_[0] = end;
  std::uint16_t* const begin = numbers_.data() + 1;
  std::uint16_t* behind = begin + num_rows;
  if (num_bits_ == 0) {
    std::fill(begin, behind, end);
  } else {
    behind = kOnes({rows, stride, num_rows, static_cast<std::uint32_t>(first),
                    static_cast<std::uint32_t>(last), last == num_bits_, end, begin});
  }
  return {{begin, behind},
          static_cast<std::uint32_t>(first),
          last == num_bits_ ? std::uint32_t{end} : ~std::uint32_t{0}};
}

LabelTable::LabelTable(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    TW_CHECK(label.size() < 16, "a label is too long");
    if (label.size() > 7) width_ = 16;
  }
  bytes_.resize(labels.size() * width_);
  for (std::size_t k = 0; k < labels.size(); ++k) {
    std::copy(labels[k].begin(), labels[k].end(),
              bytes_.begin() + static_cast<std::ptrdiff_t>(k * width_));
    bytes_[(k + 1) * width_ - 1] = static_cast<char>(labels[k].size());
  }
}

void append_labels(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                   std::uint64_t num_bits, const LabelTable& labels, std::string_view head,
                   bool commas, ByteBuffer& out) {
  if (num_shots == 0) return;
  const auto copy = labels.width() == 8 ? (commas ? copy_labels<8, true> : copy_labels<8, false>)
                                        : (commas ? copy_labels<16, true> : copy_labels<16, false>);
  RowOnes reader(num_bits);
  std::copy(head.begin(), head.end(), out.extend(head.size()));
  bool any = false;
  reader.each(rows, stride, num_shots, [&](const RowOnes::Stretch& s) {
    char* const to = out.reserve((s.numbers.size() + 1) * labels.width());
    out.add(static_cast<std::size_t>(copy(labels.data(), s, any, to) - to));
  });
  out.take_back(head.size());  // of the row behind the last
}

void append_runs(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, ByteBuffer& out) {
  static const auto kRuns = pick_runs();
  RowOnes reader(num_bits);
  std::uint32_t behind = 0;  // the last one of a row that goes on
  reader.each(rows, stride, num_shots, [&](const RowOnes::Stretch& s) {
    // A row has a byte a one, its end, and one for 255 zeros; a stretch at most 64 rows.
    char* const first = out.reserve(s.numbers.size() + 64 * (num_bits / 255) + 64);
    char* to = first;
    if (s.first == 0 && s.end == num_bits) {
      to = kRuns(s.numbers.data(), s.numbers.size(), s.end, to);
    } else {
      for (std::uint32_t number : s.numbers) {
        const std::uint32_t one = s.first + number;
        to = run_of(one - behind, to);
        behind = number == s.end ? 0 : one + 1;
      }
    }
    out.add(static_cast<std::size_t>(to - first));
  });
}

void append_numbers(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                    std::uint64_t num_bits, ByteBuffer& out) {
  RowOnes reader(num_bits);
  std::size_t at = 0;  // of the row's count
  bool open = false;
  reader.each(rows, stride, num_shots, [&](const RowOnes::Stretch& s) {
    for (std::uint32_t number : s.numbers) {
      if (!open) at = out.size(), out.extend(4), open = true;
      const std::uint32_t one = s.first + number;
      if (number != s.end) {
        std::memcpy(out.extend(4), &one, 4);
        continue;
      }
      const auto count = static_cast<std::uint32_t>((out.size() - at) / 4 - 1);
      std::memcpy(out.data() + at, &count, 4);
      open = false;
    }
  });
}

}  // namespace tilewave::io
