// What the planner knows of a CUDA device. The rates are measured on an idle device (see
// device_rates.cc) and kept in the user's cache directory.
#pragma once

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::cuda {

/// Bandwidth and rates of a device in one precision.
CostModel device_cost_model(const runtime::CudaDevice& device, Precision precision);

}  // namespace tilewave::statevec::cuda
