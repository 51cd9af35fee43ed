// The device code that kernels compiled at run time are made of: headers of this program, carried
// in it as text.
#pragma once

#include "tilewave/runtime/cuda/jit_cache.h"

namespace tilewave::statevec::cuda {

const runtime::cuda::KernelKind& pass_kernels();

}  // namespace tilewave::statevec::cuda
