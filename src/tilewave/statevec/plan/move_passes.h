// Passes that only move rows in the state's own memory need no tile: they may have more active
// positions than one. A plan is rewritten for an engine that can do so (CostModel::move_positions):
// such passes become one where they follow each other, take over controlled flips and moves from
// the passes beside them, and passes that are left with few positions get a tile that small, where
// it is predicted to be faster.
#pragma once

#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::detail {

/// The plan must be one of an engine with a price of its own (CostModel::price); one on several
/// ranks stays as it is.
void widen_moves(Plan& plan, const CostModel& cost, const RewriteChoice& choice);

}  // namespace tilewave::statevec::detail
