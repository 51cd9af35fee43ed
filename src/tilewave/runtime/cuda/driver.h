// The CUDA calls this program makes, behind one virtual layer: every result is checked in one
// place, and tests put a failing layer in to see what a user would see (memory exhausted, device
// lost, no driver).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/runtime/machine.h"

namespace tilewave::runtime::cuda {

class Driver {
 public:
  virtual ~Driver() = default;
  virtual cudaError_t device_count(int* count);
  virtual cudaError_t driver_version(int* version);
  virtual cudaError_t device_properties(cudaDeviceProp* properties, int device);
  virtual cudaError_t set_device(int device);
  virtual cudaError_t current_device(int* device);
  virtual cudaError_t memory_info(std::size_t* free_bytes, std::size_t* total_bytes);
  virtual cudaError_t allocate(void** pointer, std::size_t num_bytes);
  virtual cudaError_t release(void* pointer);
  virtual cudaError_t allocate_host(void** pointer, std::size_t num_bytes);
  virtual cudaError_t release_host(void* pointer);
  virtual cudaError_t copy(void* to, const void* from, std::size_t num_bytes, cudaStream_t stream);
  virtual cudaError_t copy_rows(const cudaMemcpy3DParms& parms, cudaStream_t stream);
  virtual cudaError_t fill(void* to, int value, std::size_t num_bytes, cudaStream_t stream);
  virtual cudaError_t can_reach(int* yes, int device, int peer);
  virtual cudaError_t reach(int peer);  ///< from the current device; no error when it did already
  /// A device allocation of this process in the memory of another one, on the same host.
  virtual cudaError_t share_memory(cudaIpcMemHandle_t* handle, void* pointer);
  virtual cudaError_t open_shared(void** pointer, cudaIpcMemHandle_t handle);
  virtual cudaError_t close_shared(void* pointer);
  /// An event that streams of other processes can wait for.
  virtual cudaError_t create_shared_event(cudaEvent_t* event, cudaIpcEventHandle_t* handle);
  virtual cudaError_t open_shared_event(cudaEvent_t* event, cudaIpcEventHandle_t handle);
  virtual cudaError_t create_stream(cudaStream_t* stream);
  virtual cudaError_t create_urgent_stream(cudaStream_t* stream);  ///< its blocks start first
  virtual cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event);
  virtual cudaError_t destroy_stream(cudaStream_t stream);
  virtual cudaError_t synchronize(cudaStream_t stream);
  virtual cudaError_t query(cudaStream_t stream);  ///< cudaErrorNotReady while work is left
  virtual cudaError_t create_event(cudaEvent_t* event);
  virtual cudaError_t destroy_event(cudaEvent_t event);
  virtual cudaError_t record(cudaEvent_t event, cudaStream_t stream);
  virtual cudaError_t synchronize_event(cudaEvent_t event);
  virtual cudaError_t elapsed_ms(float* ms, cudaEvent_t from, cudaEvent_t to);
  virtual cudaError_t launch(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream);
  /// The kernel of that name in machine code of the current device, which stays loaded.
  virtual cudaError_t load_kernel(const void** kernel, const void* binary, const char* name);
  virtual cudaError_t allow_shared(const void* kernel, std::size_t shared_bytes);
  /// The device may put the blocks of a cluster wherever there is room, on one multiprocessor, too.
  virtual cudaError_t balance_clusters(const void* kernel);
  virtual cudaError_t blocks_per_multiprocessor(int* blocks, const void* kernel, int threads,
                                                std::size_t shared_bytes);
};

/// The layer in use on this thread: the real one unless a ScopedDriver replaces it.
Driver& driver();

/// Puts another layer in for the calling thread, for tests.
class ScopedDriver {
 public:
  explicit ScopedDriver(Driver* replacement);
  ~ScopedDriver();
  ScopedDriver(const ScopedDriver&) = delete;
  ScopedDriver& operator=(const ScopedDriver&) = delete;

 private:
  Driver* before_;
};

/// What the driver says of a device, in limits that tests set (act_as_gpu). Decisions about shared
/// memory and clusters ask this, no attributes of the runtime.
cudaDeviceProp properties_of(int device);

/// Makes a device current for the calling thread; throws Error(kResources) when it cannot be used.
CudaDevice use_device(int index);

/// Lets every device read and write the memory of every other; throws Error(kResources) that names
/// two that cannot.
void connect(const std::vector<int>& devices);

/// Throws Error(kResources) (device, driver, memory) or Error(kInternal) (the rest) unless `status`
/// is success. `doing` completes "cannot ...": "copy a program to the device"; `less` is what to use
/// where the memory of the device is exhausted. What the device remembers of the error is cleared,
/// so that nobody reads it as the result of a later call.
void check(cudaError_t status, const char* doing,
           const char* less = "fewer qubits, --precision single, or --device cpu");

/// Allows a kernel this much dynamic shared memory on the current device, which is `device`. That
/// belongs to the kernel and not to who launches it, so it only grows: another user of the kernel may
/// need more. Returns what is allowed from now on. `has_clusters`: so does where the blocks of a
/// cluster are put, which the device may choose.
std::size_t allow_shared(int device, const void* kernel, std::size_t shared_bytes,
                         bool has_clusters = false);

/// The message for memory that does not fit: what was needed, what there is, three ways out.
std::string gib_text(std::uint64_t bytes);
std::string out_of_memory_message(std::uint64_t needed_bytes, std::uint64_t free_bytes,
                                  const std::string& what);

}  // namespace tilewave::runtime::cuda
