// Devices in a build without CUDA: there are none, and the message says what to do.
#include "tilewave/base/error.h"
#include "tilewave/runtime/device.h"

namespace tilewave::runtime {

namespace {
constexpr const char* kWhy =
    "this build of tilewave has no CUDA support: configure with TW_CUDA=ON, or use --device cpu";
}

bool built_with_cuda() { return false; }

std::vector<DeviceInfo> cuda_devices(std::string* why) {
  if (why) *why = kWhy;
  return {};
}

DeviceInfo cuda_device(int) { throw Error(ExitCode::kResources, kWhy); }

}  // namespace tilewave::runtime
