// A pass prepared for the CPU: which bits are in the block at which time, and the kernels' steps
// with their tables.
//
// Slot s of a tile is its s-th active position. Slots 0..5 lie in a row; the other slots number the
// rows. The actions of the pass are split into phases by the planner's own scheduler, one level
// down: a phase brings up to `row_bits` row slots into the first-level cache and runs every action
// whose row targets are among them.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Place of a row in the tile: XOR-linear, spreads rows over cache sets.
std::uint32_t swizzle(std::uint32_t row, bool is_double);

/// A phase block on one block: static tables and what depends on the position of the block in the
/// state.
template <class T>
struct PhaseProgram {
  struct Dynamic {              // a term with bits outside the block
    std::uint64_t outside = 0;  // positions
    std::uint32_t low = 0;      // bits inside the row
    std::uint64_t turns = 0;
  };
  struct Factor {
    std::uint32_t rows = 0;  // row bits
    bool has_table = false;  // table of terms inside the block is not 1
    std::vector<T> table;    // 64 re, 64 im
    std::vector<Dynamic> dynamic;
  };
  std::vector<Factor> factors;  // factor 0 has no row bits
  bool scalar = false;          // no term has low bits
};

template <class T>
using AnyStep =
    std::variant<LowLifts<T>, RowLifts<T>, RowFlip, MaskedFlip, DenseStep<T>, PhaseProgram<T>>;

template <class T>
struct BlockStep {
  std::uint64_t outside_mask = 0, outside_value = 0;  // over positions outside the block
  AnyStep<T> step;
};

template <class T>
struct BlockPhase {
  std::vector<std::uint32_t> rows;         // places of the 2^b rows of a block, relative
  std::vector<std::uint32_t> outer;        // places of the blocks of a tile
  std::vector<std::uint64_t> outer_index;  // their physical index bits
  int num_row_bits = 0;
  std::vector<BlockStep<T>> steps;
};

template <class T>
struct TileProgram {
  int num_slots = 0;
  std::vector<BlockPhase<T>> phases;
  int num_factor_tables = 0;  // most factors of any phase block: scratch tables a thread needs
};

/// Prepares a pass of at least 6 active positions.
template <class T>
TileProgram<T> make_tile_program(const Plan& plan, const Pass& pass, int row_bits);

}  // namespace tilewave::statevec::cpu
