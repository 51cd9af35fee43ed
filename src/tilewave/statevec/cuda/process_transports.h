// The ways in which processes with a device each exchange amplitudes; process_transport.cc chooses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewave/runtime/ranks.h"
#include "tilewave/statevec/distributed/transport.h"

namespace tilewave::statevec::cuda {

/// What every transport of a process is made of.
struct ProcessGroup {
  std::shared_ptr<runtime::Ranks> ranks;
  int device = 0;                                   ///< current
  std::shared_ptr<distributed::Transport> numbers;  ///< through host memory
  int min_sliced_qubits = 0;                        ///< from which exchanges overlap with passes
};

/// A process's one shard, whose numbers travel through host memory; its amplitudes as a derived
/// class says.
class ProcessTransport : public distributed::Transport {
 public:
  explicit ProcessTransport(const ProcessGroup& group) : group_(group) {}

  int num_ranks() const override { return ranks().size(); }
  int first_rank() const override { return ranks().rank(); }
  int num_local() const override { return 1; }
  int num_at_once() const override { return num_ranks(); }
  void for_each_shard(const std::function<void(int)>& f) const override { f(0); }
  std::vector<double> gather(std::span<const double> mine, std::size_t each) const override {
    return numbers().gather(mine, each);
  }
  void broadcast(int rank, void* data, std::size_t num_bytes) const override {
    numbers().broadcast(rank, data, num_bytes);
  }
  void fetch(distributed::Shards shards, int k, int peer, std::span<const std::uint64_t> mine,
             std::span<const std::uint64_t> theirs, int run_bits, void* to) override {
    numbers().fetch(shards, k, peer, mine, theirs, run_bits, to);
  }
  void swap_shards(distributed::Shards shards, const std::function<int(int)>& partner) override {
    numbers().swap_shards(shards, partner);
  }

 protected:
  runtime::Ranks& ranks() const { return *group_.ranks; }
  distributed::Transport& numbers() const { return *group_.numbers; }
  int device() const { return group_.device; }
  int min_sliced_qubits() const { return group_.min_sliced_qubits; }

 private:
  ProcessGroup group_;
};

/// Kernels on the memory of the other processes, all on this host. Null with a `problem`, the same
/// on all ranks, where they do not reach each other or the start-up exchange went wrong.
std::shared_ptr<distributed::Transport> make_ipc_transport(const ProcessGroup& group,
                                                           Precision precision,
                                                           std::string* problem);
/// Null with a `problem` where some rank cannot use NCCL.
std::shared_ptr<distributed::Transport> make_nccl_transport(const ProcessGroup& group,
                                                            Precision precision,
                                                            std::string* problem);

}  // namespace tilewave::statevec::cuda
