// The accelerators of this machine, described without any vendor's header. In a build without CUDA
// the list is empty and says why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewave::runtime {

struct DeviceInfo {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int num_multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
};

/// False when this program was built without CUDA.
bool built_with_cuda();

/// The CUDA devices; empty when there is none, no driver, or no CUDA in this build (`why` then says
/// so).
std::vector<DeviceInfo> cuda_devices(std::string* why = nullptr);

/// One device; throws Error(kResources) with the reason when it cannot be used.
DeviceInfo cuda_device(int index);

}  // namespace tilewave::runtime
