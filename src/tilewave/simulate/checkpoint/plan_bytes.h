// Plans as bytes, so that a run goes on with the plan that it began with: a plan depends on what was
// measured of the machine when it was made. The rates that were measured are written as well, for
// the plans that are still to be made.
#pragma once

#include "tilewave/simulate/checkpoint/bytes.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {

void put_plan(ByteWriter& out, const statevec::Plan& plan);
/// Throws Error(kInput) for bytes that put_plan() did not write.
statevec::Plan get_plan(ByteReader& in);

/// All of it but the addresses of functions.
void put_cost(ByteWriter& out, const statevec::CostModel& cost);
statevec::CostModel get_cost(ByteReader& in);

}  // namespace tilewave::simulate
