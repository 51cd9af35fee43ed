// Rows of bits out of a working buffer into an array.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::python {

/// Where rows go: the first `bits` bits of each, side by side, in ceil(bits / 8) bytes (further
/// bits of the last one 0) or in a byte a bit.
struct RowForm {
  std::uint64_t bits = 0;
  bool bit_packed = true;
  std::size_t bytes() const { return static_cast<std::size_t>(bit_packed ? (bits + 7) / 8 : bits); }
};

/// Writes `num_rows` rows, which lie `stride` bytes apart; up to 63 bytes behind a row are read.
/// `past_caches`: whole lines go to memory without being read from there first. Half the traffic,
/// for arrays that the caches do not keep anyway.
void stream_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows, RowForm form,
                 bool past_caches, std::uint8_t* out);

}  // namespace tilewave::python
