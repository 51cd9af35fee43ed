// Device memory and error checks of the stabilizer kernels.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::stabilizer {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // not to be reported once more
  throw Error(ExitCode::kResources,
              std::string("GPU: ") + what + ": " + cudaGetErrorString(status));
}

/// Makes a device the calling thread's. Throws Error(kResources) when there is none of this number.
inline void use_gpu(int device) { check_cuda(cudaSetDevice(device), "choosing a device"); }

/// The calling thread's device.
inline int current_gpu() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "asking for the device");
  return device;
}

struct DeviceStream {
  cudaStream_t stream = nullptr;
  DeviceStream() {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  }
  ~DeviceStream() { cudaStreamDestroy(stream); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
};

/// An owned array on the device.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    if (count) check_cuda(cudaMalloc(&data_, count * sizeof(T)), "allocating memory");
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    if (count_)
      check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
                 "copying a program");
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& o) noexcept : data_(o.data_), count_(o.count_) { o.data_ = nullptr; }
  DeviceBuffer& operator=(DeviceBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(count_, o.count_);
    return *this;
  }
  T* get() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tilewave::stabilizer
