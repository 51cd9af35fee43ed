// A state that 2^g processes share: the highest g wires number the process, the others lie in its memory.
// Rotations, flips and matrices move wires that lie in memory; controls and phases may be on any. So the
// actions are cut into stretches, between which wires of processes and of memory change places.
#pragma once

#include <utility>
#include <vector>

#include "tilewave/parametric/plan/lower.h"

namespace tilewave::parametric {

struct Stretch {
  Actions actions;  ///< on places; num_wires are those in memory, at least
  /// Behind it: places in memory and of processes that change places, one pair after the other.
  std::vector<std::pair<int, int>> exchanges;
};

struct Stretches {
  std::vector<Stretch> list;
  std::vector<int> place_of_qubit;  ///< at the end
};

/// `process_bits` is g; places below `kept` never leave memory. Throws Error(kInput) where a matrix
/// changes more wires than memory holds.
Stretches make_stretches(const Actions& actions, int process_bits, int kept);

}  // namespace tilewave::parametric
