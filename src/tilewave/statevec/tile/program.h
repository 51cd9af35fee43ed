// Lowers a pass of a plan to a tile program (format.h): chooses which slots are register bits in
// each phase between exchanges, orders the actions, splits phase blocks into factors a level of the
// machine holds, and lays out shared memory without bank conflicts. Runs on the host; microseconds
// an action.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/tile/format.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

/// Of shared memory that a block of threads needs for a chunk.
inline constexpr std::uint32_t kLeastChunkBytes = 8192;

/// Limits of one chunk (shared memory of a block beside its tile); default: two tiles share a
/// multiprocessor.
struct ChunkLimits {
  std::uint32_t chunk_bytes = 32768;
  std::uint32_t num_linear = 32;
  std::uint32_t num_general = 4;
};

/// Shared memory that a block of threads is started with.
inline std::size_t block_bytes(const PassFrame& f, const Shape& shape) {
  const auto amplitude = static_cast<std::uint32_t>(amplitude_bytes(shape.precision));
  return (std::size_t{amplitude} << shape.block_qubits()) +
         linear_bytes(f, amplitude, shape.num_warps()) +
         general_bytes(f, amplitude, shape.thread_bits()) + row_bytes(f, shape.thread_bits()) +
         std::size_t{16} * f.max_chunk16;
}

/// Of shared memory beside that, which the compiler lays out: sums of warps, of the tile and by register
/// and lane bits, up to the alignment of the tile.
inline std::size_t sum_bytes(const Shape& shape) {
  const auto sums =
      static_cast<std::size_t>((2 + kMaxRegisterBits + kLaneBits) * shape.num_warps());
  return (sums * sizeof(double) + 127) / 128 * 128;
}

/// What a multiprocessor holds beside as many tiles as its kernel is compiled for, and a block of
/// threads beside its own.
ChunkLimits chunk_limits(const Shape& shape);
/// These limits, or shorter chunks where a block of threads would have too little shared memory.
ChunkLimits within_block(ChunkLimits limits, const Shape& shape);

/// A way to write a pass. Several are tried against each other.
struct Way {
  bool fold = true;             ///< X under at most one control becomes part of exchanges
  std::uint32_t seed = 0;       ///< see schedule_phases()
  bool through_shared = false;  ///< see Arrival
  bool tables = true;           ///< constant phases of several register bits may be one table
};

/// Which are tried.
struct Tries {
  Tries(int how_many) : count(how_many) {}           // NOLINT: a number of them says it all
  Tries(const Way& known) : count(1), way(known) {}  // NOLINT
  int count;
  std::optional<Way> way;      ///< this one alone, where it was found before
  std::function<bool()> ends;  ///< stops at the best one so far, if any and it says so
};

struct TilePass {
  Shape shape;
  PassFrame frame;
  std::vector<std::byte> code;    ///< chunks
  std::vector<std::byte> tables;  ///< large constants
  int num_exchanges = 0;
  int num_crossings = 0;
  int num_operations = 0;
  Way way;                    ///< how it was written
  bool needs_kernel = false;  ///< has operations that the interpreter does not know
  /// Of its arithmetic, exchanges and code for 2^30 amplitudes, by the costs it was written with and
  /// with a margin where predictions are worse: to compare ways to write a pass.
  double cost_ms = 0;
  OpCosts paid = no_costs();  ///< how often each cost is in that
};

/// Lowers plan.passes[pass]. States smaller than a tile are held padded: positions n..K-1 are known
/// zeros. The cheapest of the ways that are tried is taken by `costs` (null: as shipped): for the
/// interpreter or, with `compiled`, for a kernel of its own (jit_source.h).
TilePass lower_pass(const Plan& plan, std::size_t pass, const Shape& shape,
                    const ChunkLimits& limits, const Tries& tries = 1, bool compiled = false,
                    const WriterCosts* costs = nullptr);
inline TilePass lower_pass(const Plan& plan, std::size_t pass, const Shape& shape) {
  return lower_pass(plan, pass, shape, chunk_limits(shape));
}
constexpr int kManyTries = 18;    ///< while a device is busy with another pass
constexpr int kTriesAhead = 150;  ///< where nothing waits for them: 1 to 2% less
/// About the seconds that a try takes, and how many take less than `seconds`: one to kManyTries.
double try_s(const Pass& pass);
int tries_within(const Pass& pass, double seconds);

/// The same as one pass or, where its program is larger than `max_bytes`, as several (split.cc).
std::vector<TilePass> lower_within(const Plan& plan, std::size_t pass, const Shape& shape,
                                   std::size_t max_bytes, const ChunkLimits& limits,
                                   const Tries& tries, bool compiled = false,
                                   const WriterCosts* costs = nullptr);

namespace detail {

enum class OpKind : std::uint8_t { kLift, kFlip, kRotate, kMatrix1, kMatrix2, kMatrixShared };

/// A non-diagonal action on slots (bits of a 32-bit mask) and tile bits.
struct SlotOp {
  const Action* action = nullptr;
  OpKind kind = OpKind::kLift;
  std::uint8_t targets[kMaxTargets]{};
  std::uint8_t num_targets = 0;
  std::uint32_t target_mask = 0;    ///< slots it mixes
  std::uint32_t register_mask = 0;  ///< slots that must be register bits
  std::uint32_t control_mask = 0, control_value = 0;
  std::uint32_t tile_mask = 0, tile_value = 0;
  bool folds = false;  ///< becomes part of an exchange: X under at most one control is a linear map
                       ///< of the slots and an X
};

struct SlotTerm {
  std::uint32_t slots = 0, tile = 0;
  std::uint64_t turns = 0;
};

/// Either an operation (op >= 0) or a phase term.
struct Item {
  std::int32_t op = -1;
  std::int32_t term = -1;
};

/// In SlotPass::tile_position: the tile bit that stands for the slot of the block.
constexpr int kSlotOfBlock = -1;

struct Phase {
  std::uint32_t registers = 0;  ///< slots; none: maps and terms of a tile before the first phase
  std::uint32_t block = 0;  ///< the slot of the block, if any; another than in the phase before:
                            ///< a crossing leads here
  std::vector<Item> items;
  std::vector<std::int32_t> maps;  ///< affine operations after the items, in order: part of the
                                   ///< exchange that follows
};

/// A pass in slots and tile bits.
struct SlotPass {
  std::vector<SlotOp> ops;
  std::vector<SlotTerm> terms;
  std::vector<Item> items;         ///< in the order of the plan
  std::vector<int> slot_position;  ///< slot -> position
  std::vector<int> dest_position;  ///< slot -> position after the store
  std::vector<int> tile_position;  ///< tile bit -> position; kSlotOfBlock for that bit
};

SlotPass to_slots(const Plan& plan, const Pass& pass, const Shape& shape);

/// How the tile of a pass arrives, and the slots of rows at the load and the store.
struct Arrival {
  bool through_shared = false;  ///< otherwise in registers
  bool maps = false;  ///< maps that come first are part of it (through shared memory only)
  std::vector<int> rows, last_rows;
};

/// Chooses the phases. The rows of the store (slots) may not be register bits in the last phase,
/// those of the load not in the first one of a tile that arrives in registers, and neither the slot
/// of the block. Operations that fold wait for the end of their phase. A `seed` other than 0 adds
/// noise to what a slot is worth as a register bit.
std::vector<Phase> schedule_phases(const SlotPass& pass, const Shape& shape, const Arrival& arrival,
                                   std::uint32_t seed);

/// Where every slot is in one phase, and the columns of the shared address space.
struct SlotLayout {
  std::uint32_t column[kMaxTileQubits]{};  ///< slot -> address
  std::uint32_t constant = 0;              ///< XORed into every address
  std::vector<std::uint32_t> tile_column;  ///< tile bit -> address
  std::vector<int> register_slot;          ///< register bit -> slot
  std::vector<int> thread_slot;            ///< thread bit -> slot
  int block_slot = -1;                     ///< slot of the block, if any
  std::uint32_t register_mask = 0;
  int bit_of[kMaxTileQubits]{};  ///< slot -> register bit, 16 + thread bit, or kBlockBit
};
constexpr int kBlockBit = 32;

/// Columns, and thread bits of every phase such that the lowest lanes never meet in a bank.
/// Register bits in the order that ties phases to higher ones.
std::vector<SlotLayout> lay_out(const SlotPass& pass, const std::vector<Phase>& phases,
                                const Shape& shape, const Arrival& arrival);

}  // namespace detail
}  // namespace tilewave::statevec::tile
