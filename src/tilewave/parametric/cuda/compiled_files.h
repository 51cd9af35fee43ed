// The device code that compiled passes are made of, carried in the program as text.
#pragma once

#include "tilewave/runtime/cuda/jit_cache.h"

namespace tilewave::parametric::device {

const runtime::cuda::KernelKind& compiled_kernels();

}  // namespace tilewave::parametric::device
