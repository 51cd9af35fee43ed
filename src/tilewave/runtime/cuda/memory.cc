#include "tilewave/runtime/cuda/memory.h"

#include "tilewave/base/error.h"

namespace tilewave::runtime::cuda {

namespace {
constexpr std::size_t kAlignment = 256;
}

DeviceArena::DeviceArena(std::size_t num_bytes, const std::string& what) : num_bytes_(num_bytes) {
  const cudaError_t status = driver().allocate(&base_, num_bytes);
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free_bytes = 0, total_bytes = 0;
    (void)driver().memory_info(&free_bytes, &total_bytes);
    base_ = nullptr;
    throw Error(ExitCode::kResources, out_of_memory_message(num_bytes, free_bytes, what));
  }
  check(status, "reserve device memory");
}

DeviceArena::~DeviceArena() {
  if (base_) (void)driver().release(base_);
}

void* DeviceArena::take_bytes(std::size_t num_bytes) {
  const std::size_t start = (top_ + kAlignment - 1) / kAlignment * kAlignment;
  TW_CHECK(start <= num_bytes_ && num_bytes <= num_bytes_ - start,
           "the device arena is too small: " + std::to_string(num_bytes) + " bytes asked, " +
               std::to_string(num_bytes_ - top_) + " left");
  top_ = start + num_bytes;
  return static_cast<char*>(base_) + start;
}

}  // namespace tilewave::runtime::cuda
