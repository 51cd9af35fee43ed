#include "tilewave/stabilizer/sample/keep_rows.h"

#include <algorithm>
#include <cstring>

namespace tilewave::stabilizer {
namespace {

std::uint64_t word_at(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

RowMask::RowMask(std::span<const std::uint8_t> mask) : row_bytes_(mask.size()) {
  for (std::size_t first = 0; first < mask.size(); first += 8) {
    Word w{first, 0};
    std::memcpy(&w.bits, mask.data() + first, std::min<std::size_t>(8, mask.size() - first));
    if (w.bits != 0) words_.push_back(w);
  }
}

std::size_t RowMask::keep(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                          std::uint8_t* out) const {
  std::size_t kept = 0;
  if (row_bytes_ <= 8) {  // without a branch: every row is copied, and overwritten unless it stays
    const std::uint64_t bits = words_.empty() ? 0 : words_[0].bits;
    for (std::size_t s = 0; s < num_rows; ++s, rows += stride) {
      const std::uint64_t row = word_at(rows);
      std::memcpy(out + kept * row_bytes_, &row, sizeof row);
      kept += (row & bits) == 0;
    }
    return kept;
  }
  for (std::size_t s = 0; s < num_rows; ++s, rows += stride) {
    const bool fired = std::any_of(words_.begin(), words_.end(), [&](const Word& w) {
      return (word_at(rows + w.first_byte) & w.bits) != 0;
    });
    if (fired) continue;
    std::memcpy(out + kept * row_bytes_, rows, row_bytes_);
    ++kept;
  }
  return kept;
}

}  // namespace tilewave::stabilizer
