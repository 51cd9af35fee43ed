// Rows of bits out of a working buffer into a large array.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::python {

/// The first `bits` bits of `num_rows` rows, `stride` bytes apart, side by side in
/// ceil(bits / 8) bytes each, further bits of a last byte as 0. Up to 32 bytes behind every row may
/// be read. Packed in the first-level cache, then written past the caches: the array is as large as
/// memory and is read much later, and a line that is fetched only to be overwritten costs as much
/// as the write.
void stream_rows(const std::uint8_t* rows, std::size_t stride, std::size_t num_rows,
                 std::uint64_t bits, std::uint8_t* out);

}  // namespace tilewave::python
