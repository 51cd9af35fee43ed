// Arrays in the memory of a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/memory.h"

namespace tilewave::parametric::device {

namespace cuda = runtime::cuda;

using cuda::properties_of;

/// Where a kernel needs more shared memory than a block of threads can have.
[[noreturn]] inline void refuse_shared(std::size_t needed_bytes, const cudaDeviceProp& device) {
  throw Error(ExitCode::kResources, "functions of parameters in this precision need " +
                                        std::to_string(needed_bytes >> 10) +
                                        " KiB of shared memory for a block of threads, " +
                                        device.name + " has " +
                                        std::to_string(device.sharedMemPerBlockOptin >> 10) +
                                        " KiB: use single precision or the CPU");
}

/// How many blocks of a kernel are on a device at a time, which are as many as work through any
/// number of tiles. Allows the kernel that much dynamic shared memory.
inline std::uint32_t blocks_at_a_time(int device, const void* kernel, int threads,
                                      std::size_t shared_bytes) {
  cuda::allow_shared(device, kernel, shared_bytes);
  int each = 1;
  cuda::check(cuda::driver().blocks_per_multiprocessor(&each, kernel, threads, shared_bytes),
              "ask how many blocks fit");
  return static_cast<std::uint32_t>(properties_of(device).multiProcessorCount * std::max(each, 1));
}

/// Memory of a device, for as long as it is used.
template <class E>
class Array {
 public:
  Array() = default;
  Array(std::size_t count, const std::string& what)
      : arena_(std::max<std::size_t>(count, 1) * sizeof(E) + 256, what),
        data_(arena_.take<E>(std::max<std::size_t>(count, 1))),
        count_(count) {}
  Array(const std::vector<E>& values, const cuda::Stream& stream)
      : Array(values.size(), "a program of passes") {
    write(values, stream);
  }
  void write(const std::vector<E>& values, const cuda::Stream& stream) {
    if (!values.empty()) cuda::copy(data_, values.data(), values.size() * sizeof(E), stream);
  }
  E* data() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  cuda::DeviceArena arena_;
  E* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tilewave::parametric::device
