// The binary form of one pass for a tile machine: what the CUDA kernel and the host emulator
// execute.
//
// A tile is 2^K amplitudes: the active positions of the pass are its *slots* (slot i is the i-th
// lowest active position), the other positions that may be 1 number the tiles (*tile bits*). Inside
// a tile every thread holds 2^R amplitudes: R slots are *register bits* (bit k of the array index),
// the other K - R are *thread bits* (bit k of the thread number; the lowest five are the lane, the
// rest the warp).
//
// A program is a list of chunks; a chunk is a ChunkHead and then operations: an OpHead (16 bytes)
// and a payload in units of 16 bytes. Exchange operations change which slots are register bits
// through shared memory. Large constants (lane tables, angle tables, matrices) live in a second
// buffer, the tables, and are addressed by offsets in units of 16 bytes.
//
// Every slot has a column in the address space of the shared buffer: the address of an amplitude is
// the XOR of the columns of its 1 bits. A thread writes at an exchange exactly where it read at the
// one before, so one barrier an exchange is enough. An X under one control is a linear map of the
// slots: it changes the columns of the next read, and costs nothing.
//
// A tile may lie in two blocks of threads that read each other's shared memory (a cluster). One
// slot then says which block: to everything else it is bit 0 of the tile's number, and no operation
// mixes it. A *crossing* gives it the place of the highest register bit and makes that one the slot
// of the block: each thread sends half of its amplitudes to the same thread of the other block.
// Where amplitudes are written at the next exchange stays as it was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewave/base/complex.h"
#include "tilewave/base/host_device.h"
#include "tilewave/statevec/plan/precision.h"

namespace tilewave::statevec::tile {

constexpr int kMaxTileQubits = 13;
constexpr int kMaxRegisterBits = 5;
constexpr int kMaxTileBits = 31;
constexpr int kLaneBits = 5;
constexpr std::uint32_t kNone = 0xffffffffu;

/// How a machine cuts a state into tiles, threads and registers.
struct Shape {
  int tile_qubits = 12;
  int register_bits = 4;
  int row_bits = 3;  ///< low slots that are lanes at the first load and the last store
  Precision precision = Precision::kDouble;
  int block_bits = 0;  ///< a tile lies in 2^block_bits blocks of threads: 0 or 1
  std::uint32_t shared_bytes = 227 << 10;  ///< the most that a block of threads can have (sm_90)

  int block_qubits() const { return tile_qubits - block_bits; }
  int thread_bits() const { return block_qubits() - register_bits; }  ///< of one block
  int num_threads() const { return 1 << thread_bits(); }
  int num_warps() const { return 1 << (thread_bits() - kLaneBits); }
};

/// What an operation does. Kinds that act on one register bit have one code a bit (kind + bit),
/// matrices on two register bits r < s have kind + s(s-1)/2 + r.
///
/// An operation is decoded by one jump to straight code: a test costs a warp about as much as ten
/// multiply-adds, so kinds are fine and the flags of a kind few.
enum OpCode : std::uint32_t {
  kEnd = 0,       ///< of a chunk: the next one follows
  kExchange = 1,  ///< payload: R columns written, R read, K - R thread columns read, ExchangeTail
  kMatrixShared =
      2,          ///< any number of targets anywhere, through shared memory. payload: SharedMatrix
  kPhaseAll = 3,  ///< all times W
  kPhaseSet = 4,  ///< amplitudes j with (j & pairs) == pairs times W
  /// A lift on every bit of index, bit 0 first. payload: for each register bit 16 bytes with a, s
  /// of its lift. With a table of phases before the lifts: kTable.
  kLayer = 5,
  kFlip = 6,
  kRotate = 11,     ///< [[1, p], [0, 1]] [[1, 0], [q, 1]] [[1, p], [0, 1]]. payload: p, q
  kMatrix1 = 16,    ///< payload: 4 complex, row-major
  kMatrix2 = 21,    ///< index bit 0 is r. payload: 48 reals, see matrix2()
  kFactored2 = 31,  ///< the same matrix, factored to act in place. payload: 16 complex, see
                    ///< factored2(); index: 1 when the first diagonal entry is not 1
  /// The 1-half times (1 + i tau), (tau + i) or tau. payload: 16 bytes with tau, a lift
  kTauOne = 41,
  kTauI = 46,
  kTauReal = 51,
  /// The 1-half times W and a factor for each other register bit that is 1. payload: 16 bytes with
  /// W if it is constant, a lift, pair factors (not kPhase), lane factors (kLinear)
  kPhase = 56,
  kPhaseUpper = 61,  ///< pairs with higher bits only
  kPhasePairs = 66,
  kGeneral = 71,  ///< makes general factor `index` of the chunk, for the phase that follows
  kLift = 72,     ///< payload: a, s
  kTable = 77,    ///< kTable + TableKind - 1: the same as kLayer, then the table
  /// A crossing. Index 1 where the operations since the last exchange or the load (index 1 of that
  /// one, PassFrame::arrives) need no shared memory: the other block may write as soon as it can.
  kCross = 79,
  /// A phase of each kind and the lift behind it at once: y = x + g W y, x -= s y with x the
  /// 0-half. payload: as kPhase, with g and s for the numbers of the lift; a constant W has g in
  /// it. Compiled kernels alone (jit_source.h).
  kPhaseLift = 81,
  kPhaseUpperLift = 86,
  kPhasePairsLift = 91,
  /// The same with a constant factor for each pair of amplitudes, one of four, see ChoiceLift.
  /// Compiled kernels alone.
  kChoiceLift = 96,
  kNumOpCodes = 101,
  kFirstCompiledCode = kPhaseLift  ///< it and those after it: compiled kernels alone
};
// A lift is y += a x, x -= s y with x the 0-half: lifts run in place, since one that needs both old
// values costs a register move an amplitude. What a lift and a tau leave out, a real factor on the
// 1-half, is tracked by the lowering.

/// The table of a layer. A rotation by an angle is three shears (p, q, p), three multiply-adds
/// where a product needs four: p = -tan(angle / 2), q = sin(angle).
enum class TableKind : std::uint32_t {
  kNoTable,
  kFactors,   ///< amplitude j times factor j, 1 for j = 0: 2^R complex
  kRotations  ///< amplitude j turned: 2^R pairs p, q
};

/// A bit of the thread's or the tile's number.
struct SignBit {
  static constexpr std::uint32_t kOfTile = 32;

  static TW_HD constexpr bool is_set(std::uint32_t bit, std::uint32_t thread, std::uint32_t tile) {
    return bit >= kOfTile ? tile >> (bit - kOfTile) & 1 : thread >> bit & 1;
  }
};

/// How the factor W of a phase is found. Payload of kPhaseAll and kPhaseSet: 16 bytes with the
/// constant W; for kLinear, lane factors: one for each value of the low two bits of the lane and
/// one for each value of the others, 12 in all; or, with kWholeLanes in the index, 32 and a one.
enum class FactorClass : std::uint32_t {
  kConstant,  ///< W in the payload
  kScalar,    ///< one factor a warp and tile: linear[index * warps + warp]
  kLinear,    ///< the same times a lane factor
  kGeneral,   ///< e^{2 pi i angle}, the angle summed from rows (tile), a thread table and mixed
              ///< terms
};

constexpr std::uint32_t kWholeLanes = 32;
constexpr int kLaneSplit = 2;

/// What an operation kChoiceLift does: y = x + w y, x -= s y. OpHead::pairs: bits 2k and 2k + 1,
/// the number c of pair k's w. payload: s, g, w of c = 0 to 3 (complex, each with g in it; those
/// behind the last one used are left out); w of c = 0 is g or, with `index` kImaginary, i g. With
/// kSigned: s, the number of a SignBit (32 bits), w of c = 0 to 3, and the same where that bit
/// is 1.
struct ChoiceLift {
  static constexpr std::uint32_t kSigned = 1, kReversed = 2;  ///< OpWord::kind(); x is the 1-half
  static constexpr std::uint32_t kImaginary = 1;
  static constexpr int kFactors = 4;
  static constexpr int kFirstFactor = 2;  ///< numbers of the payload before the first w

  static constexpr std::uint32_t of_pair(std::uint32_t pairs, int k) { return pairs >> 2 * k & 3; }
  /// The numbers of w with kSigned.
  template <class T>
  static TW_HD const T* signed_factors(const T* numbers, std::uint32_t thread, std::uint32_t tile) {
    const auto bit = *reinterpret_cast<const std::uint32_t*>(numbers + 1);
    return numbers + kFirstFactor + (SignBit::is_set(bit, thread, tile) ? 2 * kFactors : 0);
  }
  /// How many pairs have number c.
  static constexpr int count(std::uint32_t pairs, std::uint32_t c) {
    int sum = 0;
    for (int k = 0; k < 16; ++k) sum += of_pair(pairs, k) == c;
    return sum;
  }
  /// Numbers of the payload.
  static constexpr int num_numbers(std::uint32_t pairs, bool is_signed) {
    if (is_signed) return kFirstFactor + 2 * 2 * kFactors;
    int last = 0;
    for (int c = 1; c < kFactors; ++c)
      last = count(pairs, static_cast<std::uint32_t>(c)) ? c : last;
    return kFirstFactor + (last ? 2 * (last + 1) : 0);
  }
};

/// 16 bytes, then OpControls when the operation is controlled, then the payload.
struct OpHead {
  std::uint32_t word = 0;     ///< see OpWord
  std::uint32_t pairs = ~0u;  ///< bit j: acts on the pair or group whose lowest amplitude is j
  std::uint32_t unused[2]{};
};
static_assert(sizeof(OpHead) == 16);

/// The first word of an operation, from its lowest bit: code (8 bits), controlled (1), FactorClass
/// or TableKind (2), a lift on the same bit follows (1), index (6), and 14 bits in units of 16
/// bytes: in the code the size of the operation, in the list of words its place in the chunk.
///
/// A device reads the words and pairs from a list: the first kInlineOps are parameters of the
/// kernel, the same for every thread as far as the compiler can see, so tests of them are plain
/// jumps.
struct OpWord {
  std::uint32_t word;

  static constexpr std::uint32_t kControlled = 1u << 8, kThenLift = 1u << 11;
  static constexpr int kExtentShift = 18;
  static constexpr std::uint32_t kind(std::uint32_t factor_or_table) {
    return factor_or_table << 9;
  }
  static constexpr std::uint32_t index(std::size_t i) {
    return static_cast<std::uint32_t>(i) << 12;
  }
  static constexpr std::uint32_t extent(std::size_t bytes) {
    return static_cast<std::uint32_t>(bytes / 16) << kExtentShift;
  }
  constexpr OpWord at(std::size_t place) const {
    return {(word & ((1u << kExtentShift) - 1)) | extent(place)};
  }

  TW_HD constexpr std::uint32_t code() const { return word & 255; }
  TW_HD constexpr bool controlled() const { return word >> 8 & 1; }
  TW_HD constexpr FactorClass factor() const { return static_cast<FactorClass>(word >> 9 & 3); }
  TW_HD constexpr TableKind table() const { return static_cast<TableKind>(word >> 9 & 3); }
  TW_HD constexpr bool then_lift() const { return word >> 11 & 1; }
  /// Phases: entry of the factors or angles, and kWholeLanes. Layers: bits to lift.
  TW_HD constexpr std::uint32_t index() const { return word >> 12 & 63; }
  /// Size or place in bytes.
  TW_HD constexpr std::uint32_t extent() const { return word >> kExtentShift << 4; }
};

/// An operation in the list that devices read.
struct ListedOp {
  OpWord word{};
  std::uint32_t pairs = 0;  ///< OpHead::pairs
};
constexpr std::uint32_t kInlineOps = 256;

/// Which operations a pass uses: kernels are compiled for each set, since registers kept for one
/// kind slow the others down.
enum class OpSet : std::uint32_t {
  kLean,      ///< without matrices
  kMatrices,  ///< without shared matrices and those of two bits that are not factored
  kAll
};

struct OpControls {
  std::uint32_t thread_mask = 0;  ///< acts where (thread & mask) == value
  std::uint32_t thread_value = 0;
  std::uint32_t tile_mask = 0;  ///< the same on the tile's number
  std::uint32_t tile_value = 0;
};

/// The columns of an exchange are followed by (tile bit, column) of every tile bit that moves the
/// whole tile when it is 1.
struct ExchangeTail {
  std::uint32_t constant = 0;  ///< XORed into every address read
  std::uint32_t num_tile_columns = 0;
};

/// One general factor of a chunk; the offsets are in the tables.
struct GeneralEntry {
  std::uint32_t thread_table = kNone;  ///< turns of every thread
  std::uint32_t mixed_first = 0;       ///< MixedTerm array
  std::uint32_t mixed_count = 0;
  std::uint32_t tile_first = 0;  ///< MixedTerm array: terms on tile bits alone
  std::uint32_t tile_count = 0;
  std::uint32_t unused[3]{};
};

/// A term that needs both thread and tile bits and is not a product of one of each.
struct MixedTerm {
  std::uint32_t thread_mask = 0, tile_mask = 0;
  std::uint64_t turns = 0;
};

struct SharedMatrix {
  std::uint32_t matrix = 0;  ///< in the tables, row-major complex
  std::uint32_t num_targets = 0;
  std::uint32_t target_column[kMaxTargets]{};  ///< address columns
  std::uint32_t target_bit[kMaxTargets]{};     ///< register bit, or 16 + thread bit
  std::uint32_t register_column[kMaxRegisterBits]{};
  std::uint32_t unused = 0;
};
static_assert(sizeof(SharedMatrix) == 96);

/// What a chunk needs before its first operation: factors and angles that depend on the tile.
struct ChunkHead {
  std::uint32_t size16 = 0;       ///< head, operations and general turns
  std::uint32_t num_linear = 0;   ///< entries of the linear factors
  std::uint32_t num_general = 0;  ///< entries of general angles, 1 + thread bits rows each
  std::uint32_t tile_bits = 0;
  std::uint32_t linear_tables = 0;    ///< in the tables, see LinearTables
  std::uint32_t general_turns = 0;    ///< in the chunk (units of 16 bytes): [tile bit][entry, row]
  std::uint32_t general_entries = 0;  ///< GeneralEntry array, in the tables
  std::uint32_t next16 = 0;           ///< where the next chunk starts (units of 16 bytes)
  /// Of the next chunk, so that all of it is fetched at once.
  std::uint32_t next_size16 = 0, next_linear = 0, next_linear_tables = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(ChunkHead) == 48);

/// A linear factor is a product over groups of tile bits, each a table of the group's values, and a
/// factor of the warp: an entry is [groups][2^kGroupBits] and then [warps] complex numbers.
constexpr std::uint32_t kGroupBits = 6;
constexpr std::uint32_t kMaxGroups = 6;
TW_HD constexpr std::uint32_t num_groups(std::uint32_t tile_bits) {
  return (tile_bits + kGroupBits - 1) / kGroupBits;
}

/// Bits [from, from + width) of the tile's number go to bits [to, to + width) of the byte offset.
struct TileRun {
  std::uint32_t from, to, width;
};
constexpr int kMaxTileRuns = 16;

TW_HD constexpr std::uint64_t tile_offset(const TileRun* runs, std::uint32_t num_runs,
                                          std::uint32_t tile) {
  std::uint64_t offset = 0;
  for (std::uint32_t r = 0; r < num_runs; ++r) {
    const std::uint32_t field = tile >> runs[r].from & ((1u << runs[r].width) - 1u);
    offset |= static_cast<std::uint64_t>(field) << runs[r].to;
  }
  return offset;
}

enum class ScaleKind : std::uint32_t { kOne, kReal, kComplex, kBits };

/// The frame of a pass: travels as a kernel parameter.
struct PassFrame {
  std::uint64_t num_tiles = 0;
  std::uint64_t load_column[kMaxTileQubits]{};  ///< bytes: register bits first, then thread bits
  std::uint64_t store_column[kMaxTileQubits]{};
  std::uint64_t store_xor = 0;  ///< X on store: of the thread's part of the offset
  /// Of register bits: their columns are then negative, and this is their sum.
  std::uint64_t store_add = 0;
  /// Of the second of two blocks of a tile: bytes from the tile, and from there to where block b
  /// stores.
  std::uint64_t block_load = 0, block_move[2]{};
  std::uint64_t zero_load = 0;   ///< byte offset bits that hold 0: not read
  std::uint64_t zero_store = 0;  ///< byte offset bits that hold 0 after the store: not written
  /// Shared address columns: where a tile that arrives in shared memory is copied to, in the order
  /// of load_column, and of the first phase, register bits first; then what is XORed into every
  /// address of that phase, see exchange_shift().
  std::uint32_t place_column[kMaxTileQubits]{}, first_column[kMaxTileQubits]{};
  std::uint32_t first_shift[2 + 2 * kMaxTileBits]{};
  /// The tile arrives in shared memory, see loads_through_shared().
  std::uint32_t through_shared = 0;
  std::uint32_t num_runs = 0;
  TileRun runs[kMaxTileRuns]{};
  ScaleKind scale_kind = ScaleKind::kOne;
  std::uint32_t num_chunks = 0;
  /// Operations of all chunks, with the ends of all but the last: from first_op on in first_ops,
  /// those from number kInlineOps on in the tables; end_op: after the last.
  std::uint32_t first_op = 0, end_op = 0;
  std::uint32_t far_ops = 0;        ///< ListedOp array, in the tables
  std::uint32_t arrives = 0;        ///< a crossing comes before any exchange, see kCross
  std::uint32_t needs_barrier = 0;  ///< no exchange, but the store permutes: wait for every load
  std::uint32_t max_chunk16 = 0;
  std::uint32_t max_linear = 0;
  /// Of the first chunk, to be fetched before anything else is known.
  std::uint32_t first_chunk16 = 0, first_linear = 0, first_linear_tables = 0;
  std::uint32_t tile_bits = 0;
  std::uint32_t max_general = 0;
  OpSet op_set = OpSet::kLean;
  double scale_re = 1, scale_im = 0;
  std::uint32_t num_ops() const { return end_op - first_op; }
  ListedOp first_ops[kInlineOps]{};
  /// ScaleKind::kBits: real factors of amplitudes whose bit is 1, register bits first, that of the
  /// block last.
  double bit_scale[kMaxTileQubits]{};
};

/// Blocks of 64 KiB of which three share a multiprocessor (sm_90) leave too little first-level
/// cache for loads: all their tiles arrive in shared memory by themselves. Others may, and have any
/// slots as register bits in the first phase then.
TW_HD constexpr bool loads_through_shared(int block_qubits, std::size_t amplitude) {
  return amplitude == 16 && block_qubits == 12;
}
inline bool loads_through_shared(const Shape& shape) {
  return loads_through_shared(shape.block_qubits(), amplitude_bytes(shape.precision));
}

/// Shared memory of a block beside the tile: linear factors, the general factor of every thread,
/// rows of all general factors, then the chunk.
TW_HD constexpr std::uint32_t linear_bytes(const PassFrame& f, std::uint32_t amplitude,
                                           int num_warps) {
  return (f.max_linear * static_cast<std::uint32_t>(num_warps) * amplitude + 15u) / 16u * 16u;
}
TW_HD constexpr std::uint32_t general_bytes(const PassFrame& f, std::uint32_t amplitude,
                                            int thread_bits) {
  return f.max_general ? amplitude << thread_bits : 0;
}
TW_HD constexpr std::uint32_t row_bytes(const PassFrame& f, int thread_bits) {
  return (f.max_general * static_cast<std::uint32_t>(1 + thread_bits) * 8u + 15u) / 16u * 16u;
}

}  // namespace tilewave::statevec::tile
