#include "tilewave/formats/shots/lists.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/formats/shots/cpu/kernels.h"

namespace tilewave::formats {
namespace {

// Copies the labels of a stretch; with Commas a line end takes the place of the comma before it.
// The place of a label depends on the one before by an addition only.
template <std::size_t Width, bool Commas>
char* copy_labels(const char* labels, const RowOnes::Stretch& s, char* to) {
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
  for (; one != last; ++one) {
    const std::size_t number = *one;
    to += copy(number) - (Commas && (number != end) & (one[1] == end));
  }
  return to + copy(*last);
}

}  // namespace

RowOnes::RowOnes(std::uint64_t num_bits)
    : num_bits_(num_bits),
      at_once_(num_bits < kPiece ? std::min<std::uint64_t>(64, kPiece / (num_bits + 1)) : 1),
      numbers_(kFront + kPiece + 2 * 64) {  // words are stored before they are counted
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
  numbers_[kFront - 1] = end;
  std::uint16_t* const begin = numbers_.data() + kFront;
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

LabelWriter::LabelWriter(bool typed, std::uint64_t measurements, std::uint64_t detectors,
                         std::uint64_t observables, bool observables_first)
    : typed_(typed),
      observables_first_(observables_first && observables > 0),
      detectors_(measurements),
      observables_(measurements + detectors),
      bits_(observables_ + observables),
      kernel_(bits_ <= kMostLabelBits ? pick_labels(typed) : nullptr) {
  if (!kernel_) make_table();
}

void LabelWriter::make_table() {
  std::vector<std::string> texts(bits_);
  for (std::uint64_t b = 0; b < bits_; ++b) {
    if (!typed_) {
      texts[b] = std::to_string(b) + ",";
    } else if (b < detectors_) {
      texts[b] = " M" + std::to_string(b);
    } else if (b < observables_) {
      texts[b] = " D" + std::to_string(b - detectors_);
    } else {
      texts[b] = " L" + std::to_string(b - observables_);
    }
  }
  texts.push_back(typed_ ? "\nshot" : "\n");
  for (const std::string& text : texts) {
    TW_CHECK(text.size() < 16, "a label is too long");
    if (text.size() > 7) width_ = 16;
  }
  table_.resize(texts.size() * width_);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    std::copy(texts[k].begin(), texts[k].end(),
              table_.begin() + static_cast<std::ptrdiff_t>(k * width_));
    table_[(k + 1) * width_ - 1] = static_cast<char>(texts[k].size());
  }
}

// A row of several stretches, its observables first.
void LabelWriter::append_long(const std::uint8_t* row, ByteBuffer& out) const {
  std::string line = "shot";
  const auto put = [&](std::uint64_t from, std::uint64_t to, const char* kind, std::uint64_t less) {
    for (std::uint64_t b = from; b < to; ++b) {
      if ((row[b / 8] >> (b % 8)) & 1) line.append(kind).append(std::to_string(b - less));
    }
  };
  put(observables_, bits_, " L", observables_);
  put(0, detectors_, " M", 0);
  put(detectors_, observables_, " D", detectors_);
  line += '\n';
  std::copy(line.begin(), line.end(), out.extend(line.size()));
}

void LabelWriter::append(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                         ByteBuffer& out) const {
  if (num_rows == 0) return;
  constexpr std::string_view kHead = "shot";
  const bool commas = !typed_;
  if (observables_first_ && !RowOnes::has_whole_rows(bits_)) {
    for (std::size_t r = 0; r < num_rows; ++r) append_long(rows + r * stride, out);
    return;
  }
  static const BringForward kBringForward = pick_bring_forward();
  RowOnes reader(bits_);
  if (typed_) std::copy(kHead.begin(), kHead.end(), out.extend(kHead.size()));
  bool any = false;
  const auto write = [&](auto copy) {
    reader.each(rows, stride, num_rows, [&](const RowOnes::Stretch& s) {
      if (s.numbers.empty()) return;
      if (observables_first_)
        kBringForward(s.numbers.data(), s.numbers.size(), static_cast<std::uint16_t>(observables_),
                      static_cast<std::uint16_t>(s.end));
      char* const to = out.reserve((s.numbers.size() + 1) * width_ + 64);
      // A line end in the place of a comma that is written already.
      char* const from = to - (commas && any && s.numbers[0] == s.end);
      out.add(static_cast<std::size_t>(copy(s, from) - to));
      any = s.numbers.back() != s.end;
    });
  };
  if (kernel_) {
    write([&](const RowOnes::Stretch& s, char* to) {
      return kernel_(
          {s.numbers.data(), s.numbers.size(), static_cast<std::uint16_t>(s.first),
           s.end <= kMostLabelBits, static_cast<std::uint16_t>(s.end),
           static_cast<std::uint16_t>(detectors_), static_cast<std::uint16_t>(observables_)},
          to);
    });
  } else if (width_ == 8) {
    write([&](const RowOnes::Stretch& s, char* to) {
      return commas ? copy_labels<8, true>(table_.data(), s, to)
                    : copy_labels<8, false>(table_.data(), s, to);
    });
  } else {
    write([&](const RowOnes::Stretch& s, char* to) {
      return commas ? copy_labels<16, true>(table_.data(), s, to)
                    : copy_labels<16, false>(table_.data(), s, to);
    });
  }
  if (typed_) out.take_back(kHead.size());  // of the row behind the last
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

}  // namespace tilewave::formats
