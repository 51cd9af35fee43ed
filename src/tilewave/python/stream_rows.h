// Rows of bits out of a working buffer into a large array.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::python {

/// The first `bits` bits of `num_rows` rows, `stride` bytes apart, side by side in
/// ceil(bits / 8) bytes each, further bits of a last byte as 0. Up to 31 bytes behind a row are
/// read; nothing behind the array is written. What will be written is fetched ahead: stores past
/// the caches take longer here, since nothing is computed while they go to memory.
void stream_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                 std::uint64_t bits, std::uint8_t* out);

}  // namespace tilewave::python
