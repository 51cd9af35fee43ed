// A pass prepared for the CPU: which bits are in the block at which time, and the kernels' steps
// with their tables.
//
// Slot s of a tile is its s-th active position. Slots 0..5 lie in a row; the other slots number the
// rows. The actions of the pass are split into phases by the planner's own scheduler, one level
// down: a phase brings up to `row_bits` row slots into the first-level cache and runs every action
// whose row targets are among them.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Place of a row in the tile: XOR-linear, spreads rows over cache sets.
std::uint32_t swizzle(std::uint32_t row, bool is_double);

/// A phase block on one block of rows: tables of the terms inside the block, and the terms that
/// depend on where the block lies. Terms are sorted by their row bits: none, one, or several.
/// Several row bits together with low bits (degree three and more) do not fit this form and make a
/// second, plain program.
template <class T>
struct PhaseProgram {
  struct Dynamic {              // a term with bits outside the block
    std::uint64_t outside = 0;  // positions
    std::uint32_t low = 0;      // bits inside the row
    std::uint64_t turns = 0;
    Complex<double> z{1, 0};  // e^{2 pi i turns / 2^64}
  };
  struct Factor {
    bool has_table = false;  // the table of terms inside the block is not 1
    bool has_low = false;    // some term has low bits
    Lines<T> table;          // 64 re, 64 im
    std::vector<Dynamic> dynamic;
    bool is_one() const { return !has_table && dynamic.empty(); }
  };
  Factor root;
  std::array<Factor, kMaxRowBits> bits;
  std::array<std::uint8_t, kMaxRowBits> bit_order{};  // those without a factor first
  std::vector<std::uint8_t> order;                    // the rows, counted in that order
  struct RowTerm {                                    // several row bits and bits outside
    std::uint64_t outside = 0;
    std::uint32_t rows = 0;
    std::uint64_t turns = 0;
    Complex<double> z{1, 0};
  };
  bool has_scalars = false;  // some terms have several row bits, or row bits without low bits
  Lines<T> scalars;          // of terms with row bits only: 2^b re, 2^b im; empty when all 1
  std::vector<std::uint8_t> scalar_class;  // of each row; empty where there are too many
  std::vector<RowTerm> dynamic_scalars;
  struct PlainTerm {  // any term of degree three and more over rows and low bits
    std::uint64_t outside = 0;
    std::uint32_t rows = 0, low = 0;
    std::uint64_t turns = 0;
  };
  std::vector<PlainTerm> plain;
};

template <class T>
struct Layer {
  bool has_phase = false;
  PhaseProgram<T> phase;  // before the lifts
  LayerStep<T> lifts;
};

template <class T>
using AnyStep = std::variant<Layer<T>, RowFlip, MaskedFlip, PairStep<T>, DenseStep<T>>;

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
};

/// Memory it takes.
template <class T>
std::size_t bytes_of(const TileProgram<T>& program);

/// Prepares a pass of at least 6 active positions.
template <class T>
TileProgram<T> make_tile_program(const Plan& plan, const Pass& pass, int row_bits);

}  // namespace tilewave::statevec::cpu
