// Rows of bits, sixty-four a word, and what flips a stretch of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewave::stabilizer {

using BitRow = std::vector<std::uint64_t>;

/// The words of a row from `first` on, those that are not all 0: what a Born bit flips is mostly near
/// its record.
struct RowSpan {
  std::size_t first = 0;
  std::vector<std::uint64_t> words;
  void flip(std::uint64_t* row) const {
    for (std::size_t w = 0; w < words.size(); ++w) row[first + w] ^= words[w];
  }
  bool meets(const std::uint64_t* row) const {
    std::uint64_t any = 0;
    for (std::size_t w = 0; w < words.size(); ++w) any |= row[first + w] & words[w];
    return any != 0;
  }
};

}  // namespace tilewave::stabilizer
