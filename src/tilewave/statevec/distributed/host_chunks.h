// More state than device memory: the amplitudes live in host memory, some of them on the devices,
// as 2^g chunks, and each chunk visits a device to be worked on. A few *workers* (states on the
// device, of one chunk's size) take chunks in turn, so that one is copied in while another is
// worked on and a third is copied out.
//
// A chunk is a rank of a distributed state, but an exchange moves nothing: it changes which bits of
// the address belong to which position, and the next visits gather accordingly. A circuit costs
// what lies in host memory once in and once out over the host link for every stretch between
// exchanges.
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

/// Memory of the whole state, and what the bits of its addresses mean.
struct ChunkStore {
  StreamLayout layout;
  StreamMemory memory;
  /// Address bit of every position: of the local ones, then of the bits of the chunk's number; an
  /// amplitude with value b is where that bit is b ^ inverted.
  std::vector<int> address_bit;
  std::uint64_t inverted = 0;  ///< over positions

  std::uint64_t address(int chunk, std::uint64_t index) const;
  BlockMap map(int chunk) const {
    return {memory.blocks,
            layout.block_qubits,
            address(chunk, 0),
            {address_bit.data(), static_cast<std::size_t>(layout.chunk_qubits)}};
  }
  /// Every position is its own address bit again: for new content.
  void reset();
  /// A place in the memory; the rest of its block follows.
  char* at(int chunk, std::uint64_t index) const;
  /// Bytes of the amplitudes from there on, within a block, to or from memory on the host.
  void read(int chunk, std::uint64_t index, void* to, std::size_t num_bytes) const;
  void write(int chunk, std::uint64_t index, const void* from, std::size_t num_bytes);
  /// Low positions that lie in memory in order: a run of 2^run_bits() amplitudes is contiguous.
  int run_bits() const;

 private:
  void copy(void* to, const void* from, std::size_t num_bytes, std::uint64_t at) const;
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
