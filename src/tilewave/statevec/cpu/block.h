// The innermost level of the CPU engine: a block of rows in the first-level cache, and the steps
// applied to it.
//
// A tile of 2^k amplitudes lies in the second-level cache as 2^(k-6) rows of 64 amplitudes. A row
// is 64 real parts, then 64 imaginary parts. Row r stands at place swizzle(r): an XOR-linear map
// that spreads any choice of rows over the sets of the first-level cache. A block is 2^b rows; its
// 6 low bits are inside a row ("low" bits), the b others choose the row.
//
// `rows[j]` is the place of block row j relative to the block, XOR-linear in j; a row's address is
//   tile + ((rows[j] ^ outer) << 7)          (in elements: 128 a row)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "tilewave/base/complex.h"

namespace tilewave::statevec::cpu {

constexpr int kLowBits = 6;
constexpr int kRowLength = 1 << kLowBits;
constexpr int kMaxRowBits = 10;   ///< of a block, at most
constexpr int kMostRowLifts = 4;  ///< of a layer in one sweep
constexpr int kMaxLinks = 8;      ///< after one layer
constexpr int kSweepBits = 3;     ///< row bits of a sweep, at most
constexpr int kPairBit = 4;  ///< low bits from here on choose a vector, for every vector length

/// Memory of tables, in whole cache lines: no vector of one lies across two.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const LineAllocator&) const = default;
};
template <class T>
using Lines = std::vector<T, LineAllocator<T>>;

/// The rows of one block.
struct BlockRows {
  const std::uint32_t* rows;
  int num_bits;         ///< 2^num_bits rows
  std::uint32_t outer;  ///< place of the block
};

/// Lifts: bit l (of a row below kLowBits, of the row number from there) by t[l] if mask has it.
/// Those of `reflected`, by 1, are Hadamard gates instead, sqrt(2) times: [[1, 1], [1, -1]]; of the
/// row bits all or none.
/// Two lifts by the same t are together cheaper as the rotation (1 + t^2)^-1 [[1, -t], [t, 1]] x
/// [[1, -t], [t, 1]]. With `low_pair` those on the bits kPairBit and kPairBit + 1 are one, with
/// `row_pairs` all on rows are, two and two; one may be left over, and is a lift as before.
/// The amplitudes with a low bit of `weighted` are held times its t, before and after: the lift is
/// [[1, -1], [t^2, 1]] then.
template <class T>
struct LayerStep {
  std::uint32_t mask = 0, reflected = 0;
  std::uint32_t weighted = 0;
  bool low_pair = false, row_pairs = false;
  T t[kLowBits + kMaxRowBits] = {};
};

/// What else is done to a row after a layer's lifts inside rows: times a table of columns (64 re,
/// 64 im; null: 1), then lifts inside rows.
template <class T>
struct RowLink {
  const T* table = nullptr;
  std::uint64_t columns = 0;  ///< whose factor is not 1
  const LayerStep<T>* lifts = nullptr;
};

/// Lifts on different bits of the row number, one after the other: every row times its factor
/// `before`, then for each k the lift on bits[k] by t[k] (a Hadamard gate as in LayerStep where bit
/// k of `reflected` is 1), and times after[k]. Tables are real parts, then imaginary parts; null
/// ones are 1. That of `before` goes over the rows of the block, those of `after` over numbers
/// whose bit k is the row's bit bits[k].
template <class T>
struct SweepStep {
  int num_bits = 0;
  int bits[kSweepBits] = {};
  T t[kSweepBits] = {};
  std::uint32_t reflected = 0;
  const T* before = nullptr;
  const T* after[kSweepBits] = {};
  /// Such numbers, as bits, for which the factor is not always 1.
  std::uint32_t before_used = 0, after_used[kSweepBits] = {};
};

/// Exchanges rows that differ in bit `target`, where (row & control_mask) == control_value.
struct RowFlip {
  int target = 0;
  std::uint32_t control_mask = 0, control_value = 0;
};

/// X on a low bit, or on a row bit under low controls: element a of a row takes the place of a ^
/// offset (of the other row if row_target >= 0) where (a & low_mask) == low_value, in rows with
/// (row & control_mask) == control_value.
struct MaskedFlip {
  int row_target = -1;
  std::uint32_t offset = 0;
  std::uint32_t low_mask = 0, low_value = 0;
  std::uint32_t control_mask = 0, control_value = 0;
};

/// A matrix on some row bits and some low bits. For output row i of a group of 2^r rows, element a:
///   out[i][a] = sum over rows j, offsets d:
///               table[((i * 2^r + j) * num_offsets + d)][a] * in[j][a ^ offset[d]]
/// A table is 64 real parts then 64 imaginary parts; with `uniform` it is one complex number.
template <class T>
struct DenseStep {
  int num_row_bits = 0;
  int row_bits[8] = {};
  std::uint32_t control_mask = 0, control_value = 0;  ///< over rows
  int num_offsets = 1;
  std::uint8_t offsets[64] = {};
  bool uniform = false;
  bool real = false;
  std::vector<T> tables;
};

/// A matrix on one or two bits. Bits inside a vector are "lane" bits; the others, of the vector's
/// place in its row or of the row number, are "upper" bits and choose vectors. For output vector i
/// of the 2^u vectors of a group:
///   out[i] = sum over vectors j, lane masks k:
///            c[(i * 2^u + j) * 2^l + k] * in[j] with lanes permuted by k
/// A coefficient is one vector of real parts, then one of imaginary parts; without lane bits one
/// complex number.
template <class T>
struct PairStep {
  int num_upper = 0, num_lanes = 0;
  int upper[2] = {};                                  ///< ascending; rows from kLowBits
  int lane[2] = {};                                   ///< ascending
  std::uint32_t control_mask = 0, control_value = 0;  ///< over places in a row and rows
  bool real = false;
  std::vector<T> coefficients;
};

/// A matrix on two bits by its factors (plan/pair_factors.h), on four vectors of a group, numbered as
/// the factors number amplitudes. A lane bit changes places with a bit that chooses vectors, its
/// partner, before and after: the partner stands for it here. `vectors` has the places of the four
/// in a row and rows, XORed to those of the group without its bits.
template <class T>
struct FactoredStep {
  int upper[2] = {};  ///< the bits that choose the vectors, in any order; rows from kLowBits
  std::uint32_t vectors[4] = {};
  int lane[2] = {-1, -1};  ///< of bit 0 and bit 1 of the number, at most one; -1: an upper bit
  std::array<T, 4> first{}, second{}, tangent{}, third{}, weight_re{}, weight_im{};
};

/// Multiplies row order[k] by  root * (product over bits j of k of bit_tables[j]) * scalars[row].
/// Tables are 64 re, then 64 im; null ones are 1. scalars: 2^b re, then 2^b im, or null. The rows
/// come in runs that share the product of tables.
template <class T>
struct PhaseStep {
  const T* root = nullptr;
  const T* bit_tables[kMaxRowBits] = {};
  const T* scalars = nullptr;
  const std::uint16_t* order = nullptr;
  const std::uint16_t* runs = nullptr;  ///< how many listed rows each has
};

/// scale * product over bits j of x of z[j], for numbers x; bits outside `used` have z = 1.
template <class T>
struct LinearPhases {
  Complex<T> scale{1, 0};
  Complex<T> z[kMaxRowBits] = {};
  std::uint32_t used = 0;
};

/// Runs of 2^bits amplitudes. Chunk c lies in the state at base ^ offset[c] (in amplitudes), in the
/// tile at place[c] ^ shift (in elements) - or, where there is a table, its amplitude x is at
/// place[c] ^ shift ^ table[x] there.
struct Chunks {
  std::uint64_t base = 0;
  const std::uint64_t* offset = nullptr;
  const std::uint32_t* place = nullptr;
  std::uint32_t shift = 0;
  std::size_t count = 0;
  int bits = 0;
  const std::int32_t* table = nullptr;
  std::uint64_t movement = 0;  ///< a number for the tables; no others ever have it
  /// As the next tile: the first half of each chunk is asked for during the load of the tile before
  /// it, the other half during its store; otherwise all of it during the store.
  bool halves = false;
};

/// Rows of a state that change places, a slice of 256 bytes at a time, each base's for itself.
/// Slice s of row j of a cycle lies at base ^ offset[j] ^ s * (amplitudes of a slice) and gets what
/// row j + 1 has there; the last one what the first has. All in amplitudes.
struct RowCycles {
  const std::uint64_t* base = nullptr;
  std::size_t num_bases = 0;
  const std::uint64_t* offset = nullptr;  ///< of all cycles, one after the other
  const std::uint32_t* length = nullptr;
  std::size_t count = 0;
  std::uint32_t first_slice = 0, num_slices = 1;
};

/// Kernels compiled for one instruction set.
template <class T>
struct BlockKernels {
  const char* target;
  int lanes;  ///< elements of a vector
  /// Chunks of the state into the tile, and meanwhile with `halves` a request for those of the next
  /// tile, which must be as many.
  void (*load)(const T* state, T* tile, const Chunks& chunks, const Chunks& next);
  /// Chunks of the tile into the state, times a complex scale, and meanwhile a request for the
  /// chunks of the next tile.
  void (*store)(const T* tile, T* state, const Chunks& chunks, const Chunks& next, T scale_re,
                T scale_im);
  /// Moves rows, times a number.
  void (*move_rows)(T* state, const RowCycles& cycles, T scale);
  /// A phase block (unless null), then lifts inside rows and links (at most kMaxLinks), then lifts
  /// on rows.
  void (*layer)(T* tile, BlockRows rows, const LayerStep<T>& step, const PhaseStep<T>* phase,
                std::span<const RowLink<T>> links);
  void (*sweep)(T* tile, BlockRows rows, const SweepStep<T>& step);
  /// Those of all x below 2^num_bits, times a table (unless null): real parts, then imaginary
  /// parts.
  void (*linear_phases)(const LinearPhases<T>& phases, int num_bits, const T* times, T* out);
  void (*row_flip)(T* tile, BlockRows rows, const RowFlip& step);
  void (*masked_flip)(T* tile, BlockRows rows, const MaskedFlip& step);
  void (*pair)(T* tile, BlockRows rows, const PairStep<T>& step);
  void (*factored)(T* tile, BlockRows rows, const FactoredStep<T>& step);
  void (*dense)(T* tile, BlockRows rows, const DenseStep<T>& step);
};

// Each unit of kernels adds its own.
void add_move_kernels(BlockKernels<float>& kernels);
void add_move_kernels(BlockKernels<double>& kernels);
void add_layer_kernels(BlockKernels<float>& kernels);
void add_layer_kernels(BlockKernels<double>& kernels);
void add_sweep_kernels(BlockKernels<float>& kernels);
void add_sweep_kernels(BlockKernels<double>& kernels);
void add_dense_kernels(BlockKernels<float>& kernels);
void add_dense_kernels(BlockKernels<double>& kernels);

/// Kernels for the best instruction set of this machine.
const BlockKernels<float>& block_kernels(float);
const BlockKernels<double>& block_kernels(double);

}  // namespace tilewave::statevec::cpu
