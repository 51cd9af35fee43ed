// What of compiled passes a user is told (device_costs.h).
#include "tilewave/runtime/cuda/jit_cache.h"
#include "tilewave/statevec/device_costs.h"

namespace tilewave::statevec {

using runtime::cuda::JitCache;

std::string compiled_passes() {
  std::string why;
  const JitCache* const cache = JitCache::of_process(&why);
  return cache ? cache->description() : "none: " + why;
}

std::string refused_passes() {
  const JitCache* const cache = JitCache::if_made();
  const std::string refusal = cache ? cache->refusal() : "";
  if (refusal.empty()) return "";
  return "passes are interpreted, which may take several times as long: their kernels do not "
         "compile here (" +
         refusal.substr(0, refusal.find('\n')) + ")";
}

}  // namespace tilewave::statevec
