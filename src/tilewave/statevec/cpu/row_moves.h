// Passes that do nothing but move rows of 256 bytes: in the state's own memory along the cycles of
// the movement, without a tile in between. Their active positions may be more than those of a tile.
//
// The map of row indices is affine. Positions that it neither changes nor looks at split the rows
// into copies of one list of cycles: those next to the row's own make the rows longer (of several
// slices of 256 bytes), those above number the copies (bases).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/block.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// The amplitude at physical index x goes to  zero ^ (sum of column[k] over the bits k of x).
struct RowMap {
  int num_qubits = 0;
  std::uint64_t zero = 0;
  std::array<std::uint64_t, 64> column{};
  std::uint64_t moved = 0;  ///< positions that it changes or looks at

  std::uint64_t operator()(std::uint64_t index) const;
  /// Times that it has to be applied to get back to where all was; 0: more than `most`.
  int order(int most) const;
  /// The share of indices that stay where they are.
  double fixed_share() const;
};

/// Positions that such a pass may change or look at.
int most_move_positions(int num_qubits, bool is_double);

/// The map of a pass that moves rows and does nothing else. movement: that of the pass; left: what
/// is left of the pass without it.
std::optional<RowMap> row_map(const Plan& plan, const Pass& left, const Movement& movement);

template <class T>
class RowMoves {
 public:
  /// scale: every amplitude is multiplied by it.
  RowMoves(const RowMap& map, T scale);

  /// The work is in parts that may run side by side.
  std::uint64_t num_parts() const;
  void run(const BlockKernels<T>& kernels, Complex<T>* amps, std::uint64_t part) const;
  std::size_t num_bytes() const;

 private:
  // Cycles one after the other in the lists.
  struct Group {
    std::size_t offset = 0, cycle = 0, count = 0;
  };
  void add_cycles(const RowMap& map);
  void add_groups();

  T scale_;
  int slice_bits_ = 0;       // slices of a row
  std::uint64_t bases_ = 0;  // positions
  std::vector<std::uint64_t> offset_;
  std::vector<std::uint32_t> length_;
  std::vector<Group> groups_;
  int run_bits_ = 0;   // slices of a part
  int base_bits_ = 0;  // bases of a part
};

}  // namespace tilewave::statevec::cpu
