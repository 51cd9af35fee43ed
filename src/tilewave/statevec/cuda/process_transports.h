// The ways in which processes with a device each exchange amplitudes; process_transport.cc chooses.
#pragma once

#include <memory>
#include <string>

#include "tilewave/runtime/ranks.h"
#include "tilewave/statevec/distributed/transport.h"

namespace tilewave::statevec::cuda {

/// What every transport of a process is made of.
struct ProcessGroup {
  std::shared_ptr<runtime::Ranks> ranks;
  int device = 0;                                   ///< current
  std::shared_ptr<distributed::Transport> numbers;  ///< through host memory
  int min_sliced_qubits = 0;                        ///< from which exchanges overlap with passes
};

/// Kernels on the memory of the other processes, all on this host. Null with a `problem`, the same
/// on all ranks, where they do not reach each other or the start-up exchange went wrong.
std::shared_ptr<distributed::Transport> make_ipc_transport(const ProcessGroup& group,
                                                           Precision precision,
                                                           std::string* problem);
/// Null with a `problem` where some rank cannot use NCCL.
std::shared_ptr<distributed::Transport> make_nccl_transport(const ProcessGroup& group,
                                                            Precision precision,
                                                            std::string* problem);

}  // namespace tilewave::statevec::cuda
