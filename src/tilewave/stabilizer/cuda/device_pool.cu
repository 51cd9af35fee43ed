#include "tilewave/stabilizer/cuda/device_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "tilewave/stabilizer/cuda/device_buffer.cuh"

namespace tilewave::stabilizer {
namespace {

// Freeing waits for all work of the device.
void release(int device, void* data) {
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(device);
  (void)runtime::cuda::driver().release(data);
  cudaSetDevice(before);
}

// A block is taken for arrays of at least half its size.
bool suits(std::uint64_t block_bytes, std::uint64_t num_bytes) {
  return num_bytes <= block_bytes && block_bytes / 2 <= num_bytes;
}

}  // namespace

DevicePool::~DevicePool() {
  runtime::cuda::withdraw_idle(this);
  release_idle();
}

std::uint64_t DevicePool::idle_bytes() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const Block& b : idle_) sum += b.num_bytes;
  return sum;
}

std::shared_ptr<void> DevicePool::take(std::uint64_t num_bytes) {
  if (num_bytes == 0) return nullptr;
  // Sizes of lists differ from call to call.
  const std::uint64_t step = std::max<std::uint64_t>(256, std::bit_floor(num_bytes) / 16);
  num_bytes = (num_bytes + step - 1) / step * step;
  Block block{nullptr, num_bytes, false};
  bool must_wait = false;
  {
    const std::scoped_lock lock(mutex_);
    for (auto b = idle_.begin(); b != idle_.end(); ++b) {
      if (!suits(b->num_bytes, num_bytes)) continue;
      block = *b;
      idle_.erase(b);
      must_wait = !block.is_settled;
      // What has come back until now is waited for at once.
      for (Block& other : idle_) other.is_settled |= must_wait;
      break;
    }
  }
  if (!block.data)
    check_cuda(runtime::cuda::allocate(&block.data, num_bytes),
               "reserve memory for shots on the device");
  std::shared_ptr<void> memory(block.data, [pool = weak_from_this(), device = device_,
                                            num_bytes = block.num_bytes](void* data) {
    if (const auto there = pool.lock()) {
      there->give({data, num_bytes, false});
    } else {
      release(device, data);
    }
  });
  if (must_wait) check_cuda(cudaDeviceSynchronize(), "wait for the readers of earlier shots");
  return memory;
}

void DevicePool::give(Block block) {
  try {
    {
      const std::scoped_lock lock(mutex_);
      idle_.push_back(block);
    }
    block.data = nullptr;
    while (idle_bytes() > most_idle_bytes_) {
      Block oldest{};
      {
        const std::scoped_lock lock(mutex_);
        if (idle_.empty()) break;
        oldest = idle_.front();
        idle_.erase(idle_.begin());
      }
      release(device_, oldest.data);
    }
    runtime::cuda::offer_idle(this, device_, [this] { release_idle(); });
  } catch (const std::bad_alloc&) {  // of host memory: what is not kept is freed
    if (block.data) release(device_, block.data);
  }
}

void DevicePool::release_idle() {
  std::vector<Block> all;
  {
    const std::scoped_lock lock(mutex_);
    std::swap(all, idle_);
  }
  for (const Block& b : all) release(device_, b.data);
}

}  // namespace tilewave::stabilizer
