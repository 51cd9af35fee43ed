// Which rows post-selection leaves, where a source has no way to give up shots before they are
// rows. Where many shots are kept, one takes 1 ns or less; so a row of up to 64 bytes is moved
// without a branch: rows of 4, 8 and 16 bytes a vector at a time. Longer ones are looked at 64 at a
// time, flags first, then whole runs of kept rows move.
#pragma once

#include <cstdint>
#include <span>

namespace tilewave::stabilizer {

/// Moves those of rows [first, end) in which none of the bits of `must_be_zero` (b at word b / 64)
/// is set to the front, in order, and returns how many. `rows` begin with row 0, `stride` bytes
/// apart, of which the first `bytes` count; 7 bytes behind the last may be read.
std::uint64_t keep_rows(std::uint8_t* rows, std::uint64_t stride, std::uint64_t bytes,
                        std::uint64_t first, std::uint64_t end,
                        std::span<const std::uint64_t> must_be_zero);

}  // namespace tilewave::stabilizer
