// Passes with many steps of one kind, whose times tell what the kind costs. They run on any engine that
// keeps its tile in fast memory: every target is active, every step keeps the norm, and a plan leaves
// the layout as it is, so it runs again and again.
#pragma once

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::rates {

enum class Step : std::uint8_t {
  kNothing,     ///< every amplitude times i
  kFewLifts,    ///< a layer: a lift inside rows and four on them, by different numbers
  kLifts,       ///< a layer: six lifts inside rows and four on them
  kEqualLifts,  ///< a layer: eight lifts on rows by one number
  kPhases,      ///< phases of neighbours, then the layer of ten lifts
  kLinear,      ///< phases of one bit with all others, then a lift on it
  kFlips,       ///< four controlled X between lifts
  kRotations,   ///< a controlled rotation
  kMatrix1,     ///< a matrix on one qubit
  kMatrix2,     ///< a dense unitary on two qubits
  kTurned,      ///< bits inside rows change places with those of rows, in two passes
  kMoves,       ///< controlled X on rows and nothing else, which moves them in memory
};
inline constexpr const char* kStepNames[] = {
    "nothing", "few lifts", "lifts",    "equal lifts",  "phases",      "linear",
    "flips",   "rotations", "matrices", "4x4 matrices", "turned rows", "moves"};

struct ProbeShape {
  int num_qubits = 0;
  Precision precision = Precision::kDouble;
  int tile_qubits = 0;  ///< active positions: the row and the top ones
  int row_bits = 0;
};

/// A plan of one pass with `layers` times the steps of a kind.
Plan probe_plan(const ProbeShape& shape, Step step, int layers);
/// What a layer of a kind has of its action.
int actions_of(Step step);

}  // namespace tilewave::statevec::rates
