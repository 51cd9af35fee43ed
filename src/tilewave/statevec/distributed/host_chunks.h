// More state than device memory: the amplitudes live in host memory as 2^g chunks, and each chunk
// visits a device to be worked on. A few *workers* (states on the device, of one chunk's size) take
// chunks in turn, so that one is copied in while another is worked on and a third is copied out.
//
// A chunk is a rank of a distributed state, but an exchange moves nothing: it changes which bits of
// the host address belong to which position, and the next visits gather accordingly. A circuit
// costs the state once in and once out over the host link for every stretch between exchanges.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tilewave/statevec/distributed/transport.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::distributed {

/// Host memory of the whole state, and what the bits of its addresses mean.
struct ChunkStore {
  std::shared_ptr<void> memory;
  int num_qubits = 0, chunk_qubits = 0;
  std::uint64_t amplitude_bytes = 16;
  /// Address bit of every position: of the local ones, then of the bits of the chunk's number; an
  /// amplitude with value b is where that bit is b ^ inverted.
  std::vector<int> address_bit;
  std::uint64_t inverted = 0;  ///< over positions

  std::uint64_t address(int chunk, std::uint64_t index) const;
  char* at(int chunk, std::uint64_t index) const {
    return static_cast<char*>(memory.get()) + address(chunk, index) * amplitude_bytes;
  }
  /// Low positions that lie in memory in order: a run of 2^run_bits() amplitudes is contiguous.
  int run_bits() const;
};

/// States on the device that chunks visit.
class WorkerPool {
 public:
  explicit WorkerPool(std::vector<std::unique_ptr<State>> workers);
  /// Calls f with a worker that is free.
  void borrow(const std::function<void(State&)>& f);
  const State& any() const { return *all_[0]; }
  int size() const { return static_cast<int>(all_.size()); }
  std::uint64_t memory_bytes() const;

 private:
  std::vector<std::unique_ptr<State>> all_;
  std::vector<State*> free_;
  std::mutex mutex_;
  std::condition_variable freed_;
};

}  // namespace tilewave::statevec::distributed
