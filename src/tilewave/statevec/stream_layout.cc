// See stream_layout.h.
#include "tilewave/statevec/stream_layout.h"

#include <cstdio>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::statevec {
namespace {

constexpr int kMinChunkQubits = 16;
constexpr int kBlocksAChunk = 2;  // log2: what stays is counted in quarters of a chunk

}  // namespace

std::uint64_t StreamLayout::resident_bytes(int device) const {
  return static_cast<std::uint64_t>(
             std::count(device_of_block.begin(), device_of_block.end(), device)) *
         block_bytes();
}

std::uint64_t StreamLayout::host_bytes() const { return resident_bytes(kHostBlock); }

std::uint64_t StreamLayout::resident_bytes() const {
  return (amplitude_bytes << num_qubits) - host_bytes();
}

std::uint64_t StreamLayout::worker_bytes() const {
  const std::uint64_t chunk = amplitude_bytes << chunk_qubits;
  return static_cast<std::uint64_t>(workers_each) * (chunk + workspace_bytes(chunk));
}

double StreamLayout::stretch_s() const {
  // the first chunk comes in and the last goes out alone
  const double alone = 1 + static_cast<double>(num_devices) / num_chunks();
  return alone * static_cast<double>(host_bytes()) / (kHostBandwidth * num_devices);
}

std::string StreamLayout::text() const {
  const auto gib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
  char line[256];
  std::snprintf(line, sizeof line,
                "%.4g of %.4g GiB stay on %s, %.4g GiB in host memory; chunks of %.4g GiB visit %d "
                "workers",
                gib(resident_bytes()), gib(amplitude_bytes << num_qubits),
                num_devices == 1 ? "the device" : "the devices", gib(host_bytes()),
                gib(amplitude_bytes << chunk_qubits), num_devices * workers_each);
  return line;
}

StreamLayout plan_stream(int num_qubits, Precision precision, std::uint64_t device_bytes,
                         int num_devices) {
  StreamLayout s;
  s.num_qubits = num_qubits;
  s.amplitude_bytes = amplitude_bytes(precision);
  s.num_devices = num_devices;
  s.chunk_qubits = std::min(num_qubits - 1, kMaxQubits);
  while (s.chunk_qubits >= kMinChunkQubits && s.worker_bytes() > device_bytes) --s.chunk_qubits;
  if (s.chunk_qubits < kMinChunkQubits) {
    s.chunk_qubits = kMinChunkQubits;
    fail(ExitCode::kResources, "cannot stream ", num_qubits, " qubits through ", device_bytes >> 20,
         " MiB of device memory: allow at least ", (s.worker_bytes() >> 20) + 1,
         " MiB, and have more than ", kMinChunkQubits, " qubits");
  }
  const std::uint64_t state = s.amplitude_bytes << num_qubits;
  while (s.chunk_qubits > kMinChunkQubits) {
    StreamLayout smaller = s;
    --smaller.chunk_qubits;
    if ((s.worker_bytes() - smaller.worker_bytes()) * static_cast<unsigned>(num_devices) <
        state / 10) {
      break;
    }
    s = smaller;
  }
  s.block_qubits = s.chunk_qubits - kBlocksAChunk;
  // spread evenly, so that the link is in use all the time; one block at least visits
  const std::uint64_t blocks = bit(num_qubits - s.block_qubits);
  const std::uint64_t each = (device_bytes - s.worker_bytes()) / s.block_bytes();
  const std::uint64_t resident = std::min(each * static_cast<unsigned>(num_devices), blocks - 1);
  std::uint64_t next = 0;
  for (std::uint64_t b = 0; b < blocks; ++b) {
    const bool stays = (b + 1) * resident / blocks > b * resident / blocks;
    s.device_of_block.push_back(
        stays ? static_cast<int>(next++ % static_cast<unsigned>(num_devices)) : s.kHostBlock);
  }
  return s;
}

}  // namespace tilewave::statevec
