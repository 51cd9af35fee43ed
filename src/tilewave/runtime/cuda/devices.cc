// The CUDA devices the driver offers to this process.
#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"

namespace tilewave::runtime {

bool built_with_cuda() { return true; }

std::vector<CudaDevice> cuda_devices(std::string* problem) {
  std::vector<CudaDevice> devices;
  try {
    int count = 0;
    cuda::check(cuda::driver().device_count(&count), "look for CUDA devices");
    int driver_version = 0;
    cuda::check(cuda::driver().driver_version(&driver_version), "read the version of the driver");
    for (int k = 0; k < count; ++k) {
      cudaDeviceProp p{};
      cuda::check(cuda::driver().device_properties(&p, k), "read the properties of a CUDA device");
      devices.push_back(
          {k, p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem, driver_version});
    }
    if (count == 0 && problem) *problem = "no device found";
  } catch (const Error& e) {
    devices.clear();
    if (problem) *problem = e.what();
  }
  return devices;
}

namespace cuda {

CudaDevice use_device(int index) {
  std::string problem;
  const std::vector<CudaDevice> devices = cuda_devices(&problem);
  if (devices.empty()) throw Error(ExitCode::kResources, problem);
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    throw Error(ExitCode::kResources, "there is no CUDA device " + std::to_string(index) + " (" +
                                          std::to_string(devices.size()) +
                                          " found): use a smaller number, or --device cpu");
  }
  check(driver().set_device(index), "use the CUDA device");
  return devices[static_cast<std::size_t>(index)];
}

}  // namespace cuda

}  // namespace tilewave::runtime
