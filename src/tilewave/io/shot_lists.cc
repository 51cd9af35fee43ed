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

// Where to look for ones, and where to put them: ends[r] is behind those of row r. One place is
// left free before every row's.
struct OnesJob {
  const std::uint8_t* rows;
  std::size_t stride, num_rows;
  std::uint32_t first, last;  // bits
  std::uint16_t* to;
  std::uint16_t** ends;
};

// Four ones of a word are always stored; more are rare.
[[gnu::always_inline]] inline void ones_body(const OnesJob& job) {
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
    job.ends[r] = to;
  }
}
TW_TARGET_AVX2 void ones_avx2(const OnesJob& job) { ones_body(job); }
void ones_base(const OnesJob& job) { ones_body(job); }

#if defined(__x86_64__)
#define TW_TARGET_VBMI2 \
  __attribute__((       \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))

// The bytes of 2048 bits that are not zero, and their numbers.
struct DenseBytes {
  alignas(64) std::uint8_t value[256 + 64], number[256 + 64];
  std::uint32_t count, first;  // first: bit of byte 0
};

// First the bytes that are not zero are brought together (one byte in ten), then the ones of eight
// of them at a time: positions 0 to 63 compressed by the bits, a position's upper part chooses the
// number of its byte. 16 are always stored.
TW_TARGET_VBMI2 void ones_vbmi2(const OnesJob& job) {
  constexpr std::size_t kBlocks = 16;
  constexpr std::uint32_t kBlockBits = 2048;
  DenseBytes dense[kBlocks];
  alignas(64) std::uint8_t bytes[64];
  for (int k = 0; k < 64; ++k) bytes[k] = static_cast<std::uint8_t>(k);
  const __m512i iota = _mm512_load_si512(bytes);
  const std::size_t blocks = (job.last - job.first + kBlockBits - 1) / kBlockBits;
  const std::size_t at_once = std::max<std::size_t>(1, kBlocks / blocks);
  const std::uint32_t tail_bits = job.last % 8;
  std::uint16_t* to = job.to;
  for (std::size_t from = 0; from < job.num_rows; from += at_once) {
    const std::size_t rows = std::min(at_once, job.num_rows - from);
    for (std::size_t k = 0; k < rows * blocks; ++k) {
      DenseBytes& d = dense[k];
      d.first = job.first + static_cast<std::uint32_t>(k % blocks) * kBlockBits;
      const std::uint32_t end = std::min(job.last, d.first + kBlockBits);
      const std::uint8_t* row = job.rows + (from + k / blocks) * job.stride;
      std::uint32_t count = 0;
      for (std::uint32_t byte = d.first / 8; byte < (end + 7) / 8; byte += 64) {
        const std::uint32_t left = (end + 7) / 8 - byte;
        const __mmask64 used = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
        __m512i v = _mm512_maskz_loadu_epi8(used, row + byte);
        if (left <= 64 && tail_bits && end == job.last) {
          const __m512i mask = _mm512_set1_epi8(static_cast<char>((1u << tail_bits) - 1));
          v = _mm512_mask_blend_epi8(__mmask64{1} << (left - 1), v, _mm512_and_si512(v, mask));
        }
        const __mmask64 some = _mm512_test_epi8_mask(v, v);
        const __m512i numbers =
            _mm512_add_epi8(iota, _mm512_set1_epi8(static_cast<char>(byte - d.first / 8)));
        const __m512i packed = _mm512_maskz_compress_epi8(some, v);
        const __m512i packed_numbers = _mm512_maskz_compress_epi8(some, numbers);
        const auto more = static_cast<std::uint32_t>(std::popcount(some));
        // Half a vector stays within a line more often.
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d.value + count),
                            _mm512_castsi512_si256(packed));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d.number + count),
                            _mm512_castsi512_si256(packed_numbers));
        if (__builtin_expect(more > 24, 0)) {  // zeros shall follow
          _mm512_storeu_si512(d.value + count, packed);
          _mm512_storeu_si512(d.number + count, packed_numbers);
        }
        count += more;
      }
      d.count = count;  // zeros follow
    }
    for (std::size_t k = 0; k < rows * blocks; ++k) {
      const DenseBytes& d = dense[k];
      const __m256i base = _mm256_set1_epi16(static_cast<short>(d.first - job.first));
      for (std::uint32_t at = 0; at < d.count; at += 8) {
        std::uint64_t word;
        std::memcpy(&word, d.value + at, 8);
        const auto ones = static_cast<std::uint32_t>(std::popcount(word));
        const __m128i number = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(d.number + at));
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
        to += ones;
      }
      if (k % blocks == blocks - 1) job.ends[from + k / blocks] = to;
    }
  }
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

auto pick_ones() {
#if defined(__x86_64__)
  if (cpu_level() == CpuLevel::kAvx512 && __builtin_cpu_supports("avx512vbmi2")) return ones_vbmi2;
#endif
  return cpu_level() == CpuLevel::kBase ? ones_base : ones_avx2;
}

template <std::size_t Width>
[[gnu::always_inline]] inline char* copy_labels(const char* labels,
                                                std::span<const std::uint16_t> ones, char* to) {
  for (std::size_t one : ones) {
    const char* label = labels + Width * one;
    if constexpr (Width == 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, label, 8);
      std::memcpy(to, &bytes, 8);
      to += bytes >> 56;
    } else {
      std::memcpy(to, label, Width);
      to += static_cast<unsigned char>(label[Width - 1]);
    }
  }
  return to;
}

}  // namespace

RowOnes::RowOnes(std::uint64_t num_bits)
    : num_bits_(num_bits),
      at_once_(num_bits > 0 && num_bits < kPiece ? std::min<std::uint64_t>(64, kPiece / num_bits)
                                                 : 1),
      numbers_(kPiece + 64),  // 64: words are stored before they are counted
      ends_(at_once_),
      stretches_(at_once_) {
  if (num_bits >> 32) {
    throw Error(ExitCode::kResources, "a shot of " + std::to_string(num_bits) +
                                          " bits is too long for a list of its ones: use b8 or 01");
  }
}

std::span<const RowOnes::Stretch> RowOnes::rest(const std::uint8_t* rows, std::size_t stride,
                                                std::size_t num_rows, std::uint64_t first) {
  static const auto kOnes = pick_ones();
  const std::uint64_t last = std::min(num_bits_, first + kPiece);
  kOnes({rows, stride, num_rows, static_cast<std::uint32_t>(first),
         static_cast<std::uint32_t>(last), numbers_.data(), ends_.data()});
  const std::uint16_t* begin = numbers_.data();
  for (std::size_t r = 0; r < num_rows; ++r) {
    stretches_[r] = {
        {begin, ends_[r]}, static_cast<std::uint32_t>(first), first == 0, last == num_bits_};
    begin = ends_[r];
  }
  return {stretches_.data(), num_rows};
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
                   std::uint64_t num_bits, const LabelTable& labels, const char* head, bool commas,
                   ByteBuffer& out) {
  RowOnes reader(num_bits);
  const std::size_t head_size = std::strlen(head), width = labels.width();
  bool any = false;  // in the row at hand
  reader.each(rows, stride, num_shots, [&](std::span<const RowOnes::Stretch> stretches) {
    const auto room =
        static_cast<std::size_t>(stretches.back().numbers.data() + stretches.back().numbers.size() -
                                 stretches.front().numbers.data());
    char* const first = out.reserve((room + 1) * width + stretches.size() * (head_size + 1));
    char* to = first;
    for (const RowOnes::Stretch& s : stretches) {
      if (s.begins) {
        for (std::size_t k = 0; k < head_size; ++k) *to++ = head[k];
        any = false;
      }
      any |= !s.numbers.empty();
      const char* table = labels.data() + s.first * width;
      to =
          width == 8 ? copy_labels<8>(table, s.numbers, to) : copy_labels<16>(table, s.numbers, to);
      if (!s.ends) continue;
      to -= commas && any;
      *to++ = '\n';
    }
    out.add(static_cast<std::size_t>(to - first));
  });
}

void append_runs(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, ByteBuffer& out) {
  RowOnes reader(num_bits);
  std::uint32_t before = 0;
  reader.each(rows, stride, num_shots, [&](std::span<const RowOnes::Stretch> stretches) {
    for (const RowOnes::Stretch& s : stretches) {
      if (s.begins) before = ~std::uint32_t{0};
      char* const first = out.reserve(s.numbers.size() + num_bits / 255 + 24);
      char* to = first;
      for (std::uint32_t number : s.numbers) {
        const std::uint32_t one = s.first + number;
        to = run_of(one - (before + 1), to);
        before = one;
      }
      // As if a one followed the last bit.
      if (s.ends) to = run_of(static_cast<std::uint32_t>(num_bits) - (before + 1), to);
      out.add(static_cast<std::size_t>(to - first));
    }
  });
}

}  // namespace tilewave::io
