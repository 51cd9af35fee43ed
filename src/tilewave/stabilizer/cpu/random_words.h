// Random words of a stream, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/stabilizer/noise.h"

namespace tilewave::stabilizer {

/// words[2 i], words[2 i + 1]: the two halves of block first + i. Up to 15 blocks more than `blocks`
/// may be written.
void random_words(const UnitStream& s, std::uint32_t first, std::size_t blocks,
                  std::uint64_t* words);

}  // namespace tilewave::stabilizer
