// What the planner is told of a CUDA device: rates measured on it once (less than a second) and
// kept in the user's cache (runtime/cost_cache.h), or those shipped as data, which name their
// machine.
#pragma once

#include <string>

#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec {

enum class CostSource : std::uint8_t { kShipped, kMeasured };

/// Of one precision. Measured where the device has 600 MiB free; a build without CUDA throws
/// Error(kResources).
CostModel cuda_cost_model(const runtime::CudaDevice& device, Precision precision, CostSource wanted,
                          CostSource* got = nullptr);

/// What compiles passes for the device, and where the kernels are kept; or "none: " and why.
std::string compiled_passes();
/// A warning where the compiler refused the kernel of a pass in this process; otherwise empty.
std::string refused_passes();

/// The machine of the shipped rates and the day they were found.
std::string shipped_costs_origin();

}  // namespace tilewave::statevec
