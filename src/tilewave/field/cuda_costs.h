// The costs of CUDA devices, measured once and kept between runs (runtime/cost_cache.h).
#pragma once

#include "tilewave/field/cuda/entropy_cuda.h"

namespace tilewave::field {

/// Read from the file, or measured (a second) and added to it.
CudaCosts cached_cuda_costs(int device);

}  // namespace tilewave::field
