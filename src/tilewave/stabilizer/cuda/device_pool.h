// Device memory of arrays that have been let go, for the next arrays of the same sampler: to reserve and
// free it takes the device as long as the shots of a call do.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewave::stabilizer {

/// Of one device. What is idle is given back where an allocation of this process finds too little
/// memory (runtime::cuda::allocate), and with the pool.
class DevicePool : public std::enable_shared_from_this<DevicePool> {
 public:
  /// At most `most_idle_bytes` stay reserved for later.
  DevicePool(int device, std::uint64_t most_idle_bytes)
      : device_(device), most_idle_bytes_(most_idle_bytes) {}
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  /// At least so many bytes on the device, which must be current; they come back to the pool, or are
  /// freed where it is gone, with the last owner. Memory that has been used before is handed out
  /// when the device has done all its work: whoever read it last is done. One thread at a time calls
  /// it. Throws Error(kResources).
  std::shared_ptr<void> take(std::uint64_t num_bytes);
  std::uint64_t idle_bytes() const;

 private:
  struct Block {
    void* data;
    std::uint64_t num_bytes;
    bool is_settled;  // the device has been waited for since it came back
  };
  void give(Block block);
  void release_idle();
  int device_;
  std::uint64_t most_idle_bytes_;
  mutable std::mutex mutex_;  // is not held while memory is allocated or freed
  std::vector<Block> idle_;   // the last one came back last
};

}  // namespace tilewave::stabilizer
