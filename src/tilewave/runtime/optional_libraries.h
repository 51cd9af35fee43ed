// Libraries that a program takes where they are and does without where they are not. Asking loads them.
#pragma once

#include <string>

namespace tilewave::runtime {

struct OptionalLibrary {
  std::string version;  ///< as it names itself; empty where it cannot be used
  std::string problem;  ///< why it cannot
};

OptionalLibrary find_nvrtc();  ///< compiles kernels when a program runs
OptionalLibrary find_nccl();   ///< carries amplitudes between processes with a GPU each

/// The module that joins processes over MPI, and the MPI library it is linked with.
struct MpiModule {
  void* handle = nullptr;  ///< null where it cannot be loaded
  std::string problem;     ///< why it cannot
};
MpiModule load_mpi_module();
OptionalLibrary find_mpi();

/// NVIDIA GPUs that the kernel's driver shows, whatever this build can do with them.
int num_nvidia_gpus();
/// Empty where the driver's library can be loaded, otherwise why not.
std::string cuda_driver_problem();

}  // namespace tilewave::runtime
