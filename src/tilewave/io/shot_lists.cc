#include "tilewave/io/shot_lists.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/io/cpu/shot_kernels.h"

namespace tilewave::io {
namespace {

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
