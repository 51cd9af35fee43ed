// How processes with a device each exchange amplitudes: the fastest way that works on all of them.
//   ipc    kernels on each other's memory, where all are on one host and a start-up exchange of
//          known numbers came out right
//   nccl   where every rank can load it and has a device of its own
//   host   staged through host memory, over whatever started the ranks
#include <cstdlib>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/runtime/cuda/driver.h"
#include "tilewave/statevec/cuda/exchange_tuning.h"
#include "tilewave/statevec/cuda/process_transports.h"

namespace tilewave::statevec::distributed {

std::shared_ptr<Transport> make_device_process_transport(std::shared_ptr<runtime::Ranks> ranks,
                                                         Precision precision, int device,
                                                         int min_sliced_qubits) {
  const char* text = std::getenv("TILEWAVE_TRANSPORT");
  const std::string wish = text ? text : "";
  if (!wish.empty() && wish != "ipc" && wish != "nccl" && wish != "host") {
    throw Error(ExitCode::kUsage, "TILEWAVE_TRANSPORT=" + wish +
                                      ": use ipc, nccl or host, or leave it unset for the fastest "
                                      "that works");
  }
  auto processes = make_process_transport(ranks, precision);
  if (ranks->size() == 1) return processes;
  if (wish == "host") {
    processes->set_remark("through host memory and " + std::string(ranks->kind()) +
                          ", as TILEWAVE_TRANSPORT=host says");
    return processes;
  }
  runtime::cuda::use_device(device);
  if (min_sliced_qubits < 0) min_sliced_qubits = cuda::kMinSlicedQubits;
  const cuda::ProcessGroup group{ranks, device, processes, min_sliced_qubits};
  std::string no_ipc = "TILEWAVE_TRANSPORT=nccl", no_nccl;
  if (wish != "nccl") {
    if (auto found = cuda::make_ipc_transport(group, precision, &no_ipc)) {
      found->set_remark("memory of the other processes (CUDA IPC), after a start-up exchange");
      return found;
    }
    if (wish == "ipc") {
      throw Error(ExitCode::kResources, "CUDA IPC cannot be used (" + no_ipc +
                                            "): unset TILEWAVE_TRANSPORT for the fastest that "
                                            "works");
    }
  }
  if (auto found = cuda::make_nccl_transport(group, precision, &no_nccl)) {
    found->set_remark("NCCL; no CUDA IPC: " + no_ipc);
    return found;
  }
  if (wish == "nccl") {
    throw Error(ExitCode::kResources, "NCCL cannot be used (" + no_nccl +
                                          "): put libnccl.so.2 where programs look for libraries, "
                                          "name it in TILEWAVE_NCCL, or unset TILEWAVE_TRANSPORT");
  }
  processes->set_remark("through host memory and " + std::string(ranks->kind()) +
                        ", slow; no CUDA IPC: " + no_ipc + "; no NCCL: " + no_nccl);
  return processes;
}

}  // namespace tilewave::statevec::distributed
