// What this machine is: processor, vector features, memory pages, devices. Read from the operating
// system when asked; nothing is cached.
#pragma once

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

struct CudaDevice {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int num_multiprocessors = 0;
  std::uint64_t total_memory_bytes = 0;
  int driver_version = 0;  ///< the newest CUDA it serves, 13000 for 13.0
};

/// True when this build has the CUDA back end.
bool built_with_cuda();

/// The CUDA devices that can be used now; `problem`, when given, says why there are none.
std::vector<CudaDevice> cuda_devices(std::string* problem = nullptr);

/// Bytes a second from each CUDA device to each other, all pairs in turn (row: from), measured with
/// copies of 256 MiB; 0 on the diagonal and where two devices cannot reach each other. Empty with
/// fewer than two devices. Takes a second.
std::vector<std::vector<double>> measure_links();

}  // namespace tilewave::runtime
