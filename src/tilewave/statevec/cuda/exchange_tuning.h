// Tuning values of exchanges between devices, found on four NVIDIA H200 of one host, NVLink fully
// connected, 2026-11-21.
#pragma once

#include <cstddef>

namespace tilewave::statevec::cuda {

constexpr int kExchangeThreads = 512;
constexpr int kExchangeInFlight = 4;  ///< pairs a thread has under way
/// Blocks of a device for each peer it exchanges with: fewer with more peers at once.
constexpr int exchange_blocks(int num_peers) {
  return num_peers <= 1 ? 264 : num_peers <= 3 ? 44 : 22;
}
/// The same beside tile passes, which need the multiprocessors for their arithmetic. Those that
/// only move amplitudes leave room for more (two H200, ghz at 32 qubits: 98 ms with 32, 88 with 64;
/// with several peers not measured).
constexpr double kMovingFlopsPerByte = 0.5;  ///< passes with fewer; a lift on all has 0.1
constexpr int overlapped_blocks(int num_peers, double flops_per_byte) {
  if (num_peers <= 1) return flops_per_byte < kMovingFlopsPerByte ? 64 : 32;
  return num_peers <= 3 ? 12 : 6;
}
constexpr int kSliceBits = 3;         ///< of an exchange that overlaps with passes
constexpr int kMinSlicedQubits = 24;  ///< local qubits; smaller exchanges end before they overlap
constexpr double kHiddenShare = 0.6;  ///< of an exchange; measured on two: 0.5 to 0.74
constexpr double kLinkBandwidth = 330e9;  ///< bytes a second out of each device in an exchange

// Between processes: from so many bytes of a shard on in each other's memory. Smaller allocations
// may share a piece of device memory with others, and are slow anyway.
constexpr std::size_t kMinSharedBytes = std::size_t{2} << 20;

// Between processes, over NCCL.
constexpr double kNcclBandwidth = 250e9;  ///< measured on two H200, NCCL 2.28
constexpr int kChunks = 3;  ///< of the ring: one gathered, one on its way, one put in place
constexpr unsigned kChunkBlocks = 132;
/// Bytes of a chunk for each peer: long messages, and a ring of 384 MiB at most.
constexpr std::size_t ring_chunk_bytes(int num_peers) {
  std::size_t bytes = std::size_t{1} << 26;
  while (2 * kChunks * bytes * static_cast<std::size_t>(num_peers) > std::size_t{384} << 20)
    bytes /= 2;
  return bytes;
}

}  // namespace tilewave::statevec::cuda
