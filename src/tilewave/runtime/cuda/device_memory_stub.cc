// A build without CUDA has no device memory, and says so.
#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/device_memory.h"

namespace tilewave::runtime::cuda {
namespace {

[[noreturn]] void refuse() { throw NoCudaError(); }

}  // namespace

DeviceMemory::DeviceMemory(int device, std::size_t) : device_(device) { refuse(); }
DeviceMemory::~DeviceMemory() = default;
void copy_on_device(int, void*, const void*, std::size_t) { refuse(); }
void finish_on_device(int) { refuse(); }

}  // namespace tilewave::runtime::cuda
