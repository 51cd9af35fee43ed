// A build without CUDA has no devices, no memory on them and no libraries for them, and says so.
#include "tilewave/base/error.h"
#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/cuda/device_memory.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/optional_libraries.h"

namespace tilewave::runtime {
namespace {

constexpr const char* kNone = "this build has no CUDA back end";

}  // namespace

bool built_with_cuda() { return false; }

std::vector<CudaDevice> cuda_devices(std::string* problem) {
  if (problem) *problem = kNone;
  return {};
}

std::vector<std::vector<double>> measure_links() { return {}; }

void act_as_gpu(int) {}

double measure_device_bandwidth(int, std::size_t) { throw NoCudaError(); }

OptionalLibrary find_nvrtc() { return {"", kNone}; }
OptionalLibrary find_nccl() { return {"", kNone}; }

namespace cuda {

DeviceMemory::DeviceMemory(int device, std::size_t) : device_(device) { throw NoCudaError(); }
DeviceMemory::~DeviceMemory() = default;
void copy_on_device(int, void*, const void*, std::size_t) { throw NoCudaError(); }
void finish_on_device(int) { throw NoCudaError(); }

}  // namespace cuda

}  // namespace tilewave::runtime
