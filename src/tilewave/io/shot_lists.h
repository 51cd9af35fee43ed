// The formats that list the ones of a shot (hits, dets, r8), written without a branch per word of
// 64 bits: most words have none to two ones, and how many cannot be foreseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/io/byte_buffer.h"

namespace tilewave::io {

/// The texts of the bits, ready to be copied: `width` bytes each (8 where that is enough, else 16),
/// the last of them the number of characters.
class LabelTable {
 public:
  /// `labels`: one a bit, at most 15 characters.
  explicit LabelTable(const std::vector<std::string>& labels);
  std::size_t width() const { return width_; }
  const char* data() const { return bytes_.data(); }

 private:
  std::size_t width_ = 8;
  std::vector<char> bytes_;
};

/// For every row: `head`, the labels of its ones, a line end; in the place of the last label's
/// trailing comma when `commas`.
void append_labels(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                   std::uint64_t num_bits, const LabelTable& labels, const char* head, bool commas,
                   ByteBuffer& out);

/// r8: a byte for every run of zeros before a one, and before the end; 255 goes on.
void append_runs(const std::uint8_t* rows, std::size_t stride, std::size_t num_shots,
                 std::uint64_t num_bits, ByteBuffer& out);

}  // namespace tilewave::io
