// A build without CUDA has no devices, and says so.
#include "tilewave/base/error.h"
#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::runtime {

bool built_with_cuda() { return false; }

std::vector<CudaDevice> cuda_devices(std::string* problem) {
  if (problem) *problem = "this build has no CUDA back end";
  return {};
}

std::vector<std::vector<double>> measure_links() { return {}; }

void act_as_gpu(int) {}

double measure_device_bandwidth(int, std::size_t) { throw NoCudaError(); }

}  // namespace tilewave::runtime
