// The guard of every plan: an interpretation of its passes and exchanges that shares no code with
// the stages that made it. See verify.cc.
#pragma once

#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::detail {

/// Throws Error(kInternal), which names the first fault and where it is, unless the plan carries
/// out `lowered` on a state as `options` describes it: every action once, on the right amplitudes
/// and in an order that gives the same product; every phase; the scale; the permutation and the
/// flips of the final layout; no position taken for zero that may not be; and passes that an engine
/// can run as they stand.
///
/// Costs some tens of nanoseconds for each action and each phase term.
void verify(const Plan& plan, const Lowered& lowered, const PlanOptions& options);

}  // namespace tilewave::statevec::detail
