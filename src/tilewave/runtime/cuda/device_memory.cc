#include "tilewave/runtime/cuda/device_memory.h"

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/cuda/memory.h"

namespace tilewave::runtime::cuda {

DeviceMemory::DeviceMemory(int device, std::size_t num_bytes) : device_(device) {
  use_device(device);
  const cudaError_t status = allocate(&data_, num_bytes);
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free_bytes = 0, total_bytes = 0;
    (void)driver().memory_info(&free_bytes, &total_bytes);
    throw Error(ExitCode::kResources,
                out_of_memory_message(num_bytes, free_bytes, "an array on the device"));
  }
  check(status, "reserve device memory");
}

DeviceMemory::~DeviceMemory() {
  if (!data_) return;
  (void)driver().set_device(device_);
  (void)driver().release(data_);
}

void copy_on_device(int device, void* to, const void* from, std::size_t num_bytes) {
  use_device(device);
  check(driver().copy(to, from, num_bytes, nullptr), "copy on the device");
}

void finish_on_device(int device) {
  use_device(device);
  check(driver().synchronize(nullptr), "finish the work on the device");
}

}  // namespace tilewave::runtime::cuda
