// The formats that list the ones of a shot (hits, dets, r8, sparse). First the ones of some rows
// are brought together as numbers, without a branch per word: most words have none to two, and how
// many cannot be foreseen. Then their texts are copied from a table, or their distances taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewave/io/byte_buffer.h"

namespace tilewave::io {

/// Finds the ones of rows of `num_bits` bits.
class RowOnes {
 public:
  /// Throws Error(kResources) from 2^32 bits on.
  explicit RowOnes(std::uint64_t num_bits);

  /// The ones of some rows, or of a part of a long one, one after the other without a branch per
  /// row: a row ends with the number `end`, which stands for num_bits, and before the first stands
  /// one.
  struct Stretch {
    std::span<const std::uint16_t> numbers;  ///< from bit `first` on
    std::uint32_t first, end;
  };
  /// Calls f(stretch) for all rows in order.
  template <class F>
  void each(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows, F f) {
    for (std::size_t r = 0; r < num_rows; r += at_once_) {
      const std::size_t n = num_rows - r < at_once_ ? num_rows - r : at_once_;
      for (std::uint64_t first = 0; first == 0 || first < num_bits_; first += kPiece)
        f(stretch(rows + r * stride, stride, n, first));
    }
  }

 private:
  static constexpr std::uint64_t kPiece = 32768;  // bits at once; their numbers stay in the cache
  // The ones from bit `first` on, at most kPiece of them.
  Stretch stretch(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                  std::uint64_t first);
  std::uint64_t num_bits_;
  std::size_t at_once_;
  std::vector<std::uint16_t> numbers_;
};

/// The texts of the bits, ready to be copied: `width` bytes each (8 where that is enough, else 16),
/// the last of them the number of characters.
class LabelTable {
 public:
  /// `labels`: one a bit, and what ends a row; at most 15 characters.
  explicit LabelTable(const std::vector<std::string>& labels);
  std::size_t width() const { return width_; }
  const char* data() const { return bytes_.data(); }

 private:
  std::size_t width_ = 8;
  std::vector<char> bytes_;
};

/// For every row: `head`, the labels of its ones, a line end; in the place of the last label's
/// trailing comma when `commas`. The last label must be a line end and `head`.
void append_labels(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                   std::uint64_t num_bits, const LabelTable& labels, std::string_view head,
                   bool commas, ByteBuffer& out);

/// r8: a byte for every run of zeros before a one, and before the end; 255 goes on.
void append_runs(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, ByteBuffer& out);

/// A u32 count, then u32 numbers.
void append_numbers(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                    std::uint64_t num_bits, ByteBuffer& out);

}  // namespace tilewave::io
