// For tests only: a layer over the driver calls that needs no device and fails on demand. Memory is the
// host's, kernels do not run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/runtime/gpu_code.h"

namespace tilewave {

class FakeDriver : public runtime::cuda::Driver {
 public:
  cudaError_t count_status = cudaSuccess, allocate_status = cudaSuccess,
              launch_status = cudaSuccess;
  cudaError_t wait_status = cudaSuccess;
  std::set<void*> device_memory, host_memory, streams;
  std::map<void*, std::size_t> bytes_of;  // device memory
  std::size_t live_bytes = 0, peak_bytes = 0, num_allocations = 0;

  bool nothing_leaked() const {
    return device_memory.empty() && host_memory.empty() && streams.empty();
  }

  int capability = runtime::built_gpu_code().back().capability;
  std::size_t shared_bytes = std::size_t{227} << 10;
  int clusters = 0;
  int version = 12000;  ///< the newest CUDA that the driver serves; 0: there is no driver
  cudaError_t driver_version(int* told) override {
    *told = version;
    return cudaSuccess;
  }
  cudaError_t device_count(int* count) override {
    *count = 1;
    return count_status;
  }
  cudaError_t device_properties(cudaDeviceProp* p, int) override {
    *p = {};
    std::strcpy(p->name, "Fake GPU");
    p->major = capability / 10;
    p->minor = capability % 10;
    p->sharedMemPerBlockOptin = shared_bytes;
    p->clusterLaunch = clusters;
    p->multiProcessorCount = 132;
    p->totalGlobalMem = std::size_t{1} << 37;
    return cudaSuccess;
  }
  cudaError_t set_device(int) override { return cudaSuccess; }
  cudaError_t memory_info(std::size_t* free_bytes, std::size_t* total_bytes) override {
    *free_bytes = std::size_t{3} << 30;
    *total_bytes = std::size_t{1} << 37;
    return cudaSuccess;
  }
  cudaError_t allocate(void** p, std::size_t bytes) override {
    if (allocate_status != cudaSuccess) return allocate_status;
    const cudaError_t status = take(device_memory, p, bytes);
    bytes_of[*p] = bytes;
    peak_bytes = std::max(peak_bytes, live_bytes += bytes);
    ++num_allocations;
    return status;
  }
  cudaError_t release(void* p) override {
    live_bytes -= bytes_of[p];
    return give(device_memory, p);
  }
  cudaError_t allocate_host(void** p, std::size_t bytes) override {
    return take(host_memory, p, bytes);
  }
  cudaError_t release_host(void* p) override { return give(host_memory, p); }
  cudaError_t copy(void*, const void*, std::size_t, cudaStream_t) override { return cudaSuccess; }
  cudaError_t copy_rows(const cudaMemcpy3DParms&, cudaStream_t) override { return cudaSuccess; }
  cudaError_t fill(void*, int, std::size_t, cudaStream_t) override { return cudaSuccess; }
  cudaError_t create_stream(cudaStream_t* s) override {
    void* p = nullptr;
    take(streams, &p, 1);
    *s = static_cast<cudaStream_t>(p);
    return cudaSuccess;
  }
  cudaError_t destroy_stream(cudaStream_t s) override { return give(streams, s); }
  cudaError_t synchronize(cudaStream_t) override { return wait_status; }
  // Nothing can be timed: rates are not measured, nor noted for later runs.
  cudaError_t create_event(cudaEvent_t*) override { return cudaErrorDevicesUnavailable; }
  cudaError_t destroy_event(cudaEvent_t) override { return cudaSuccess; }
  cudaError_t launch(const void* kernel, dim3, dim3, void**, std::size_t bytes,
                     cudaStream_t) override {
    largest_shared = std::max(largest_shared, bytes);
    if (bytes > std::max(allowed[kernel], std::size_t{48} << 10)) return cudaErrorInvalidValue;
    return launch_status;
  }
  cudaError_t allow_shared(const void* kernel, std::size_t bytes) override {
    allowed[kernel] = bytes;
    return cudaSuccess;
  }
  cudaError_t balance_clusters(const void*) override { return cudaSuccess; }
  std::size_t largest_shared = 0;
  inline static std::map<const void*, std::size_t> allowed;  // a kernel's, as long as the process

 private:
  static cudaError_t take(std::set<void*>& from, void** p, std::size_t bytes) {
    *p = std::malloc(bytes);
    from.insert(*p);
    return cudaSuccess;
  }
  static cudaError_t give(std::set<void*>& to, void* p) {
    EXPECT_EQ(to.erase(p), 1u) << "released twice or never taken";
    std::free(p);
    return cudaSuccess;
  }
};

}  // namespace tilewave
