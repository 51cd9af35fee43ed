// Memory of a CUDA device for images and tables, and errors of CUDA calls.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::field {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const ExitCode code =
      status == cudaErrorMemoryAllocation ? ExitCode::kResources : ExitCode::kInternal;
  throw Error(code, std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

/// Device memory that grows on demand.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  template <class T>
  T* reserve(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes > bytes_) {
      cudaFree(data_);
      data_ = nullptr;
      bytes_ = 0;
      check(cudaMalloc(&data_, bytes), "no memory for the image: use --device cpu");
      bytes_ = bytes;
    }
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* upload(const std::vector<T>& values) {
    T* to = reserve<T>(std::max<std::size_t>(values.size(), 1));
    check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "copying tables");
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tilewave::field
