// Memory of a CUDA device for images and tables, and errors of CUDA calls.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/cuda/memory.h"

namespace tilewave::field {

/// As runtime::cuda::check().
inline void check(cudaError_t status, const char* doing) {
  runtime::cuda::check(status, doing, "--device cpu");
}

/// Device memory that grows on demand.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { release(); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  template <class T>
  T* reserve(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > bytes_) {
      release();
      check(runtime::cuda::allocate(&data_, bytes), "reserve memory for the image on the device");
      bytes_ = bytes;
    }
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* upload(const std::vector<T>& values) {
    T* to = reserve<T>(std::max<std::size_t>(values.size(), 1));
    check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "copy tables to the device");
    return to;
  }

 private:
  void release() {
    if (data_) (void)runtime::cuda::driver().release(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tilewave::field
