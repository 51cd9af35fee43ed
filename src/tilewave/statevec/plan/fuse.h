// Collects runs of gates on one pair of qubits and replaces a run by its 4x4 matrix where that is
// cheaper.
#pragma once

#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::detail {

/// A gate to lower: an operation of the circuit (op != nullptr) or a matrix on one or two qubits.
struct Element {
  const circuit::Op* op = nullptr;
  circuit::Qubit qubits[2] = {0, 0};
  int num_qubits = 2;
  std::int32_t matrix = -1;
};

struct Fused {
  std::vector<Element> elements;
  std::vector<std::vector<cplx>> matrices;
};

Fused fuse_pairs(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                 const CostModel& cost);

/// Whether an element is cx with control value 1.
bool is_cx(const Element& e);

/// H before and after a cx on a wire: the cx becomes a cz or turns round, both H go.
void cancel_hadamards(Fused& fused, const circuit::Circuit& circuit);

/// A qubit that is the target of several cx in a row becomes their common parity: H on it, cz with
/// every control, H. The cz are one phase block, where each cx was a step.
void gather_parities(Fused& fused, const circuit::Circuit& circuit);

/// Dense matrices on pairs whose qubits both come from such matrices are replaced by ones that have
/// factors (pair_factors.h); those before take over what that needs on each qubit.
void reduce_pairs(Fused& fused, const circuit::Circuit& circuit);

}  // namespace tilewave::statevec::detail
