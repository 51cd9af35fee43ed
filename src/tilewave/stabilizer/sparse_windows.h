// How a device with fast memory of its own for each block of threads works through a unit of the
// sparse engine: the rows of the unit's shots as far as they fit, a window of words that moves from
// the first output bit to the last. A flip is then an exclusive or in that memory, and every word
// of a row is written to device memory once.
//
// Tiles come in the order of their first bit and are cut into steps whose bits lie in one window.
// Bits that do not move with a loop (observables) stand at the end of the rows and are kept beside
// the window. Where the rows of a whole unit would leave a window that is too narrow, several
// blocks share the unit: each draws all events and keeps those of its part of the shots, so the
// shots stay those of every other device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// A tile with the random stream it draws from: its index in SparseProgram::tiles.
struct WindowTile {
  std::uint32_t stream = 0, group = 0, shift = 0;
};

/// Tiles [first, first + count), whose moving bits lie in `words` words from `first_word` on.
struct WindowStep {
  std::uint32_t first = 0, count = 0, first_word = 0;
};

struct SparseWindows {
  std::uint32_t log2_parts = 0;   ///< blocks that share a unit
  std::uint32_t words = 0;        ///< 32-bit words of a shot in the window
  std::uint32_t first_fixed = 0;  ///< the words of a row before the fixed ones
  std::uint32_t fixed_words = 0;  ///< words at the end of a row that are kept beside it
  std::vector<WindowTile> tiles;  ///< by their first bit
  std::vector<WindowStep> steps;  ///< their first words never fall
};

/// Windows for `bytes` of fast memory a block, with steps of at most `most_tiles` tiles. Nothing
/// where a tile's bits lie too far apart for any share of a unit that is worth it. `most_shift`: the bits of
/// a shot stand by up to so many bits further in its words; the tiles come in the same order.
std::optional<SparseWindows> sparse_windows(const SparseProgram& program, std::uint64_t bytes,
                                            std::uint32_t most_tiles, std::uint32_t most_shift = 0);

}  // namespace tilewave::stabilizer
