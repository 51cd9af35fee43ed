// A pass prepared for the CPU: its outline (outline.h) as the kernels' steps with their tables.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/cpu/outline.h"
#include "tilewave/statevec/cpu/phase_program.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Place of a row in the tile: XOR-linear, spreads rows over cache sets.
std::uint32_t swizzle(std::uint32_t row, bool is_double);

/// Terms without row bits, then lifts inside rows.
template <class T>
struct LinkProgram {
  ColumnPhases<T> phases;
  std::uint64_t columns = 0;  // whose factor is not 1
  LayerStep<T> lifts;
};

template <class T>
struct Layer {
  bool has_phase = false;
  bool weighs = false;    // has weighted lifts: it has a phase block then
  PhaseProgram<T> phase;  // before the lifts
  LayerStep<T> lifts;
  std::vector<LinkProgram<T>> links;  // before the lifts on rows
};

/// Lifts on row bits with phases of rows between them: see SweepStep.
template <class T>
struct SweepProgram {
  SweepStep<T> step;  // without tables
  RowPhases<T> before;
  std::array<RowPhases<T>, kSweepBits> after;
};

template <class T>
using AnyStep = std::variant<Layer<T>, RowFlip, MaskedFlip, PairStep<T>, DenseStep<T>,
                             SweepProgram<T>, FactoredStep<T>>;

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
  double scale = 1;  ///< what its result is still to be multiplied by
  std::vector<BlockPhase<T>> phases;
};

/// Memory it takes.
template <class T>
std::size_t bytes_of(const TileProgram<T>& program);

/// Prepares a pass of at least 6 active positions.
template <class T>
TileProgram<T> make_tile_program(const Plan& plan, const Pass& pass, int row_bits);

}  // namespace tilewave::statevec::cpu
