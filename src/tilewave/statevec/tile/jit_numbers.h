// Numbers of a tile program (tangents, factors) that the kernel compiled for it takes as arguments:
// read by an instruction from there, they take no load and no register of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilewave/statevec/tile/jit_blocks.h"
#include "tilewave/statevec/tile/jit_operations.h"

namespace tilewave::statevec::tile {

/// A number that an operation reads: its bits, and how many instructions need it.
struct Number {
  std::uint64_t bits = 0;
  int uses = 0;  ///< 0: each thread has its own, or there is none
};

/// Numbers side by side, each needed so often.
std::vector<Number> numbers_at(const Operations& operations, std::size_t at,
                               const std::vector<int>& uses);

/// Of a phase on one register bit: W, g and s, and the factors of pairs, of which the one of bit b
/// is multiplied by once for each choice of the bits above.
std::vector<Number> numbers_of_phase(const Operations& operations, OpWord word,
                                     std::size_t payload);

/// Of a ChoiceLift: threads have factors of their own where a sign chooses them.
std::vector<Number> numbers_of_choice(const Operations& operations, const ListedOp& op,
                                      std::size_t payload);

struct KernelArguments {
  std::vector<std::uint64_t> bits;
  std::vector<std::vector<std::uint32_t>> lists;  ///< JitList of each operation

  /// As the kernel takes them: one at least.
  std::vector<std::byte> bytes(std::size_t number_bytes) const;
};

/// The numbers that become arguments: of those that are the same whenever their instruction runs,
/// as many as there is room for, those most needed first. `numbers`: of each operation.
KernelArguments choose_arguments(const CodeBlocks& shared,
                                 const std::vector<std::vector<Number>>& numbers,
                                 std::size_t number_bytes);

}  // namespace tilewave::statevec::tile
