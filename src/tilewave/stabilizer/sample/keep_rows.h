// Post-selection: of packed rows, those stay that have no bit of a mask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewave::stabilizer {

class RowMask {
 public:
  /// `mask`: the bytes of a row.
  explicit RowMask(std::span<const std::uint8_t> mask);
  /// Copies the rows that stay side by side, row_bytes() each, and returns how many. Up to 7 bytes
  /// behind a row are read, and overwritten behind the last copy; `out` is another memory.
  std::size_t keep(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                   std::uint8_t* out) const;
  std::size_t row_bytes() const { return row_bytes_; }

 private:
  struct Word {
    std::size_t first_byte;
    std::uint64_t bits;
  };
  std::size_t row_bytes_;
  std::vector<Word> words_;  // with bits of the mask
};

}  // namespace tilewave::stabilizer
