// The CUDA devices the driver offers to this process.
#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/gpu_code.h"

namespace tilewave::runtime {

namespace {

constexpr int kFirstWithClusters = 90;  // compute capability

/// What follows "cannot ...": the device has no code here.
std::string no_code_for(const CudaDevice& device) {
  const std::string capability = std::to_string(device.major) + "." + std::to_string(device.minor);
  return "this build has no code for " + device.name + " (compute capability " + capability +
         "; it holds " + gpu_code_text(built_gpu_code()) +
         "): use --device cpu, or build with -DCMAKE_CUDA_ARCHITECTURES=" +
         std::to_string(10 * device.major + device.minor);
}

}  // namespace

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
      const auto code = gpu_code_for(built_gpu_code(), p.major, p.minor);
      devices.push_back({k, p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem,
                         driver_version, code.has_value(), p.sharedMemPerBlockOptin,
                         p.clusterLaunch && code && code->capability >= kFirstWithClusters});
    }
    if (!devices.empty() && std::none_of(devices.begin(), devices.end(),
                                         [](const CudaDevice& d) { return d.has_code; })) {
      if (problem) *problem = no_code_for(devices.front());
      return {};
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
  if (devices.empty()) fail(ExitCode::kResources, problem);
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    fail(ExitCode::kResources, "there is no CUDA device ", index, " (", devices.size(),
         " found): use a smaller number, or --device cpu");
  }
  const CudaDevice& device = devices[static_cast<std::size_t>(index)];
  if (!device.has_code) fail(ExitCode::kResources, no_code_for(device));
  check(driver().set_device(index), "use the CUDA device");
  return device;
}

}  // namespace cuda

}  // namespace tilewave::runtime
