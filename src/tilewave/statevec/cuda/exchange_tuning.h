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
constexpr double kLinkBandwidth = 330e9;  ///< bytes a second out of each device in an exchange

}  // namespace tilewave::statevec::cuda
