// What a user sees when the device fails: a layer over the driver calls that fails on demand. Needs
// no device: memory is the host's, kernels do not run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec {
namespace {

class FakeDriver : public runtime::cuda::Driver {
 public:
  cudaError_t count_status = cudaSuccess, allocate_status = cudaSuccess,
              launch_status = cudaSuccess;
  cudaError_t wait_status = cudaSuccess;
  std::set<void*> device_memory, host_memory, streams;

  bool nothing_leaked() const {
    return device_memory.empty() && host_memory.empty() && streams.empty();
  }

  cudaError_t device_count(int* count) override {
    *count = 1;
    return count_status;
  }
  cudaError_t device_properties(cudaDeviceProp* p, int) override {
    *p = {};
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
    return take(device_memory, p, bytes);
  }
  cudaError_t release(void* p) override { return give(device_memory, p); }
  cudaError_t allocate_host(void** p, std::size_t bytes) override {
    return take(host_memory, p, bytes);
  }
  cudaError_t release_host(void* p) override { return give(host_memory, p); }
  cudaError_t copy(void*, const void*, std::size_t, cudaStream_t) override { return cudaSuccess; }
  cudaError_t fill(void*, int, std::size_t, cudaStream_t) override { return cudaSuccess; }
  cudaError_t create_stream(cudaStream_t* s) override {
    void* p = nullptr;
    take(streams, &p, 1);
    *s = static_cast<cudaStream_t>(p);
    return cudaSuccess;
  }
  cudaError_t destroy_stream(cudaStream_t s) override { return give(streams, s); }
  cudaError_t synchronize(cudaStream_t) override { return wait_status; }
  cudaError_t launch(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) override {
    return launch_status;
  }
  cudaError_t allow_shared(const void*, std::size_t) override { return cudaSuccess; }

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

template <class F>
std::string failure(F f, ExitCode code) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(GpuFaults, no_device_and_an_old_driver) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  fake.count_status = cudaErrorNoDevice;
  const auto make = [] { make_cuda_state(4, Precision::kDouble); };
  EXPECT_NE(failure(make, ExitCode::kResources).find("no CUDA device"), std::string::npos);
  fake.count_status = cudaErrorInsufficientDriver;
  EXPECT_NE(failure(make, ExitCode::kResources).find("update the driver"), std::string::npos);
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, exhausted_memory_names_needed_and_free_and_leaks_nothing) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  fake.allocate_status = cudaErrorMemoryAllocation;
  const std::string text =
      failure([] { make_cuda_state(30, Precision::kDouble); }, ExitCode::kResources);
  EXPECT_NE(text.find("30 qubits"), std::string::npos) << text;
  EXPECT_NE(text.find("needs 16."), std::string::npos) << text;
  EXPECT_NE(text.find("3.00 GiB free"), std::string::npos) << text;
  EXPECT_NE(text.find("--precision single"), std::string::npos) << text;
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_share_of_the_memory_is_reserved_once_for_a_state_and_its_clones) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  {
    auto state = make_cuda_state(4, Precision::kDouble, 0, 0.008);
    EXPECT_EQ(fake.device_memory.size(), 1u);
    auto first = state->clone(), second = first->clone();
    EXPECT_EQ(fake.device_memory.size(), 1u);
    first.reset();  // not on top: free when the second has gone
    second.reset();
    for (int k = 0; k < 100; ++k) state->clone();
    EXPECT_EQ(fake.device_memory.size(), 1u);
  }
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_share_too_large_or_too_small_says_so_and_leaks_nothing) {
  FakeDriver fake;
  runtime::cuda::ScopedDriver scope(&fake);
  const std::string small =
      failure([] { make_cuda_state(21, Precision::kDouble, 0, 0.0009); }, ExitCode::kResources);
  EXPECT_NE(small.find("21 qubits"), std::string::npos) << small;
  EXPECT_NE(small.find("larger --memory-fraction"), std::string::npos) << small;
  EXPECT_TRUE(fake.nothing_leaked());
  fake.allocate_status = cudaErrorMemoryAllocation;
  const std::string large =
      failure([] { make_cuda_state(4, Precision::kDouble, 0, 0.925); }, ExitCode::kResources);
  EXPECT_NE(large.find("118.40 GiB"), std::string::npos) << large;
  EXPECT_NE(large.find("smaller --memory-fraction"), std::string::npos) << large;
  EXPECT_TRUE(fake.nothing_leaked());
}

TEST(GpuFaults, a_device_lost_in_a_run_is_an_error_and_leaks_nothing) {
  for (const bool at_launch : {true, false}) {
    FakeDriver fake;
    runtime::cuda::ScopedDriver scope(&fake);
    {
      auto state = make_cuda_state(6, Precision::kSingle);
      circuit::Circuit c(6);
      c.add_gate(circuit::GateId::kH, {3});
      const auto apply = [&] { state->apply(c, c.ops()); };
      (at_launch ? fake.launch_status : fake.wait_status) = cudaErrorECCUncorrectable;
      EXPECT_NE(failure(apply, ExitCode::kResources).find("device was lost"), std::string::npos);
    }
    EXPECT_TRUE(fake.nothing_leaked());
  }
}

}  // namespace
}  // namespace tilewave::statevec
