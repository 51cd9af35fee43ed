// The transports on host memory, and what every exchange shares.
#include "tilewave/statevec/distributed/transport.h"

#include <algorithm>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::statevec::distributed {

std::uint64_t ShardSwap::value(int rank) const {
  std::uint64_t v = 0;
  for (int j = 0; j < num_bits(); ++j) {
    v |= ((static_cast<std::uint64_t>(rank) ^ inverted) >> rank_bits[j] & 1) << j;
  }
  return v;
}

int ShardSwap::partner(int rank, std::uint64_t d) const {
  for_each_bit(d, [&](int j) { rank ^= 1 << rank_bits[j]; });
  return rank;
}

bool ShardSwap::holds(int rank, std::uint64_t part) const {
  if (idle[rank]) return false;
  for (int j = 0; j < num_bits(); ++j) {
    if ((part >> j & 1) && (known_zero >> local_bits[j] & 1)) return false;
  }
  return true;
}

PartRuns::PartRuns(const ShardSwap& swap, int slice_bits) : swap_(swap) {
  std::uint64_t exchanged = 0;
  for (const int p : swap.local_bits) exchanged |= bit(p);
  run_bits_ = std::min(slice_bits, std::countr_zero(exchanged));
  free_ = low_mask(swap.local_qubits) & ~exchanged & ~swap.known_zero & ~low_mask(run_bits_);
  const int runs = std::popcount(free_), per_slice = std::min(runs, slice_bits - run_bits_);
  runs_per_slice_ = bit(per_slice);
  num_slices_ = bit(runs - per_slice);
  firsts_.resize(runs_per_slice_);
}

std::span<const std::uint64_t> PartRuns::slice(std::uint64_t part, std::uint64_t slice) {
  std::uint64_t base = 0;
  for (int j = 0; j < swap_.num_bits(); ++j) base |= (part >> j & 1) << swap_.local_bits[j];
  for (std::uint64_t k = 0; k < runs_per_slice_; ++k) {
    firsts_[k] = base | deposit_bits(slice * runs_per_slice_ + k, free_);
  }
  return firsts_;
}

void Transport::swap_shards(Shards, const std::function<int(int)>&) {
  TW_CHECK(false, "shards of one process do not move");
}

namespace {

constexpr int kLogicalSliceBits = 14;  // two slices stay in the second-level cache
constexpr int kProcessSliceBits = 17;  // at most 2 MiB: long messages
constexpr double kLogicalBandwidth = 8e9, kProcessBandwidth = 2e9;  // 2-core server, 2026-11

// Of an exchange between processes: the ring, eight slices, is a sixty-fourth of a shard, but from
// 64 KiB a slice on.
int process_slice_bits(int local_qubits) {
  return std::clamp(local_qubits - 9, 12, kProcessSliceBits);
}

class LogicalTransport final : public Transport {
 public:
  LogicalTransport(int num_ranks, Precision precision)
      : num_ranks_(num_ranks),
        slice_bytes_(amplitude_bytes(precision) << kLogicalSliceBits),
        ring_(2 * slice_bytes_) {}

  int num_ranks() const override { return num_ranks_; }
  int first_rank() const override { return 0; }
  int num_local() const override { return num_ranks_; }
  const char* name() const override { return "logical ranks"; }
  int num_at_once() const override { return 1; }
  double bandwidth() const override { return kLogicalBandwidth / num_ranks_; }
  std::uint64_t ring_bytes() const override { return ring_.num_bytes(); }

  void for_each_shard(const std::function<void(int)>& f) const override {
    for (int k = 0; k < num_ranks_; ++k) f(k);
  }
  std::vector<double> gather(std::span<const double> mine, std::size_t) const override {
    return {mine.begin(), mine.end()};
  }
  void broadcast(int, void*, std::size_t) const override {}

  void exchange(Shards shards, const ShardSwap& swap) override {
    PartRuns out(swap, kLogicalSliceBits), in(swap, kLogicalSliceBits);
    char* a = ring_.as<char>();
    char* b = a + slice_bytes_;
    for (std::uint64_t d = 1; d < bit(swap.num_bits()); ++d) {
      for (int rank = 0; rank < num_ranks_; ++rank) {
        const int peer = swap.partner(rank, d);
        if (peer < rank) continue;
        const std::uint64_t theirs = swap.value(peer), mine = swap.value(rank);
        const bool there = swap.holds(rank, theirs), back = swap.holds(peer, mine);
        if (!there && !back) continue;
        for (std::uint64_t s = 0; s < out.num_slices(); ++s) {
          const auto from = out.slice(theirs, s), to = in.slice(mine, s);
          if (there) shards[rank]->read_runs(from, out.run_bits(), a);
          if (back) shards[peer]->read_runs(to, in.run_bits(), b);
          if (there) shards[peer]->write_runs(to, in.run_bits(), a);
          if (back) shards[rank]->write_runs(from, out.run_bits(), b);
        }
      }
    }
  }

  void fetch(Shards shards, int, int peer, std::span<const std::uint64_t>,
             std::span<const std::uint64_t> theirs, int run_bits, void* to) override {
    shards[peer]->read_runs(theirs, run_bits, to);
  }

 private:
  int num_ranks_;
  std::size_t slice_bytes_;
  runtime::HostBuffer ring_;
};

class ProcessTransport final : public Transport {
 public:
  ProcessTransport(std::shared_ptr<runtime::Ranks> ranks, Precision precision)
      : ranks_(std::move(ranks)),
        amplitude_bytes_(amplitude_bytes(precision)),
        slice_bytes_(amplitude_bytes_ << kProcessSliceBits),
        ring_(2 * kSlices * slice_bytes_) {
    if (std::string(ranks_->kind()) != "MPI")
      set_remark(std::string("over ") + ranks_->kind() + ", as no MPI started the processes");
  }

  int num_ranks() const override { return ranks_->size(); }
  int first_rank() const override { return ranks_->rank(); }
  int num_local() const override { return 1; }
  const char* name() const override { return "processes"; }
  int num_at_once() const override { return ranks_->size(); }
  double bandwidth() const override { return kProcessBandwidth; }
  std::uint64_t ring_bytes() const override { return ring_.num_bytes(); }

  void for_each_shard(const std::function<void(int)>& f) const override { f(0); }
  std::vector<double> gather(std::span<const double> mine, std::size_t each) const override {
    std::vector<double> all(each * static_cast<std::size_t>(ranks_->size()));
    ranks_->gather(mine.data(), all.data(), each * sizeof(double));
    return all;
  }
  void broadcast(int rank, void* data, std::size_t num_bytes) const override {
    ranks_->broadcast(data, num_bytes, rank);
  }

  void exchange(Shards shards, const ShardSwap& swap) override {
    State& shard = *shards[0];
    const int rank = ranks_->rank();
    const std::uint64_t mine = swap.value(rank);
    PartRuns runs(swap, process_slice_bits(swap.local_qubits));
    const std::size_t bytes = runs.slice_amplitudes() * amplitude_bytes_;
    for (std::uint64_t d = 1; d < bit(swap.num_bits()); ++d) {
      const int peer = swap.partner(rank, d);
      const std::uint64_t part = swap.value(peer);
      const bool there = swap.holds(rank, part), back = swap.holds(peer, mine);
      if (!there && !back) continue;
      const auto finish = [&](std::uint64_t s) {
        const int slot = static_cast<int>(s % kSlices);
        ranks_->finish_swap(slot);
        if (back) shard.write_runs(runs.slice(part, s), runs.run_bits(), in(slot));
      };
      for (std::uint64_t s = 0; s < runs.num_slices(); ++s) {
        const int slot = static_cast<int>(s % kSlices);
        if (s >= kSlices) finish(s - kSlices);
        if (there) shard.read_runs(runs.slice(part, s), runs.run_bits(), out(slot));
        ranks_->start_swap(slot, peer, out(slot), there ? bytes : 0, in(slot), back ? bytes : 0);
      }
      const std::uint64_t count = runs.num_slices();
      for (std::uint64_t s = count > kSlices ? count - kSlices : 0; s < count; ++s) finish(s);
    }
  }

  void swap_shards(Shards shards, const std::function<int(int)>& partner) override {
    State& shard = *shards[0];
    const int peer = partner(ranks_->rank());
    if (peer == ranks_->rank()) return;
    const int bits = std::min(shard.num_qubits(), process_slice_bits(shard.num_qubits()));
    const std::size_t bytes = amplitude_bytes_ << bits;
    const std::uint64_t count = shard.num_amplitudes() >> bits;
    const auto finish = [&](std::uint64_t s) {
      const std::uint64_t first = s << bits;
      ranks_->finish_swap(static_cast<int>(s % kSlices));
      shard.write_runs({&first, 1}, bits, in(static_cast<int>(s % kSlices)));
    };
    for (std::uint64_t s = 0; s < count; ++s) {
      const int slot = static_cast<int>(s % kSlices);
      if (s >= kSlices) finish(s - kSlices);
      const std::uint64_t first = s << bits;
      shard.read_runs({&first, 1}, bits, out(slot));
      ranks_->start_swap(slot, peer, out(slot), bytes, in(slot), bytes);
    }
    for (std::uint64_t s = count > kSlices ? count - kSlices : 0; s < count; ++s) finish(s);
  }

  void fetch(Shards shards, int, int peer, std::span<const std::uint64_t> mine,
             std::span<const std::uint64_t> theirs, int run_bits, void* to) override {
    const std::size_t sent = (mine.size() << run_bits) * amplitude_bytes_;
    TW_CHECK(sent <= slice_bytes_, "a fetch is longer than a slice");
    shards[0]->read_runs(mine, run_bits, out(0));
    ranks_->start_swap(0, peer, out(0), sent, to, (theirs.size() << run_bits) * amplitude_bytes_);
    ranks_->finish_swap(0);
  }

 private:
  static constexpr std::uint64_t kSlices = 4;  // under way at once; at most Ranks::kSlots
  char* out(int slot) const {
    return ring_.as<char>() + static_cast<std::size_t>(slot) * 2 * slice_bytes_;
  }
  char* in(int slot) const { return out(slot) + slice_bytes_; }

  std::shared_ptr<runtime::Ranks> ranks_;
  std::size_t amplitude_bytes_, slice_bytes_;
  runtime::HostBuffer ring_;
};

}  // namespace

std::shared_ptr<Transport> make_logical_transport(int num_ranks, Precision precision) {
  return std::make_shared<LogicalTransport>(num_ranks, precision);
}

std::shared_ptr<Transport> make_process_transport(std::shared_ptr<runtime::Ranks> ranks,
                                                  Precision precision) {
  return std::make_shared<ProcessTransport>(std::move(ranks), precision);
}

}  // namespace tilewave::statevec::distributed
