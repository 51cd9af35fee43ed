// The formats that list the ones of a shot (hits, dets, r8, sparse). First the ones of some rows
// are brought together as numbers, without a branch per word: most words have none to two, and how
// many cannot be foreseen. Then their texts are copied from a table, or their distances taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tilewave/formats/shots/byte_buffer.h"

namespace tilewave::formats {

struct LabelJob;  // of cpu/kernels.h

/// Finds the ones of rows of `num_bits` bits.
class RowOnes {
 public:
  /// Throws Error(kResources) from 2^32 bits on.
  explicit RowOnes(std::uint64_t num_bits);
  /// Whether every stretch has whole rows.
  static bool has_whole_rows(std::uint64_t num_bits) { return num_bits <= kPiece; }

  /// The ones of some rows, or of a part of a long one, one after the other without a branch per
  /// row: a row ends with the number `end`, which stands for num_bits, and before the first stands
  /// one.
  struct Stretch {
    std::span<std::uint16_t> numbers;  ///< from bit `first` on
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
  static constexpr std::size_t kFront = 33;       // numbers in front of the first: an end last
  static constexpr std::uint64_t kPiece = 32768;  // bits at once; their numbers stay in the cache
  // The ones from bit `first` on, at most kPiece of them.
  Stretch stretch(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                  std::uint64_t first);
  std::uint64_t num_bits_;
  std::size_t at_once_;
  std::vector<std::uint16_t> numbers_;
};

/// Writes hits (`1,5`) or dets (`shot D1 L0`): for every row the labels of its ones and a line end.
/// By kernels where the machine has them, else by texts of all bits ready to be copied.
class LabelWriter {
 public:
  /// The bits of a row: measurements M, then detectors D, then observables L when `typed`; with
  /// `observables_first` the L are written before the others.
  LabelWriter(bool typed, std::uint64_t measurements, std::uint64_t detectors,
              std::uint64_t observables, bool observables_first = false);
  void append(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
              ByteBuffer& out) const;

 private:
  void make_table();
  void append_long(const std::uint8_t* row, ByteBuffer& out) const;

  bool typed_, observables_first_;
  std::uint64_t detectors_, observables_, bits_;  // the first bit behind each kind
  char* (*kernel_)(const LabelJob&, char*);       // null: texts come from the table
  std::size_t width_ = 8;                         // of a text: 8 where that is enough, else 16
  std::vector<char> table_;  // the last byte of a text is its number of characters
};

/// r8: a byte for every run of zeros before a one, and before the end; 255 goes on.
void append_runs(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, ByteBuffer& out);

/// A u32 count, then u32 numbers.
void append_numbers(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                    std::uint64_t num_bits, ByteBuffer& out);

}  // namespace tilewave::formats
