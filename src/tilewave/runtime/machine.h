// What this machine is: processor, vector features, memory pages, devices. Read from the operating
// system when asked; nothing is cached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewave::runtime {

struct Machine {
  std::string cpu_model;                   ///< as the operating system names it
  int num_cores = 0;                       ///< logical cores this process may use
  std::vector<std::string> simd_features;  ///< among those the kernels can use, e.g. "avx2"
  std::uint64_t total_memory_bytes = 0;
  std::uint64_t available_memory_bytes = 0;  ///< see available_host_bytes()
  std::string huge_pages;                    ///< "always", "madvise", "never" or "unknown"
};

Machine describe_machine();
/// Machine::cpu_model alone.
std::string cpu_model();

/// Of a core's data caches.
struct CacheSizes {
  std::size_t first_level_bytes = 0;   ///< data; 0 where the system does not say
  std::size_t second_level_bytes = 0;  ///< 0 where the system does not say
};

/// As the operating system reports them.
CacheSizes cache_sizes();

struct CudaDevice {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int num_multiprocessors = 0;
  std::uint64_t total_memory_bytes = 0;
  int driver_version = 0;          ///< the newest CUDA it serves, 13000 for 13.0
  bool has_code = false;           ///< this build holds code for it (gpu_code.h)
  std::uint64_t shared_bytes = 0;  ///< the most shared memory that a block of threads can have
  /// Blocks can form clusters, which read each other's shared memory: the device does that, and the
  /// code of this build that runs on it was compiled for devices that do.
  bool has_clusters = false;
};

/// True when this build has the CUDA back end.
bool built_with_cuda();

/// The CUDA devices, by their numbers; none where this build has code for none of them. `problem`, when
/// given, says why there are none.
std::vector<CudaDevice> cuda_devices(std::string* problem = nullptr);

/// What runs on a device, for people: "machine code sm_90", "compute_90, which the driver compiles", or
/// "none in this build".
std::string code_text(const CudaDevice& device);

/// For tests, before any device is asked about: devices have no more shared memory than those of this
/// compute capability (75, 80, 86, 90, ...), and no clusters where those have none. A kernel that is
/// started with more fails, as it would there. Nothing without CUDA.
void act_as_gpu(int capability);

/// Bytes a second from each CUDA device to each other, all pairs in turn (row: from), measured with
/// copies of 256 MiB; 0 on the diagonal and where two devices cannot reach each other. Empty with
/// fewer than two devices. Takes a second.
std::vector<std::vector<double>> measure_links();

}  // namespace tilewave::runtime
