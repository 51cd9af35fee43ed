// The costs of CUDA devices, measured once and kept between runs (runtime/cost_cache.h), and what
// they must be for a device to be taken.
#pragma once

#include "tilewave/field/cuda/entropy_cuda.h"

namespace tilewave::field {

/// A device must promise this share of the time before `auto` leaves the CPU, or takes several.
inline constexpr double kWorthwhile = 0.85;
/// Seconds: below this the CPU is done before a device could be asked.
inline constexpr double kNeverAsk = 0.02;

/// Read from the file, or measured (a second) and added to it.
CudaCosts cached_cuda_costs(int device);

}  // namespace tilewave::field
