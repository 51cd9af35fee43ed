// First stage of planning: from gates to actions on wires. See lower.cc for the rewriting rules.
#pragma once

#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::detail {

/// Actions in order on wires. A phase is one action a term (count 1): it is grouped when passes are
/// placed.
struct Lowered {
  std::vector<Action> actions;
  std::vector<PhaseTerm> terms;
  std::vector<cplx> matrices;
  std::vector<std::uint8_t> wire_of;  ///< qubit -> wire at the end
  std::uint64_t flips = 0;            ///< over wires, at the end
  std::uint64_t global_turns = 0;
  std::uint64_t num_gates = 0;
  std::uint64_t zero_wires = 0;  ///< wires never touched from |0>
};

/// Rewrites operations. `flips` (over wires = qubits at the start) and `zero_wires` describe the
/// state before.
Lowered lower(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
              std::uint64_t flips, std::uint64_t zero_wires, const CostModel& cost);

}  // namespace tilewave::statevec::detail
