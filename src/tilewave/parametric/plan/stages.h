// A pass as a program for the threads of a CUDA block. The 2^row_bits amplitudes of a tile lie in
// registers, 2^register_bits in each thread, and which bits of the row's number choose the register
// is a *layout*. Rotations mix amplitudes of one thread, so a rotation on another bit needs another
// layout: the threads exchange amplitudes through shared memory. Flips with at most one control among
// the row's bits are an affine map of row numbers over bits, r -> L r + k, and part of an exchange.
//
// Backward the same instructions run in the opposite order, each undone.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/parametric/plan/passes.h"
#include "tilewave/parametric/plan/stage_read.h"

namespace tilewave::parametric {

constexpr int kMostTileBits = 14;
constexpr int kMostRegisterBits = 4;

enum class StageOpKind : std::uint8_t { kExchange, kRotate, kFlip, kPhases, kMatrix };

/// What all threads do together.
struct StageOp {
  StageOpKind kind = StageOpKind::kRotate;
  std::uint8_t bit = 0;                            ///< kRotate, kFlip: of the register
  std::uint8_t registers = 0, register_value = 0;  ///< controls among the register's bits
  std::uint16_t thread = 0, thread_value = 0;      ///< controls among the thread's bits; of an
      ///< exchange `thread` is how many conditions it has
  std::uint32_t index = 0;                   ///< of the exchange, the phases or the matrix
  std::uint64_t outer = 0, outer_value = 0;  ///< controls among the wires that choose the tile
  std::int32_t angle = -1, read = -1;        ///< `read` counts from the first one of the pass
  std::int32_t accumulator = -1;             ///< kRotate: see StageRead
};

/// From one layout to another. Slot s < register_bits is bit s of the register's number, slot s >=
/// register_bits bit s - register_bits of the thread's; addresses are those of the tile in shared
/// memory, where a 1 in the slot adds (exclusive or) its column.
struct Exchange {
  std::uint16_t from[kMostTileBits] = {}, to[kMostTileBits] = {};
  std::uint16_t rows[kMostTileBits] = {};  ///< the bit of the row in each slot, afterwards
  std::uint16_t rows_before[kMostTileBits] = {};
  std::uint16_t plus = 0;            ///< added to addresses of `from`
  std::uint16_t num_conditions = 0;  ///< flips under control of wires that choose the tile
  std::uint32_t first_condition = 0;
};

/// `plus` is added to addresses of an exchange's `from` where these wires have these values.
struct ExchangeCondition {
  std::uint64_t outer = 0, outer_value = 0;
  std::uint16_t plus = 0;
};

/// Terms of phases by the bits of the register's number that they need: those that need exactly the
/// bits of m are first[m] .. first[m + 1] - 1.
struct StagePhases {
  std::uint32_t first[(1 << kMostRegisterBits) + 1] = {};
  /// first[m] .. tabled[m] - 1 do not depend on the tile: their product for every thread is table[m],
  /// where that is not -1.
  std::uint32_t tabled[1 << kMostRegisterBits] = {};
  std::int32_t table[1 << kMostRegisterBits] = {};
  std::int32_t accumulator[1 << kMostRegisterBits] = {};  ///< of the class, or -1: see StageRead
  std::uint32_t reads = 0;                                ///< how many terms are read
};

struct StageTerm {
  std::uint64_t outer = 0;
  std::uint32_t angle = 0;
  std::int32_t read = -1;
  std::uint16_t thread = 0;
};

/// Terms whose product every thread takes from a table.
struct StageTable {
  std::uint32_t first = 0, end = 0;
};

/// A matrix of 2^num_bits rows and columns on bits of the row, under controls among them.
struct StageMatrix {
  std::uint32_t num_bits = 0;
  std::uint16_t bits[8] = {};            ///< the bit of the row for each bit of the matrix's index
  std::uint32_t first = 0;               ///< its entries, row by row, in StageProgram::entries
  std::uint32_t row = 0, row_value = 0;  ///< controls
};

struct StagePass {
  std::uint64_t active = 0;  ///< wires of the rows
  std::uint64_t zeros = 0;
  std::uint32_t first_read = 0, num_reads = 0;
  std::uint32_t first_op = 0, num_ops = 0;
  std::uint32_t first_exchange = 0, num_kept = 0;  ///< exchanges whose addresses have room
  std::uint32_t first_phases = 0, num_phases = 0, first_term = 0, num_terms = 0;
  std::uint32_t kept_program_bytes = 0;  ///< of all that, where it has room; else 0
  std::uint32_t num_accumulators = 0, first_accumulated = 0, num_accumulated = 0;
};

/// Bytes of shared memory that a block has for accumulators and the addresses of exchanges, a number
/// of 8 bytes and one of 4 for each thread.
constexpr std::size_t kAccumulatorBytes = 8, kAddressBytes = 4;
constexpr std::size_t kMostProgramBytes = std::size_t{24} << 10;

struct StageProgram {
  int num_wires = 0, row_bits = 0, register_bits = 0;
  std::uint64_t zeros = 0;  ///< wires that no gate moves
  std::vector<StagePass> passes;
  std::vector<StageOp> ops;
  std::vector<Exchange> exchanges;  ///< the first one: the layout at the beginning, nothing moves
  std::vector<ExchangeCondition> conditions;
  std::vector<StagePhases> phases;
  std::vector<StageTerm> terms;
  std::vector<StageMatrix> matrices;
  std::vector<cplx> entries;
  std::vector<std::uint32_t> read_angle;
  std::vector<StageTable> tables;
  std::vector<StageRead> reads;
};

/// Where a row's amplitude is in shared memory: a linear map over bits, so that the threads of a warp
/// meet different banks. `bank_bits`: 3 for elements of 16 bytes, 4 for 8.
constexpr std::uint32_t swizzle(std::uint32_t row, int bank_bits) {
  std::uint32_t high = row >> bank_bits, folded = 0;
  for (; high; high >>= bank_bits) folded ^= high;
  return row ^ (folded & ((1u << bank_bits) - 1));
}

struct StageOptions {
  int register_bits = 3;
  int bank_bits = 3;             ///< 3: amplitudes of 16 bytes, 4: of 8
  std::size_t shared_bytes = 0;  ///< of a block, for the program, addresses and accumulators
  bool reads = false;            ///< derivatives are asked for
  bool tables = false;           ///< one set of values for all tiles: products of phases in tables
  bool compiled = false;         ///< for a kernel of its own: nothing of the program is in memory
};

/// `passes` have no lanes. Every pass begins and ends with the highest bits of the row in registers.
StageProgram make_stages(const Passes& passes, const StageOptions& options);

}  // namespace tilewave::parametric
