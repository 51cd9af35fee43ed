// How a state that is larger than the memory of its devices streams through them: what stays in
// device memory, what lies in host memory, and how large the chunks are that visit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec {

/// Device memory that operations need beside a state of so many bytes (cuda/workspace.h): 4 MiB,
/// and a fortieth of the state in whole 2 MiB (what a driver reserves), at most 208 MiB.
constexpr std::size_t kWorkspaceBaseBytes = std::size_t{4} << 20;
constexpr std::size_t workspace_bytes(std::uint64_t state_bytes) {
  const std::uint64_t more = std::min<std::uint64_t>(state_bytes / 40, std::uint64_t{208} << 20);
  return kWorkspaceBaseBytes + static_cast<std::size_t>(more >> 21 << 21);
}

/// Addresses of the state come in blocks of 2^block_qubits amplitudes, which lie in host memory or
/// in that of a device. A chunk is a rank of the distributed state and visits a worker to be worked
/// on; each device has `workers_each`: one is copied in, one worked on, one copied out.
struct StreamLayout {
  int num_qubits = 0, chunk_qubits = 0, block_qubits = 0;
  std::uint64_t amplitude_bytes = 16;
  int num_devices = 1, workers_each = 3;
  std::vector<int> device_of_block;  ///< kHostBlock or the number of a device, from 0

  static constexpr int kHostBlock = -1;
  /// Bytes a second each way, both at once, between host memory and one H200.
  static constexpr double kHostBandwidth = 45e9;
  int num_chunks() const { return 1 << (num_qubits - chunk_qubits); }
  std::uint64_t block_bytes() const { return amplitude_bytes << block_qubits; }
  std::uint64_t resident_bytes() const;  ///< of all devices together
  std::uint64_t resident_bytes(int device) const;
  std::uint64_t host_bytes() const;
  std::uint64_t worker_bytes() const;  ///< of one device
  /// Seconds in which the state goes in and out once over the host links.
  double stretch_s() const;
  /// "25% of the state stays on the device, ..."
  std::string text() const;
};

/// Uses at most `device_bytes` of every device. Chunks are as large as fit, but smaller where a
/// tenth of the state more stays on the devices for it. Throws Error(kResources) when no chunk
/// fits.
StreamLayout plan_stream(int num_qubits, Precision precision, std::uint64_t device_bytes,
                         int num_devices);

}  // namespace tilewave::statevec
