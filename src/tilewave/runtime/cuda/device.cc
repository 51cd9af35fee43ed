#include "tilewave/runtime/device.h"

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"

namespace tilewave::runtime {

namespace {

DeviceInfo describe(int index) {
  cudaDeviceProp p{};
  cuda::check(cuda::driver().device_properties(&p, index), "read the properties of a CUDA device");
  DeviceInfo info;
  info.index = index;
  info.name = p.name;
  info.major = p.major;
  info.minor = p.minor;
  info.num_multiprocessors = p.multiProcessorCount;
  info.memory_bytes = p.totalGlobalMem;
  cuda::check(cuda::driver().set_device(index), "use the CUDA device");
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda::check(cuda::driver().memory_info(&free_bytes, &total_bytes), "read the free device memory");
  info.free_bytes = free_bytes;
  return info;
}

}  // namespace

bool built_with_cuda() { return true; }

std::vector<DeviceInfo> cuda_devices(std::string* why) {
  std::vector<DeviceInfo> devices;
  try {
    int count = 0;
    cuda::check(cuda::driver().device_count(&count), "look for CUDA devices");
    for (int i = 0; i < count; ++i) devices.push_back(describe(i));
    if (count == 0 && why) *why = "no CUDA device was found";
  } catch (const Error& e) {
    devices.clear();
    if (why) *why = e.what();
  }
  return devices;
}

DeviceInfo cuda_device(int index) {
  int count = 0;
  cuda::check(cuda::driver().device_count(&count), "look for CUDA devices");
  if (index < 0 || index >= count) {
    throw Error(ExitCode::kResources, "there is no CUDA device " + std::to_string(index) + " (" +
                                          std::to_string(count) +
                                          " found): use a smaller number, or --device cpu");
  }
  return describe(index);
}

}  // namespace tilewave::runtime
