// The choice of the device that holds a state ("auto": a GPU, or as few as hold it together, from 20
// qubits on; else the CPU), and the refusal of states that do not fit, before anything is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tilewave/settings/device.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// True when `device` means the CPU for a circuit of this size on this
/// machine. Throws Error(kUsage) where a CPU and GPUs are to share a state.
bool runs_on_cpu(std::uint32_t num_qubits, statevec::Precision precision, const DeviceSet& device);

/// Who shares a state: the processes of a run with a rank each, or ranks inside this process; or
/// one device that sees parts of it in turn.
struct Distribution {
  int num_logical_ranks = 1;
  std::uint64_t device_bytes = 0;  ///< a device may use; larger states stream through it; 0: all
  double memory_fraction = 0;      ///< of a device's memory, reserved once; 0: what the plan needs
  std::shared_ptr<runtime::Ranks> processes;  ///< null: this process alone

  int num_ranks() const { return processes ? processes->size() : num_logical_ranks; }
  bool is_root() const { return !processes || processes->rank() == 0; }
  /// The root's value, for choices every process must make alike.
  std::uint64_t agreed(std::uint64_t value) const {
    if (processes) processes->broadcast(&value, sizeof value, 0);
    return value;
  }
};

/// Ranks that will share the state: processes, logical ranks or devices.
int count_ranks(std::uint32_t num_qubits, statevec::Precision precision, const DeviceSet& device,
                const Distribution& distribution);

/// How the state would stream through its devices; nothing where they hold it, or on the CPU.
std::optional<statevec::StreamLayout> find_stream(std::uint32_t num_qubits,
                                                  statevec::Precision precision,
                                                  const DeviceSet& device,
                                                  const Distribution& distribution);

/// A state in |0...0>. Throws Error(kResources), before any allocation, when it does not fit.
std::unique_ptr<statevec::State> make_state(std::uint32_t num_qubits, statevec::Precision precision,
                                            int num_threads, const DeviceSet& device,
                                            const Distribution& distribution = {});

/// A small state of the kind make_state() would make: it knows the machine as that one would.
std::unique_ptr<statevec::State> make_small_state(std::uint32_t num_qubits,
                                                  statevec::Precision precision, int num_threads,
                                                  const DeviceSet& device,
                                                  const Distribution& distribution = {});

/// The largest state that fits `available_bytes`.
std::uint32_t most_qubits(statevec::Precision precision, int num_threads,
                          std::uint64_t available_bytes);

/// Throws Error(kResources) when a state of n qubits does not fit in `available_bytes`: what is
/// needed, what there is, and three ways out.
void check_memory(std::uint32_t num_qubits, statevec::Precision precision, int num_threads,
                  std::uint64_t available_bytes);

}  // namespace tilewave::simulate
