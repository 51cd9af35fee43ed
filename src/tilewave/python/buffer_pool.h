// Memory of arrays that Python has let go of.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tilewave/runtime/memory.h"

namespace tilewave::python {

/// For the next arrays of a sampler: fresh memory costs as much time as the shots do.
class BufferPool {
 public:
  runtime::HostBuffer take(std::size_t num_bytes) {
    const std::scoped_lock lock(mutex_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->num_bytes() < num_bytes || it->num_bytes() > 2 * num_bytes) continue;
      runtime::HostBuffer buffer = std::move(*it);
      free_.erase(it);
      return buffer;
    }
    return runtime::HostBuffer(num_bytes);
  }
  void give(runtime::HostBuffer buffer) {
    if (buffer.num_bytes() > kMostBytes) return;
    const std::scoped_lock lock(mutex_);
    if (free_.size() == kMostBuffers) free_.erase(free_.begin());
    free_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20, kMostBuffers = 2;
  std::mutex mutex_;
  std::vector<runtime::HostBuffer> free_;
};

/// Goes back to its pool.
struct PooledBuffer {
  runtime::HostBuffer memory;
  std::shared_ptr<BufferPool> pool;
  PooledBuffer(runtime::HostBuffer m, std::shared_ptr<BufferPool> p)
      : memory(std::move(m)), pool(std::move(p)) {}
  PooledBuffer(PooledBuffer&&) = default;
  ~PooledBuffer() {
    if (pool) pool->give(std::move(memory));
  }
};

}  // namespace tilewave::python
