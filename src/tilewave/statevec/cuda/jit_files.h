// The device code that kernels compiled at run time are made of: headers of this program, carried
// in it as text.
#pragma once

#include <span>

#include "tilewave/runtime/cuda/nvrtc.h"

namespace tilewave::statevec::cuda {

std::span<const runtime::cuda::SourceFile> jit_files();

}  // namespace tilewave::statevec::cuda
