// More state than device memory: the amplitudes live in host memory, some of them on the devices,
// as 2^g chunks, and each chunk visits a device to be worked on. A few *workers* (states on the
// device, of one chunk's size) take chunks in turn, so that one is copied in while another is
// worked on and a third is copied out.
//
// Chunks of a device come in one after the other, and go out one after the other: workers that
// share the link each way get into step, all in and then all out, and it works one way at a time
// (measured: half the speed).
//
// A chunk is a rank of a distributed state, but an exchange moves nothing: it changes which bits of
// the address belong to which position, and the next visits gather accordingly. A circuit costs
// what lies in host memory once in and once out over the host link for every stretch between
// exchanges.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tilewave/statevec/distributed/transport.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::distributed {

/// The pieces of a chunk: one for each value of the positions `free`.
struct ChunkPieces {
  RunShape shape;
  std::uint64_t free = 0;
  int log_count() const { return std::popcount(free); }
};

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
  /// Amplitudes of a chunk, without those of positions known to be zero, that lie in host memory.
  std::uint64_t num_on_host(int chunk, std::uint64_t known_zero) const;
  /// Low positions that lie in memory in order: a run of 2^run_bits() amplitudes is contiguous.
  int run_bits() const;
  /// What copies bring a chunk, without the positions known to be zero: runs, in rows and planes
  /// where neighbouring positions are neighbouring bits of the address.
  ChunkPieces pieces(std::uint64_t known_zero) const;

 private:
  void copy(void* to, const void* from, std::size_t num_bytes, std::uint64_t at) const;
};

/// What a part of all visits took, added up; workers do it side by side.
struct VisitPart {
  double seconds = 0, bytes = 0;  ///< bytes: over the host link
};
struct VisitTimes {
  VisitPart wait_in, in, work, wait_out, out;
};

/// States on the devices that chunks visit: worker w is on device w % num_devices.
class WorkerPool {
 public:
  /// The link of a device to host memory: one chunk at a time each way.
  struct Link {
    std::mutex in, out;
  };
  struct Worker {
    std::unique_ptr<State> state;
    Link* link = nullptr;
  };

  WorkerPool(std::vector<std::unique_ptr<State>> workers, int num_devices);
  /// Calls f with a worker that is free.
  void borrow(const std::function<void(Worker&)>& f);
  const State& any() const { return *all_[0].state; }
  int size() const { return static_cast<int>(all_.size()); }
  std::uint64_t memory_bytes() const;
  void add(const VisitTimes& visit);
  /// Since the last call.
  VisitTimes take_times();

 private:
  std::vector<Link> links_;
  std::vector<Worker> all_;
  std::vector<Worker*> free_;
  VisitTimes times_;
  std::mutex mutex_;
  std::condition_variable freed_;
};

}  // namespace tilewave::statevec::distributed
