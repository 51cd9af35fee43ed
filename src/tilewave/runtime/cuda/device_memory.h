// Memory of a CUDA device that belongs to a result, for arrays that stay there. Without the CUDA
// back end every call says so. Device pointers of other packages (CuPy, PyTorch) are of the same
// context and can stand beside it.
#pragma once

#include <cstddef>

namespace tilewave::runtime::cuda {

class DeviceMemory {
 public:
  /// Throws Error(kResources) where there is no such device or not enough memory.
  DeviceMemory(int device, std::size_t num_bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* data() const { return data_; }

 private:
  [[maybe_unused]] int device_ = 0;  // the stub has no device
  void* data_ = nullptr;
};

/// From device memory to device memory, after what was given to the default stream before.
void copy_on_device(int device, void* to, const void* from, std::size_t num_bytes);
/// Returns when the default stream of the device has nothing left to do.
void finish_on_device(int device);

}  // namespace tilewave::runtime::cuda
