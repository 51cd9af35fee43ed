// From actions to passes over the state. A *tile* is 2^rows rows of amplitudes in fast memory; a row
// is as many amplitudes as a vector has lanes. In a state by itself the lanes are the state's lowest
// wires, which are part of every tile, and a pass chooses which further wires choose the row; the
// others choose the tile. In a batch the lanes are its elements, and all wires choose the row.
//
// Within a pass actions stand in stages: phases on one side, flips and rotations on the other, as
// many at a time as commutation allows, so that the phases of a layer are one sweep.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/parametric/plan/lower.h"

namespace tilewave::parametric {

/// Bits of an index, by where they are.
struct Bits {
  std::uint32_t row = 0;    ///< of the row's number in its tile
  std::uint32_t lane = 0;   ///< of the lane's number
  std::uint64_t outer = 0;  ///< wires that choose the tile

  bool operator==(const Bits&) const = default;
};

enum class TileOpKind : std::uint8_t { kRotate, kFlip, kPhases, kMatrix };

struct TileOp {
  TileOpKind kind = TileOpKind::kRotate;
  bool on_lanes = false;    ///< whether the target is a bit of the lane
  int target = 0;           ///< a bit of the row or of the lane
  Bits controls, values;    ///< where it acts
  std::int32_t angle = -1;  ///< kRotate: in Actions::angles
  std::int32_t read = -1;   ///< where its derivative goes, -1 where nobody asks
  std::uint32_t first = 0;  ///< kPhases: its terms; kMatrix: the matrix
  std::uint32_t count = 0;  ///< kPhases
};

/// e^{i angle} where all bits are 1.
struct PhaseTerm {
  Bits on;
  std::uint32_t angle = 0;
  std::int32_t read = -1;
};

/// A matrix, where its wires are: index j of the matrix is at row[j] and lane[j] of the tile.
struct TileMatrix {
  std::vector<Bits> at;
  Bits all;
  std::vector<cplx> entries;
};

struct Pass {
  std::uint64_t active = 0;  ///< wires of the rows, ascending: bit j of a row is the j-th of them
  std::uint64_t zeros = 0;  ///< wires that are still |0> before it: where one is 1 amplitudes are 0
  std::uint32_t first_read = 0, num_reads = 0;  ///< derivatives that are read here
  std::vector<TileOp> ops;
};

struct Passes {
  int num_wires = 0;
  int lane_bits = 0;  ///< wires below this are the lanes'; 0 in a batch
  int row_bits = 0;   ///< of a tile
  std::vector<Pass> passes;
  std::vector<PhaseTerm> terms;
  std::vector<TileMatrix> matrices;
  std::uint32_t num_reads = 0;
  std::uint64_t zeros = 0;                ///< wires that no gate moves
  std::vector<std::uint32_t> read_angle;  ///< the angle of each read
};

/// Wires beyond the lanes that are part of every tile, so that consecutive pieces of memory are longer.
constexpr int kKeptLowWires = 2;

/// Where a mask of wires is in the tiles of a pass with these wires active.
Bits place_bits(std::uint64_t wires, std::uint64_t active, int lane_bits);

/// No pass is longer than any other limit has it.
constexpr std::size_t kAnyLength = ~std::size_t{0};

/// On a CUDA device: bits of a tile's row, and the longest pass, whose own kernel is within the
/// instruction cache and made in seconds.
constexpr int kDeviceRowBits = 12;
constexpr std::size_t kMostDeviceCost = 200;

/// A search costs some 10 ms a pass, which a state of so many wires earns back in a few runs. It takes a
/// second or so at most, or as long as a gradient: of deep circuits fewer plans go on at a time, or the greedy
/// one stays. What is counted are steps of the search, so that a circuit has the same passes everywhere.
constexpr int kLeastSearchedWires = 22;

struct PassOptions {
  std::size_t most_cost = kAnyLength;  ///< of a pass, a rotation or matrix counting 4, others 1
  int least_wires = 0;                 ///< of the state, whose further wires stay |0>
  bool searches = true;   ///< of kLeastSearchedWires or more, for less than a greedy plan moves
  bool from_zero = true;  ///< whether it begins in |0...0>: otherwise all amplitudes are moved
};

/// Of a state by itself (lane_bits > 0) or of batches; `row_bits` of a tile at most. Angles for which
/// `is_read` holds get reads.
Passes make_passes(const Actions& actions, int lane_bits, int row_bits,
                   const std::vector<bool>& is_read, const PassOptions& options = {});

}  // namespace tilewave::parametric
