// A pass with actions of one kind, to see what they cost on a machine.
#pragma once

#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/tile/format.h"

namespace tilewave::statevec::tile {

enum class ProbeKind {
  kLift,
  kLiftPre,  ///< a lift with a phase on its target before it
  kLinear,   ///< a lift after phases of its target with all other bits
  kFlip,     ///< controlled by a position of the tile
  kFlipFar,  ///< controlled by another
  kRotate,
  kDense1,
  kDense2,
  kChain  ///< ZZ of all neighbours once a round of lifts
};
inline constexpr const char* kProbeNames[] = {"lift",      "lift+pre",  "linear+lift",
                                              "flip near", "flip far",  "controlled rotation",
                                              "dense 2x2", "dense 4x4", "zz chain+lift"};

/// A plan of one pass on n qubits: the active positions are the row and a run from `start`; actions
/// go round them.
Plan probe_pass(int n, const Shape& shape, int start, ProbeKind kind, int num_actions);

}  // namespace tilewave::statevec::tile
