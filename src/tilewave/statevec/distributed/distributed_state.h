// A state on 2^g ranks. The top g positions of the physical index choose the rank, the others are
// positions of the rank's own State (a *shard*, always in the identity layout). Which bit of the
// rank's number stands for which shard position is a table and a mask, so that renaming and
// flipping shard positions is free. A rank whose shard positions include a 1 where the state is
// known to be zero is *idle*: its memory means nothing and it runs nothing.
//
// Sums over the state are sums over each shard, added in a fixed tree over shards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewave/statevec/distributed/local_plan.h"
#include "tilewave/statevec/distributed/transport.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec::distributed {

class DistributedState final : public State {
 public:
  /// `shards` are those of this process, in |0...0>, in order of ranks.
  DistributedState(int num_qubits, Precision precision, std::shared_ptr<Transport> transport,
                   std::vector<std::unique_ptr<State>> shards);
  ~DistributedState() override { transport_->release(shards_); }

  CostModel cost_model() const override { return cost_; }
  std::string device() const override;
  std::string remark() const override { return transport_->remark(); }
  void set_zero_state() override;
  void set_product_state(std::span<const cplx> a) override;
  void set_amplitudes(std::span<const cplx> amplitudes) override;
  void run(const Plan& plan, const RunObserver& observer) override;
  void materialize() override;
  double norm() override;
  std::vector<double> marginals() override;
  std::vector<double> joint_probabilities(std::span<const circuit::Qubit> qubits) override;
  std::vector<cplx> amplitudes(std::span<const std::uint64_t> indices) override;
  std::vector<std::uint64_t> sample_sorted(std::span<const double> sorted_u) override;
  std::vector<double> expectations(const circuit::PauliSum& sum) override;
  void collapse(circuit::Qubit qubit, int outcome, double scale) override;
  std::unique_ptr<State> clone() const override;
  void copy_from(const State& other) override;
  void for_each_block(const std::function<void(std::uint64_t, std::span<const cplx>)>& f) override;
  void update_blocks(const std::function<void(std::uint64_t, std::span<cplx>)>& f) override;
  void read_runs(std::span<const std::uint64_t> firsts, int run_bits, void* to) const override;
  void write_runs(std::span<const std::uint64_t> firsts, int run_bits, const void* from) override;
  void save_physical(int slice_bits, const SliceOut& f) override;
  void load_physical(const Layout& layout, std::uint64_t known_zero, int slice_bits,
                     const SliceIn& f) override;
  std::uint64_t memory_bytes() const override;
  void set_reproducible(bool value) override {
    for (const auto& shard : shards_) shard->set_reproducible(value);
  }
  void keep_shared_memory() const override {
    for (const auto& shard : shards_) shard->keep_shared_memory();
  }
  void settle() override;
  bool is_settled() const override;
  Range local_range() const override;
  int host_threads() const override { return shards_[0]->host_threads(); }
  void read_local(std::uint64_t first, std::span<cplx> out) const override;
  void write_local(std::uint64_t first, std::span<const cplx> in) override;
  void sweep(const Sweep& s, std::uint64_t first) override;
  cplx sweep_sum(const SweepSum& s, std::uint64_t first) override;
  cplx pair_sum(PairSum kind, const State& other) override;
  void add_scaled(const State& other, cplx a, cplx c) override;
  void add_strings(State& other, std::span<const StringTerm> terms, std::uint64_t first) override;
  void apply_dense(const DenseOp& op, std::uint64_t first) override;

 private:
  int num_ranks() const { return transport_->num_ranks(); }
  int num_local() const { return transport_->num_local(); }
  int rank_of_local(int k) const { return transport_->first_rank() + k; }
  std::uint64_t shard_positions() const;
  /// The values of the shard positions of a rank, and the reverse.
  std::uint64_t shard_of(int rank) const;
  int rank_of(std::uint64_t shard) const;
  bool is_idle(int rank, std::uint64_t known_zero) const;
  bool is_idle_local(int k) const { return is_idle(rank_of_local(k), known_zero_); }
  void reset_names();
  bool is_in_one_process() const { return num_local() == num_ranks(); }
  /// The index of a local shard's first amplitude.
  std::uint64_t begin_of(int k) const { return shard_of(rank_of_local(k)) << local_qubits_; }
  /// The local shard with these values of the shard positions.
  State& local_shard(std::uint64_t shard) const;
  /// f(k, index of the first amplitude) adds to a sum over shards.
  cplx sum_pairs(const std::function<cplx(int, std::uint64_t)>& f) const;
  static const DistributedState& as_distributed(const State& other);
  void clear(State& shard);
  void assume_shards();
  void exchange(const Exchange& step);
  ShardSwap swap_of(const Exchange& step) const;
  void swap_known_zeros(const Exchange& step);
  void run_sliced(const Plan& plan, const Exchange& step, const Around& around);
  void run_passes(const Plan& plan, std::size_t first, std::size_t last);
  /// f(k) for every local shard that is not idle; what one throws is thrown when all are done.
  void for_each_busy_shard(const std::function<void(int)>& f);
  /// f(k, values) fills `each` numbers of every local shard that is not idle; the result holds
  /// those of all shards, in order of shard positions, zero for idle ones.
  std::vector<double> collect(std::size_t each,
                              const std::function<void(int, std::span<double>)>& f) const;
  /// The same, added over shards in a fixed tree: `each` numbers.
  std::vector<double> sum(std::size_t each,
                          const std::function<void(int, std::span<double>)>& f) const;
  std::vector<double> shard_norms();
  /// Sums over the amplitudes of this process for strings that flip shard positions.
  void add_crossing(int k, std::uint64_t x, std::span<const circuit::PauliTerm> terms,
                    std::span<double> values);

  std::shared_ptr<Transport> transport_;
  std::vector<std::unique_ptr<State>> shards_;
  int local_qubits_ = 0, shard_bits_ = 0;
  std::vector<int> rank_bits_;  ///< bit of the rank's number of every shard position
  std::uint64_t inverted_ = 0;  ///< shard positions (from 0) that mean the opposite of it
  CostModel cost_;
};

}  // namespace tilewave::statevec::distributed
