// Which operations of a program share code when it is compiled (jit_source.h): one copy of each
// would jump at each operation, a copy for each may not fit the instruction cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewave::statevec::tile {

struct CodeBlocks {
  struct Block {
    std::size_t first, last;  ///< operations, at the first place where they come
  };
  struct Step {
    std::size_t block;
    std::size_t first;  ///< operation
  };
  std::vector<Block> blocks;
  std::vector<Step> steps;  ///< in the order of the program
};

/// `kind`: of each operation; those of one kind can run the same code. `place`: where its numbers
/// lie; in all runs of a block they are equally far apart. `bytes`: of the code of a kind. One
/// block where all operations fit in `most_straight`, otherwise as few steps as a greedy choice
/// finds within `most_bytes`; none where not even one copy of each kind fits.
std::optional<CodeBlocks> code_blocks(std::span<const int> kind,
                                      std::span<const std::uint32_t> place,
                                      std::span<const int> bytes, int most_straight,
                                      int most_bytes);

}  // namespace tilewave::statevec::tile
