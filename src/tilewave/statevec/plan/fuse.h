// Collects runs of gates on one pair of qubits and replaces a run by its 4x4 matrix where that is
// cheaper.
#pragma once

#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::detail {

/// A gate to lower: an operation of the circuit (op != nullptr) or a fused 4x4 matrix on two
/// qubits.
struct Element {
  const circuit::Op* op = nullptr;
  circuit::Qubit qubits[2] = {0, 0};
  std::int32_t matrix = -1;
};

struct Fused {
  std::vector<Element> elements;
  std::vector<std::vector<cplx>> matrices;
};

Fused fuse_pairs(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                 const CostModel& cost);

}  // namespace tilewave::statevec::detail
