#include "tilewave/io/shot_lists.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/cpu_dispatch.h"
#include "tilewave/base/error.h"

namespace tilewave::io {
namespace {

// The lowest one of a word; anything below 64 when there is none.
[[gnu::always_inline]] inline std::uint64_t lowest(std::uint64_t word) {
  return static_cast<std::uint64_t>(__builtin_ctzll(word | (std::uint64_t{1} << 63)));
}

// The label of the lowest one, no characters when there is none.
template <std::size_t Width>
[[gnu::always_inline]] inline char* copy_label(const char* labels, std::uint64_t word, char* to) {
  const char* label = labels + Width * lowest(word);
  std::size_t size;
  if constexpr (Width == 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, label, 8);
    std::memcpy(to, &bytes, 8);
    size = bytes >> 56;
  } else {
    std::memcpy(to, label, Width);
    size = static_cast<unsigned char>(label[Width - 1]);
  }
  return to + (size & (std::size_t{0} - std::size_t{word != 0}));
}

struct LabelJob {
  std::uint64_t num_bits;
  const char* labels;
  const char* head;
  std::size_t head_size;
  bool commas;
};

// Calls word(at, bits) for the words of a row.
template <class F>
[[gnu::always_inline]] inline void for_each_word(const std::uint8_t* row, std::uint64_t num_bits,
                                                 F word) {
  std::uint64_t at = 0;
  for (; at + 64 <= num_bits; at += 64) {
    std::uint64_t bits;
    std::memcpy(&bits, row + at / 8, 8);
    word(at, bits);
  }
  if (at == num_bits) return;
  std::uint64_t bits = 0;
  std::memcpy(&bits, row + at / 8, (num_bits - at + 7) / 8);
  word(at, bits & ((std::uint64_t{1} << (num_bits - at)) - 1));
}

template <std::size_t Width>
[[gnu::always_inline]] inline char* labels_body(const LabelJob& job, const std::uint8_t* row,
                                                char* to) {
  std::memcpy(to, job.head, job.head_size);
  to += job.head_size;
  char* const first = to;
  const char* const labels = job.labels;
  for_each_word(
      row, job.num_bits, [&](std::uint64_t at, std::uint64_t word) __attribute__((always_inline)) {
        const char* here = labels + at * Width;
        char* end = to;  // three copies without a branch: more ones are rare
        end = copy_label<Width>(here, word, end);
        word &= word - 1;
        end = copy_label<Width>(here, word, end);
        word &= word - 1;
        end = copy_label<Width>(here, word, end);
        for (word &= word - 1; word; word &= word - 1) end = copy_label<Width>(here, word, end);
        to = end;
      });
  if (job.commas && to != first) --to;
  *to++ = '\n';
  return to;
}

[[gnu::always_inline]] inline char* runs_body(std::uint64_t num_bits, const std::uint8_t* row,
                                              char* out) {
  char* to = out;
  std::uint64_t from = 0;
  const auto long_run = [](std::uint64_t zeros, char* end) {
    for (; zeros >= 255; zeros -= 255) *end++ = static_cast<char>(255);
    *end++ = static_cast<char>(zeros);
    return end;
  };
  for_each_word(
      row, num_bits, [&](std::uint64_t at, std::uint64_t word) __attribute__((always_inline)) {
        char* end = to;
        std::uint64_t behind = from;
        const auto next = [&]() __attribute__((always_inline)) {
          const std::uint64_t one = at + lowest(word), zeros = one - behind, any = word != 0;
          if (__builtin_expect((zeros >= 255) & any, 0)) {
            end = long_run(zeros, end);
          } else {
            *end = static_cast<char>(zeros);
            end += any;
          }
          behind = any ? one + 1 : behind;
          word &= word - 1;
        };
        next();
        next();
        next();
        while (word) next();
        to = end, from = behind;
      });
  return long_run(num_bits - from, to);  // as if a one followed the last bit
}

template <std::size_t Width>
TW_TARGET_AVX2 char* labels_avx2(const LabelJob& job, const std::uint8_t* row, char* to) {
  return labels_body<Width>(job, row, to);
}
template <std::size_t Width>
char* labels_base(const LabelJob& job, const std::uint8_t* row, char* to) {
  return labels_body<Width>(job, row, to);
}
TW_TARGET_AVX2 char* runs_avx2(std::uint64_t num_bits, const std::uint8_t* row, char* to) {
  return runs_body(num_bits, row, to);
}
char* runs_base(std::uint64_t num_bits, const std::uint8_t* row, char* to) {
  return runs_body(num_bits, row, to);
}

}  // namespace

LabelTable::LabelTable(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    TW_CHECK(label.size() < 16, "a label is too long");
    if (label.size() > 7) width_ = 16;
  }
  bytes_.resize((labels.size() + 64) * width_);  // the last word may look behind the last bit
  for (std::size_t k = 0; k < labels.size(); ++k) {
    std::copy(labels[k].begin(), labels[k].end(),
              bytes_.begin() + static_cast<std::ptrdiff_t>(k * width_));
    bytes_[(k + 1) * width_ - 1] = static_cast<char>(labels[k].size());
  }
}

void append_labels(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                   std::uint64_t num_bits, const LabelTable& labels, const char* head, bool commas,
                   ByteBuffer& out) {
  const LabelJob job{num_bits, labels.data(), head, std::strlen(head), commas};
  const bool base = cpu_level() == CpuLevel::kBase;
  const auto write = labels.width() == 8 ? (base ? labels_base<8> : labels_avx2<8>)
                                         : (base ? labels_base<16> : labels_avx2<16>);
  for (std::size_t s = 0; s < num_shots; ++s) {
    char* const to = out.reserve((num_bits + 4) * labels.width() + job.head_size);
    out.add(static_cast<std::size_t>(write(job, rows + s * stride, to) - to));
  }
}

void append_runs(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, ByteBuffer& out) {
  const auto write = cpu_level() == CpuLevel::kBase ? runs_base : runs_avx2;
  for (std::size_t s = 0; s < num_shots; ++s) {
    char* const to = out.reserve(num_bits + num_bits / 255 + 8);
    out.add(static_cast<std::size_t>(write(num_bits, rows + s * stride, to) - to));
  }
}

}  // namespace tilewave::io
