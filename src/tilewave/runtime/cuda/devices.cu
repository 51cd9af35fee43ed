// The CUDA devices the driver offers to this process.
#include <cuda_runtime_api.h>

#include "tilewave/runtime/machine.h"

namespace tilewave::runtime {

bool built_with_cuda() { return true; }

std::vector<CudaDevice> cuda_devices(std::string* problem) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    if (problem) *problem = status == cudaSuccess ? "no device found" : cudaGetErrorString(status);
    return {};
  }
  std::vector<CudaDevice> devices;
  for (int k = 0; k < count; ++k) {
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, k) != cudaSuccess) continue;
    devices.push_back({k, p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem});
  }
  return devices;
}

}  // namespace tilewave::runtime
