// A build without CUDA takes none of them.
#include "tilewave/runtime/optional_libraries.h"

namespace tilewave::runtime {

OptionalLibrary find_nvrtc() { return {"", "this build has no CUDA back end"}; }
OptionalLibrary find_nccl() { return {"", "this build has no CUDA back end"}; }

}  // namespace tilewave::runtime
