#include "tilewave/field/run/cuda_costs.h"

#include "tilewave/base/error.h"
#include "tilewave/runtime/cost_cache.h"

namespace tilewave::field {

CudaCosts cached_cuda_costs(int device) {
  const std::vector<runtime::CudaDevice> devices = runtime::cuda_devices();
  if (device < 0 || device >= static_cast<int>(devices.size())) {
    throw Error(ExitCode::kResources, "there is no CUDA device " + std::to_string(device));
  }
  const std::string key = runtime::cost_key(devices[static_cast<std::size_t>(device)], "entropy");
  const std::vector<double> c = runtime::cached_costs(key, 6, [&] {
    const CudaCosts m = measure_cuda_costs(device);
    return std::vector<double>{m.start_s,         m.call_s,   m.in_bytes_per_s,
                               m.out_bytes_per_s, m.packed_s, m.update_s};
  });
  return {c[0], c[1], c[2], c[3], c[4], c[5]};
}

}  // namespace tilewave::field
