// Which wires of a pass take the low positions, where a row of the next one begins.
#pragma once

#include <vector>

#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::detail {

/// Factors of matrices are slower on bits inside vectors: of the wires that two passes share, those
/// with the fewest matrices in the second go to its row.
void choose_rows(std::vector<WirePass>& passes, const Lowered& lowered, int num_wires,
                 const CostModel& cost);

}  // namespace tilewave::statevec::detail
