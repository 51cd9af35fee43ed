// Sweeps over a distributed state: every rank works on its own shard, indices moved by where the
// shard begins. Two states meet shard by shard: in one process shards are found by what they mean;
// between processes settle() has put shard s on rank s for both.
#include <algorithm>
#include <functional>
#include <map>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/distributed/distributed_state.h"
#include "tilewave/statevec/sweep.h"

namespace tilewave::statevec::distributed {

namespace {

int swap_bits(int rank, int a, int b) {
  const int differ = (rank >> a ^ rank >> b) & 1;
  return rank ^ (differ << a | differ << b);
}

}  // namespace

const DistributedState& DistributedState::as_distributed(const State& other) {
  const auto* state = dynamic_cast<const DistributedState*>(&other);
  TW_CHECK(state, "two states are shared alike");
  return *state;
}

void DistributedState::copy_from(const State& other) {
  const DistributedState& from = as_distributed(other);
  transport_->for_each_shard([&](int k) { shards_[k]->copy_from(*from.shards_[k]); });
  layout_ = from.layout_;
  known_zero_ = from.known_zero_;
  rank_bits_ = from.rank_bits_;
  inverted_ = from.inverted_;
  assume_shards();
}

// Between processes, shards change places bit by bit until rank r holds shard r.
void DistributedState::settle() {
  restore_layout();
  if (is_in_one_process()) return;
  for (int k = 0; k < shard_bits_; ++k) {
    const int at = rank_bits_[k];
    if (at == k) continue;
    transport_->swap_shards(shards_, [&](int rank) { return swap_bits(rank, at, k); });
    for (int& b : rank_bits_) b = b == at ? k : b == k ? at : b;
  }
  if (inverted_) {
    const int all = static_cast<int>(inverted_);
    transport_->swap_shards(shards_, [&](int rank) { return rank ^ all; });
    inverted_ = 0;
  }
}

bool DistributedState::is_settled() const {
  if (!State::is_settled()) return false;
  if (is_in_one_process()) return true;
  for (int k = 0; k < shard_bits_; ++k) {
    if (rank_bits_[k] != k) return false;
  }
  return inverted_ == 0;
}

State::Range DistributedState::local_range() const {
  if (is_in_one_process()) return {0, num_amplitudes()};
  return {static_cast<std::uint64_t>(transport_->first_rank()) << local_qubits_,
          bit(local_qubits_)};
}

State& DistributedState::local_shard(std::uint64_t shard) const {
  const int k = rank_of(shard) - transport_->first_rank();
  TW_CHECK(k >= 0 && k < num_local(), "a shard of another process");
  return *shards_[k];
}

void DistributedState::read_local(std::uint64_t first, std::span<cplx> out) const {
  const std::uint64_t size = std::min<std::uint64_t>(out.size(), bit(local_qubits_));
  for (std::uint64_t at = 0; at < out.size(); at += size) {
    const std::uint64_t from = first + at;
    local_shard(from >> local_qubits_)
        .read_local(from & low_mask(local_qubits_), out.subspan(at, size));
  }
}

void DistributedState::write_local(std::uint64_t first, std::span<const cplx> in) {
  const std::uint64_t size = std::min<std::uint64_t>(in.size(), bit(local_qubits_));
  for (std::uint64_t at = 0; at < in.size(); at += size) {
    const std::uint64_t to = first + at;
    local_shard(to >> local_qubits_)
        .write_local(to & low_mask(local_qubits_), in.subspan(at, size));
  }
}

void DistributedState::sweep(const Sweep& s, std::uint64_t first) {
  transport_->for_each_shard([&](int k) { shards_[k]->sweep(s, first + begin_of(k)); });
}

cplx DistributedState::sum_pairs(const std::function<cplx(int, std::uint64_t)>& f) const {
  const std::vector<double> total = sum(2, [&](int k, std::span<double> out) {
    const cplx part = f(k, begin_of(k));
    out[0] = part.real();
    out[1] = part.imag();
  });
  return {total[0], total[1]};
}

cplx DistributedState::sweep_sum(const SweepSum& s, std::uint64_t first) {
  return sum_pairs(
      [&](int k, std::uint64_t begin) { return shards_[k]->sweep_sum(s, first + begin); });
}

cplx DistributedState::pair_sum(PairSum kind, const State& other) {
  const DistributedState& o = as_distributed(other);
  return sum_pairs([&](int k, std::uint64_t begin) {
    return shards_[k]->pair_sum(kind, o.local_shard(begin >> local_qubits_));
  });
}

void DistributedState::add_scaled(const State& other, cplx a, cplx c) {
  const DistributedState& o = as_distributed(other);
  transport_->for_each_shard(
      [&](int k) { shards_[k]->add_scaled(o.local_shard(begin_of(k) >> local_qubits_), a, c); });
}

// Strings that flip shard positions want the shard of another rank: between processes the shards of
// the other state change places in pairs, so that no rank ever holds two of them.
void DistributedState::add_strings(State& other, std::span<const StringTerm> terms,
                                   std::uint64_t first) {
  const DistributedState& o = as_distributed(other);
  std::map<std::uint64_t, std::vector<StringTerm>> by_shard;
  for (StringTerm term : terms) {
    const std::uint64_t high = term.x >> local_qubits_;
    // a shard sees the low part of x: the sign of the rest goes into the coefficient
    const std::uint64_t x = term.x;
    term.x = x & ~low_mask(local_qubits_);
    if (term.is_odd(0)) term.c = {-term.c.re, -term.c.im};
    term.x = x & low_mask(local_qubits_);
    by_shard[high].push_back(term);
  }
  std::uint64_t moved = 0;  // rank r holds shard r ^ moved of the other
  const auto move_to = [&](std::uint64_t high) {
    const int by = static_cast<int>(moved ^ high);
    moved = high;
    if (by) o.transport_->swap_shards(o.shards_, [&](int rank) { return rank ^ by; });
  };
  for (const auto& entry : by_shard) {
    const auto& list = entry.second;
    const std::uint64_t high = entry.first;
    if (!is_in_one_process()) move_to(high);
    transport_->for_each_shard([&](int k) {
      const std::uint64_t shard = begin_of(k) >> local_qubits_;
      State& source = is_in_one_process() ? o.local_shard(shard ^ high) : *o.shards_[k];
      shards_[k]->add_strings(source, list, first + begin_of(k));
    });
  }
  if (!is_in_one_process()) move_to(0);
}

void DistributedState::apply_dense(const DenseOp& op, std::uint64_t first) {
  if (op.num_targets > local_qubits_) {
    fail(ExitCode::kUsage, "a matrix on ", op.num_targets,
         " qubits needs as many on every rank, and each has ", local_qubits_, ": use fewer ranks");
  }
  transport_->for_each_shard([&](int k) { shards_[k]->apply_dense(op, first + begin_of(k)); });
}

}  // namespace tilewave::statevec::distributed
