// What a pass of a plan costs by the model of its device.
#pragma once

#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::detail {

/// Of the amplitudes of a state, those that a pass loads: those that are not known to be zero.
double loaded_amplitudes(const Pass& pass, int num_qubits);
/// Those of its tiles, which it works on and stores.
double worked_amplitudes(const Pass& pass, int num_qubits);

/// Sets the bytes, the operations (flops) and the predicted seconds of a pass that is complete but
/// for them. `plan`: the one it is to be part of.
void price_pass(Pass& pass, const Plan& plan, const CostModel& cost);

}  // namespace tilewave::statevec::detail
