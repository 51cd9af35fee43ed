#include "tilewave/runtime/cuda/driver.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/runtime/gpu_code.h"

namespace tilewave::runtime::cuda {

namespace {

/// Shared memory of devices, by compute capability: tables of technical specifications in the CUDA
/// programming guide.
struct SharedLimits {
  int capability;
  std::size_t block_bytes, multiprocessor_bytes;
  bool clusters;
};
constexpr SharedLimits kLimits[] = {
    {75, 64 << 10, 64 << 10, false},   {80, 163 << 10, 164 << 10, false},
    {86, 99 << 10, 100 << 10, false},  {87, 163 << 10, 164 << 10, false},
    {89, 99 << 10, 100 << 10, false},  {90, 227 << 10, 228 << 10, true},
    {100, 227 << 10, 228 << 10, true}, {103, 227 << 10, 228 << 10, true},
    {120, 99 << 10, 100 << 10, true},  {121, 99 << 10, 100 << 10, true}};
const SharedLimits* acted = nullptr;

cudaDeviceProp acting(cudaDeviceProp p) {
  if (!acted) return p;
  p.sharedMemPerBlockOptin = std::min(p.sharedMemPerBlockOptin, acted->block_bytes);
  p.sharedMemPerMultiprocessor =
      std::min(p.sharedMemPerMultiprocessor, acted->multiprocessor_bytes);
  p.clusterLaunch = p.clusterLaunch && acted->clusters;
  // by a name of its own, so that rates measured so are not kept as the device's
  const std::string name = std::string(p.name) + " as sm_" + std::to_string(acted->capability);
  std::snprintf(p.name, sizeof p.name, "%s", name.c_str());
  return p;
}

}  // namespace

cudaError_t Driver::device_count(int* count) { return cudaGetDeviceCount(count); }
cudaError_t Driver::driver_version(int* version) { return cudaDriverGetVersion(version); }

// Asking takes up to a millisecond, and the answer stays.
cudaError_t Driver::device_properties(cudaDeviceProp* properties, int device) {
  static std::mutex mutex;
  static auto* const known = new std::map<int, cudaDeviceProp>;
  const std::lock_guard lock(mutex);
  if (const auto found = known->find(device); found != known->end()) {
    *properties = found->second;
    return cudaSuccess;
  }
  const cudaError_t status = cudaGetDeviceProperties(properties, device);
  if (status == cudaSuccess) (*known)[device] = *properties = acting(*properties);
  return status;
}

cudaError_t Driver::current_device(int* device) { return cudaGetDevice(device); }
cudaError_t Driver::set_device(int device) { return cudaSetDevice(device); }
cudaError_t Driver::memory_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  return cudaMemGetInfo(free_bytes, total_bytes);
}
cudaError_t Driver::allocate(void** pointer, std::size_t num_bytes) {
  return cudaMalloc(pointer, num_bytes);
}
cudaError_t Driver::release(void* pointer) { return cudaFree(pointer); }
cudaError_t Driver::allocate_host(void** pointer, std::size_t num_bytes) {
  return cudaMallocHost(pointer, num_bytes);
}
cudaError_t Driver::release_host(void* pointer) { return cudaFreeHost(pointer); }
cudaError_t Driver::copy(void* to, const void* from, std::size_t num_bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, num_bytes, cudaMemcpyDefault, stream);
}
cudaError_t Driver::copy_rows(const cudaMemcpy3DParms& parms, cudaStream_t stream) {
  return cudaMemcpy3DAsync(&parms, stream);
}
cudaError_t Driver::fill(void* to, int value, std::size_t num_bytes, cudaStream_t stream) {
  return cudaMemsetAsync(to, value, num_bytes, stream);
}
cudaError_t Driver::can_reach(int* yes, int device, int peer) {
  return cudaDeviceCanAccessPeer(yes, device, peer);
}
cudaError_t Driver::reach(int peer) {
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status != cudaErrorPeerAccessAlreadyEnabled) return status;
  (void)cudaGetLastError();  // not an error here
  return cudaSuccess;
}
cudaError_t Driver::share_memory(cudaIpcMemHandle_t* handle, void* pointer) {
  return cudaIpcGetMemHandle(handle, pointer);
}
cudaError_t Driver::open_shared(void** pointer, cudaIpcMemHandle_t handle) {
  return cudaIpcOpenMemHandle(pointer, handle, cudaIpcMemLazyEnablePeerAccess);
}
cudaError_t Driver::close_shared(void* pointer) { return cudaIpcCloseMemHandle(pointer); }
cudaError_t Driver::create_shared_event(cudaEvent_t* event, cudaIpcEventHandle_t* handle) {
  const cudaError_t status =
      cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventInterprocess);
  return status == cudaSuccess ? cudaIpcGetEventHandle(handle, *event) : status;
}
cudaError_t Driver::open_shared_event(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return cudaIpcOpenEventHandle(event, handle);
}
cudaError_t Driver::create_stream(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
cudaError_t Driver::create_urgent_stream(cudaStream_t* stream) {
  int least = 0, greatest = 0;
  const cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
  if (status != cudaSuccess) return status;
  return cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, greatest);
}
cudaError_t Driver::wait_event(cudaStream_t stream, cudaEvent_t event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
cudaError_t Driver::destroy_stream(cudaStream_t stream) { return cudaStreamDestroy(stream); }
cudaError_t Driver::synchronize(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t Driver::query(cudaStream_t stream) { return cudaStreamQuery(stream); }
cudaError_t Driver::create_event(cudaEvent_t* event) { return cudaEventCreate(event); }
cudaError_t Driver::destroy_event(cudaEvent_t event) { return cudaEventDestroy(event); }
cudaError_t Driver::record(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, stream);
}
cudaError_t Driver::synchronize_event(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t Driver::elapsed_ms(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return cudaEventElapsedTime(ms, from, to);
}
cudaError_t Driver::launch(const void* kernel, dim3 grid, dim3 block, void** arguments,
                           std::size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
cudaError_t Driver::load_kernel(const void** kernel, const void* binary, const char* name) {
#if CUDART_VERSION >= 12080
  cudaLibrary_t library = nullptr;
  cudaKernel_t found = nullptr;
  cudaError_t status =
      cudaLibraryLoadData(&library, binary, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == cudaSuccess) status = cudaLibraryGetKernel(&found, library, name);
  *kernel = found;
  return status;
#else
  (void)kernel, (void)binary, (void)name;
  return cudaErrorNotSupported;
#endif
}
cudaError_t Driver::allow_shared(const void* kernel, std::size_t shared_bytes) {
  if (acted) {
    cudaFuncAttributes own{};
    const cudaError_t status = cudaFuncGetAttributes(&own, kernel);
    if (status != cudaSuccess) return status;
    if (own.sharedSizeBytes + shared_bytes > acted->block_bytes) return cudaErrorInvalidValue;
  }
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(shared_bytes));
}
cudaError_t Driver::balance_clusters(const void* kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeClusterSchedulingPolicyPreference,
                              cudaClusterSchedulingPolicyLoadBalancing);
}
cudaError_t Driver::blocks_per_multiprocessor(int* blocks, const void* kernel, int threads,
                                              std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}

namespace {
thread_local Driver* replaced = nullptr;
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  check(driver().device_properties(&properties, device), "ask for a device's properties");
  return properties;
}

Driver& driver() {
  static Driver real;
  return replaced ? *replaced : real;
}

ScopedDriver::ScopedDriver(Driver* replacement) : before_(replaced) { replaced = replacement; }
ScopedDriver::~ScopedDriver() { replaced = before_; }

std::size_t allow_shared(int device, const void* kernel, std::size_t shared_bytes,
                         bool has_clusters) {
  static std::mutex mutex;
  static auto* const allowed = new std::map<std::pair<int, const void*>, std::size_t>;
  const std::lock_guard lock(mutex);
  std::size_t& most = (*allowed)[{device, kernel}];
  if (most == 0 && has_clusters)
    check(driver().balance_clusters(kernel), "let the device place the blocks of a kernel");
  if (shared_bytes > most) {
    check(driver().allow_shared(kernel, shared_bytes), "give a kernel its shared memory");
    most = shared_bytes;
  }
  return most;
}

void check(cudaError_t status, const char* doing, const char* less) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  const std::string problem = std::string("cannot ") + doing;
  const std::string name = cudaGetErrorName(status);
  switch (status) {
    case cudaErrorNoDevice:
      throw Error(ExitCode::kResources, problem + ": no CUDA device was found: use --device cpu");
    case cudaErrorInsufficientDriver:
      // also where there is no driver at all
      if (int version = 0; driver().driver_version(&version) == cudaSuccess && version == 0) {
        fail(ExitCode::kResources, problem,
             ": there is no NVIDIA driver (libcuda.so.1) here: install it, show it to the "
             "container (--gpus all, --nv), or use --device cpu");
      }
      fail(ExitCode::kResources, problem,
           ": the NVIDIA driver is older than this program's CUDA runtime (", CUDART_VERSION / 1000,
           ".", CUDART_VERSION % 1000 / 10, "): update the driver, or use --device cpu");
    case cudaErrorInvalidDevice:
      throw Error(ExitCode::kResources, problem +
                                            ": there is no such CUDA device: run 'tilewave "
                                            "info' for the list");
    case cudaErrorNoKernelImageForDevice:
      throw Error(ExitCode::kResources,
                  problem + ": this build has no code that the device runs (it holds " +
                      gpu_code_text(built_gpu_code()) +
                      "): use --device cpu, or build with the device's architecture in "
                      "CMAKE_CUDA_ARCHITECTURES (tilewave doctor names it)");
    case cudaErrorMemoryAllocation:
      throw Error(ExitCode::kResources, problem + ": device memory is exhausted: use " + less);
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceUninitialized:
    case cudaErrorSystemNotReady:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchTimeout:
    case cudaErrorContained:
      throw Error(ExitCode::kResources, problem + ": the device was lost (" + name +
                                            "): check it with nvidia-smi, then run again");
    default:
      throw Error(ExitCode::kInternal, problem + ": " + name + ": " + cudaGetErrorString(status) +
                                           " (this is a defect, please report it)");
  }
}

std::string gib_text(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string out_of_memory_message(std::uint64_t needed_bytes, std::uint64_t free_bytes,
                                  const std::string& what) {
  return "cannot place " + what + " (needs " + gib_text(needed_bytes) + ", the device has " +
         gib_text(free_bytes) +
         " free): use --precision single, fewer qubits, or --device cpu with that much memory";
}

}  // namespace tilewave::runtime::cuda

namespace tilewave::runtime {

void act_as_gpu(int capability) {
  const auto* const found = std::find_if(
      std::begin(cuda::kLimits), std::end(cuda::kLimits),
      [&](const cuda::SharedLimits& limits) { return limits.capability == capability; });
  if (found == std::end(cuda::kLimits))
    fail(ExitCode::kUsage, "no limits are known of GPUs of compute capability ", capability);
  cuda::acted = found;
}

}  // namespace tilewave::runtime
