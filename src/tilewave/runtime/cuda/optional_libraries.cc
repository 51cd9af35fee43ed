#include "tilewave/runtime/optional_libraries.h"

#include <cuda_runtime_api.h>

#include "tilewave/runtime/cuda/nccl.h"
#include "tilewave/runtime/nvrtc.h"

namespace tilewave::runtime {

OptionalLibrary find_nvrtc() {
  OptionalLibrary found;
  if (const cuda::Nvrtc* const nvrtc = cuda::Nvrtc::load({CUDART_VERSION / 1000}, &found.problem))
    found.version = nvrtc->version();
  return found;
}

OptionalLibrary find_nccl() {
  OptionalLibrary found;
  if (const int version = cuda::Nccl::library_version(&found.problem)) {
    found.version = std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                    "." + std::to_string(version % 100);
  }
  return found;
}

}  // namespace tilewave::runtime
