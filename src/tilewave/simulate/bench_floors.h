// Floors that a plan cannot flatter: the passes a crude greedy planner needs for known circuits
// with 12 active qubits, rows of 128 bytes and a free permutation on store, and where arithmetic
// takes longer than memory its time on an H200 (33 TFLOP/s in double, 61 in single precision).
#pragma once

#include <optional>
#include <string_view>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::simulate {

struct CircuitFloor {
  int passes = 0;
  double h200_arithmetic_s = 0;  ///< 0: less than the passes
};

/// Of "<family>_30" and the contest circuits; none for others.
std::optional<CircuitFloor> circuit_floor(std::string_view name, statevec::Precision precision);

}  // namespace tilewave::simulate
