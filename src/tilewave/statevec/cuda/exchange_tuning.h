// Tuning values of exchanges between devices, found on four NVIDIA H200 of one host, NVLink fully
// connected, 2026-11-21.
#pragma once

namespace tilewave::statevec::cuda {

constexpr int kExchangeThreads = 512;
constexpr int kExchangeInFlight = 4;  ///< pairs a thread has under way
/// Blocks of a device for each peer it exchanges with: fewer with more peers at once.
constexpr int exchange_blocks(int num_peers) {
  return num_peers <= 1 ? 264 : num_peers <= 3 ? 44 : 22;
}
/// The same beside tile passes, which need the multiprocessors.
constexpr int overlapped_blocks(int num_peers) {
  return num_peers <= 1 ? 48 : num_peers <= 3 ? 12 : 6;
}
constexpr int kSliceBits = 3;         ///< of an exchange that overlaps with passes
constexpr int kMinSlicedQubits = 24;  ///< local qubits; smaller exchanges end before they overlap
constexpr double kLinkBandwidth = 330e9;  ///< bytes a second out of each device in an exchange

}  // namespace tilewave::statevec::cuda
