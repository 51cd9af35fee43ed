// How the ranks of a distributed state reach each other. A process holds one rank or several; every
// call is made by all processes in the same order.
//
// An exchange of k bits: rank a's part b and rank b's part a change places, where a part is the
// amplitudes whose k chosen local bits have one value. It runs in 2^k - 1 rounds; in round d rank a
// deals with rank a ^ d. Memory beside the state: a ring of slices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tilewave/runtime/ranks.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::distributed {

using Shards = std::span<const std::unique_ptr<State>>;

/// One exchange as the transports see it: in terms of rank numbers.
struct ShardSwap {
  int local_qubits = 0;
  std::vector<int> local_bits;   ///< positions
  std::vector<int> rank_bits;    ///< of the rank number, paired with local_bits
  std::uint64_t inverted = 0;    ///< rank bits that mean the opposite of their value
  std::uint64_t known_zero = 0;  ///< local positions, before
  std::vector<bool> idle;        ///< ranks that hold nothing, before

  int num_bits() const { return static_cast<int>(local_bits.size()); }
  /// The k bits of a rank: which part of the others is meant for it.
  std::uint64_t value(int rank) const;
  /// The rank whose value differs by d.
  int partner(int rank, std::uint64_t d) const;
  /// True when part `part` of the rank can hold something.
  bool holds(int rank, std::uint64_t part) const;
};

/// An exchange between passes, slice by slice: the passes before a slice's exchange and those after
/// it touch that slice alone, so that exchanges run beside passes over other slices.
struct SlicedExchange {
  ShardSwap swap;
  std::uint64_t mask = 0;             ///< local positions that number the slices
  std::vector<std::uint64_t> values;  ///< of the mask, one a slice
  /// The passes of a rank over a slice; null: none on that side.
  std::function<Plan(int rank, std::size_t slice)> before, after;
  std::vector<bool> idle_before, idle_after;  ///< ranks
  double flops_per_byte = 0;                  ///< of the passes on both sides
};

/// The runs of one part, slice by slice.
class PartRuns {
 public:
  /// Slices of at most 2^slice_bits amplitudes.
  PartRuns(const ShardSwap& swap, int slice_bits);
  int run_bits() const { return run_bits_; }
  std::uint64_t num_slices() const { return num_slices_; }
  std::uint64_t slice_amplitudes() const { return runs_per_slice_ << run_bits_; }
  /// First indices of the runs of a slice.
  std::span<const std::uint64_t> slice(std::uint64_t part, std::uint64_t slice);

 private:
  const ShardSwap& swap_;
  int run_bits_ = 0;
  std::uint64_t free_ = 0;  ///< positions that number the runs
  std::uint64_t runs_per_slice_ = 1, num_slices_ = 1;
  std::vector<std::uint64_t> firsts_;
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Why amplitudes travel this way, for reports; empty where there was no choice.
  const std::string& remark() const { return remark_; }
  void set_remark(std::string remark) { remark_ = std::move(remark); }
  virtual int num_ranks() const = 0;
  virtual int first_rank() const = 0;  ///< this process holds [first, first + num_local)
  virtual int num_local() const = 0;
  /// "logical ranks", "processes": for reports.
  virtual const char* name() const = 0;
  /// Ranks whose passes run at the same time.
  virtual int num_at_once() const = 0;
  /// Bytes a second out of each rank, about.
  virtual double bandwidth() const = 0;
  /// Bytes of buffers beside the shards of this process.
  virtual std::uint64_t ring_bytes() const = 0;

  /// f(k) for the k-th shard of this process.
  virtual void for_each_shard(const std::function<void(int)>& f) const = 0;
  /// `each` values of every local rank in; those of all ranks, in order, out.
  virtual std::vector<double> gather(std::span<const double> mine, std::size_t each) const = 0;
  /// What `rank` holds becomes everyone's.
  virtual void broadcast(int rank, void* data, std::size_t num_bytes) const = 0;
  virtual void exchange(Shards shards, const ShardSwap& swap) = 0;
  /// The shards of every rank and of its partner change places. For ranks in several processes;
  /// where all are in one, names change instead.
  virtual void swap_shards(Shards shards, const std::function<int(int rank)>& partner);
  /// How exchanges run beside passes, by exchange_sliced().
  virtual Overlap overlap() const { return {}; }
  virtual void exchange_sliced(Shards, const SlicedExchange&) {}
  /// Reads `theirs` of the peer rank for the k-th local shard, while the peer reads `mine` of this.
  virtual void fetch(Shards shards, int k, int peer, std::span<const std::uint64_t> mine,
                     std::span<const std::uint64_t> theirs, int run_bits, void* to) = 0;
  /// What the steps since the last call consisted of, where parts of them run side by side: the
  /// seconds of all who did a part, added.
  virtual std::vector<StepTime> take_parts() { return {}; }
  /// All shards are about to be given new content.
  virtual void forget() {}
  /// The shards are about to end, on all ranks.
  virtual void release(Shards) noexcept {}

 private:
  std::string remark_;
};

/// All ranks in this process, on host memory.
std::shared_ptr<Transport> make_logical_transport(int num_ranks, Precision precision);
/// One rank a process, on host memory.
std::shared_ptr<Transport> make_process_transport(std::shared_ptr<runtime::Ranks> ranks,
                                                  Precision precision);
/// One rank a process, with a device each: by kernels on each other's memory on one host, over NCCL
/// where all ranks can, otherwise staged through host memory; TILEWAVE_TRANSPORT=ipc, nccl or host
/// decides. Throws Error(kUsage) for other words, Error(kResources) where what is asked for cannot
/// be used.
std::shared_ptr<Transport> make_device_process_transport(std::shared_ptr<runtime::Ranks> ranks,
                                                         Precision precision, int device,
                                                         int min_sliced_qubits = -1);

}  // namespace tilewave::statevec::distributed
