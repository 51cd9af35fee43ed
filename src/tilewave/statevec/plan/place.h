// Third stage of planning: from wires to positions. See place.cc.
#pragma once

#include <vector>

#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::detail {

/// Writes the passes of a plan; consumes the lowered actions.
Plan place(const Lowered& lowered, const std::vector<WirePass>& passes, int num_qubits,
           const PlanOptions& options);

}  // namespace tilewave::statevec::detail
