// Device memory and error checks of the stabilizer kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/cuda/memory.h"

namespace tilewave::stabilizer {

/// As runtime::cuda::check().
inline void check_cuda(cudaError_t status, const char* doing) {
  runtime::cuda::check(status, doing, "a smaller circuit, or --device cpu");
}

/// Makes a device the calling thread's. Throws Error(kResources) when there is none of this number, or
/// this build has no code for it.
inline void use_gpu(int device) { runtime::cuda::use_device(device); }

/// The calling thread's device.
inline int current_gpu() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  return device;
}

struct DeviceStream {
  cudaStream_t stream = nullptr;
  DeviceStream() {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
  }
  struct Urgent {};
  /// One whose blocks start before those of other streams.
  explicit DeviceStream(Urgent) {
    check_cuda(runtime::cuda::driver().create_urgent_stream(&stream), "make a stream");
  }
  ~DeviceStream() { cudaStreamDestroy(stream); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  void wait_for(cudaEvent_t event) const {
    check_cuda(cudaStreamWaitEvent(stream, event, 0), "make a stream wait");
  }
};

/// Between streams of a device; without times.
struct DeviceEvent {
  cudaEvent_t event = nullptr;
  DeviceEvent() {
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "make an event");
  }
  ~DeviceEvent() { cudaEventDestroy(event); }
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  void record(const DeviceStream& s) const {
    check_cuda(cudaEventRecord(event, s.stream), "record an event");
  }
};

/// An owned array on the device.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    void* data = nullptr;
    if (count)
      check_cuda(runtime::cuda::allocate(&data, count * sizeof(T)),
                 "reserve memory for shots on the device");
    data_ = static_cast<T*>(data);
  }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    if (count_)
      check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
                 "copy a program to the device");
  }
  ~DeviceBuffer() {
    if (data_) (void)runtime::cuda::driver().release(data_);
  }
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
