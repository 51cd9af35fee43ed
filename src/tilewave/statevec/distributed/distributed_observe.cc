// Questions to a distributed state: every shard answers for its amplitudes, the answers are
// gathered and added in order of shards, so that they do not depend on which rank holds which
// shard.
#include <algorithm>
#include <bit>
#include <map>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/distributed/distributed_state.h"

namespace tilewave::statevec::distributed {

namespace {

constexpr int kBlockBits = 16;     // amplitudes handed out at once
constexpr int kCrossingBits = 13;  // amplitudes of a slice read from another rank

// Adds `count` (a power of two) rows of `each` numbers pairwise.
void tree_sum(double* rows, std::size_t count, std::size_t each) {
  for (std::size_t step = 1; step < count; step *= 2) {
    for (std::size_t r = 0; r < count; r += 2 * step) {
      for (std::size_t k = 0; k < each; ++k) rows[r * each + k] += rows[(r + step) * each + k];
    }
  }
}

// Amplitudes of a slice in a buffer, as double.
void widen(Precision precision, const void* from, std::span<cplx> to) {
  const auto copy = [&](const auto* in) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = {in[2 * k], in[2 * k + 1]};
  };
  precision == Precision::kDouble ? copy(static_cast<const double*>(from))
                                  : copy(static_cast<const float*>(from));
}

}  // namespace

std::vector<double> DistributedState::collect(
    std::size_t each, const std::function<void(int, std::span<double>)>& f) const {
  std::vector<double> mine(each * shards_.size(), 0.0);
  transport_->for_each_shard([&](int k) {
    if (!is_idle_local(k)) f(k, std::span(mine).subspan(k * each, each));
  });
  const std::vector<double> by_rank = transport_->gather(mine, each);
  std::vector<double> by_shard(by_rank.size());
  for (int rank = 0; rank < num_ranks(); ++rank) {
    std::copy_n(by_rank.begin() + static_cast<std::ptrdiff_t>(rank * each), each,
                by_shard.begin() + static_cast<std::ptrdiff_t>(shard_of(rank) * each));
  }
  return by_shard;
}

std::vector<double> DistributedState::sum(
    std::size_t each, const std::function<void(int, std::span<double>)>& f) const {
  std::vector<double> rows = collect(each, f);
  tree_sum(rows.data(), static_cast<std::size_t>(num_ranks()), each);
  rows.resize(each);
  return rows;
}

std::vector<double> DistributedState::shard_norms() {
  return collect(1, [&](int k, std::span<double> out) { out[0] = shards_[k]->norm(); });
}

double DistributedState::norm() {
  std::vector<double> norms = shard_norms();
  tree_sum(norms.data(), norms.size(), 1);
  return norms[0];
}

std::vector<double> DistributedState::marginals() {
  const auto each = static_cast<std::size_t>(num_qubits_) + 1;
  const std::vector<double> ones = sum(each, [&](int k, std::span<double> out) {
    const std::vector<double> local = shards_[k]->marginals();
    std::copy(local.begin(), local.end(), out.begin());
    const double whole = shards_[k]->norm();
    for (int b = 0; b < shard_bits_; ++b)
      out[local_qubits_ + b] = shard_of(rank_of_local(k)) >> b & 1 ? whole : 0.0;
    out[num_qubits_] = whole;
  });
  std::vector<double> result(num_qubits_);
  for (int q = 0; q < num_qubits_; ++q) {
    const double one = ones[layout_.position[q]];
    result[q] = layout_.flips >> q & 1 ? ones[num_qubits_] - one : one;
  }
  return result;
}

std::vector<double> DistributedState::joint_probabilities(std::span<const circuit::Qubit> qubits) {
  check_joint(qubits);
  const auto k = static_cast<int>(qubits.size());
  std::vector<circuit::Qubit> local;  // positions
  std::uint64_t local_outcome = 0, flipped = 0;
  for (int j = 0; j < k; ++j) {
    const int p = layout_.position[qubits[j]];
    if (p < local_qubits_) {
      local.push_back(static_cast<circuit::Qubit>(p));
      local_outcome |= bit(j);
    }
    flipped |= (layout_.flips >> qubits[j] & 1) << j;
  }
  const std::size_t each = bit(static_cast<int>(local.size()));
  const std::vector<double> parts = collect(each, [&](int s, std::span<double> out) {
    const std::vector<double> p = shards_[s]->joint_probabilities(local);
    std::copy(p.begin(), p.end(), out.begin());
  });
  // shards with the same outcome are added in a tree, the others beside each other
  std::vector<double> result(bit(k), 0.0);
  std::vector<double> column(static_cast<std::size_t>(num_ranks()));
  for (std::uint64_t outcome = 0; outcome < result.size(); ++outcome) {
    std::uint64_t inner = 0, taken = 0, wanted = 0, mask = 0;
    for (int j = 0; j < k; ++j) {
      const std::uint64_t value = outcome >> j & 1;
      const int p = layout_.position[qubits[j]];
      if (local_outcome >> j & 1) {
        inner |= value << taken++;
      } else {
        mask |= bit(p - local_qubits_);
        wanted |= value << (p - local_qubits_);
      }
    }
    for (std::size_t s = 0; s < column.size(); ++s)
      column[s] = (s & mask) == wanted ? parts[s * each + inner] : 0.0;
    tree_sum(column.data(), column.size(), 1);
    result[outcome ^ flipped] = column[0];
  }
  return result;
}

std::vector<cplx> DistributedState::amplitudes(std::span<const std::uint64_t> indices) {
  std::vector<std::uint64_t> physical;
  for (const std::uint64_t x : indices) {
    check_index(x);
    physical.push_back(layout_.physical(x, num_qubits_));
  }
  // every rank adds what it holds and zero elsewhere; in blocks, as every rank sends a block
  std::vector<cplx> result(indices.size());
  const std::size_t block = bit(kBlockBits);
  for (std::size_t first = 0; first < physical.size(); first += block) {
    const std::size_t count = std::min(block, physical.size() - first);
    const std::vector<double> values = sum(2 * count, [&](int k, std::span<double> out) {
      const std::uint64_t shard = shard_of(rank_of_local(k));
      std::vector<std::uint64_t> local;
      std::vector<std::size_t> at;
      for (std::size_t j = 0; j < count; ++j) {
        const std::uint64_t p = physical[first + j];
        if (p >> local_qubits_ != shard) continue;
        local.push_back(p & low_mask(local_qubits_));
        at.push_back(j);
      }
      const std::vector<cplx> found = shards_[k]->amplitudes(local);
      for (std::size_t j = 0; j < at.size(); ++j) {
        out[2 * at[j]] = found[j].real();
        out[2 * at[j] + 1] = found[j].imag();
      }
    });
    for (std::size_t j = 0; j < count; ++j) result[first + j] = {values[2 * j], values[2 * j + 1]};
  }
  return result;
}

std::vector<std::uint64_t> DistributedState::sample_sorted(std::span<const double> sorted_u) {
  restore_layout();
  const std::vector<double> norms = shard_norms();
  std::vector<double> before(norms.size() + 1, 0.0);
  for (std::size_t s = 0; s < norms.size(); ++s) before[s + 1] = before[s] + norms[s];
  const double norm = before.back();
  check_drawable(norm);
  // the numbers that fall into a shard are a run of the sorted ones
  std::vector<std::size_t> first_of(norms.size() + 1, sorted_u.size());
  for (std::size_t s = norms.size(), shot = sorted_u.size(); s-- > 0;) {
    while (shot > 0 && sorted_u[shot - 1] * norm >= before[s] && norms[s] > 0) --shot;
    first_of[s] = shot;
  }
  std::vector<std::uint64_t> out(sorted_u.size());
  const std::size_t block = bit(kBlockBits);
  for (std::size_t s = 0; s < norms.size(); ++s) {
    const int rank = rank_of(s), k = rank - transport_->first_rank();
    const std::size_t first = first_of[s], count = first_of[s + 1] - first;
    if (count == 0) continue;
    if (k >= 0 && k < num_local()) {
      std::vector<double> own(count);
      for (std::size_t j = 0; j < count; ++j) {
        const double u = (sorted_u[first + j] * norm - before[s]) / norms[s];
        own[j] = std::clamp(u, 0.0, 1 - 0x1p-53);
      }
      const std::vector<std::uint64_t> drawn = shards_[k]->sample_sorted(own);
      for (std::size_t j = 0; j < count; ++j)
        out[first + j] = drawn[j] | static_cast<std::uint64_t>(s) << local_qubits_;
    }
  }
  for (std::size_t s = 0; s < norms.size(); ++s) {
    for (std::size_t at = first_of[s]; at < first_of[s + 1]; at += block) {
      const std::size_t count = std::min(block, first_of[s + 1] - at);
      transport_->broadcast(rank_of(s), out.data() + at, count * sizeof(std::uint64_t));
    }
  }
  return out;
}

std::vector<double> DistributedState::expectations(const circuit::PauliSum& terms) {
  check_strings(terms);
  // strings as positions; those that flip no shard position are every shard's own
  std::map<std::uint64_t, std::vector<std::size_t>> by_flips;
  circuit::PauliSum at(terms.size());
  for (std::size_t t = 0; t < terms.size(); ++t) {
    at[t].x = layout_.positions(terms[t].x);
    at[t].z = layout_.positions(terms[t].z);
    by_flips[at[t].x & shard_positions() ? at[t].x : 0].push_back(t);
  }
  if (std::any_of(by_flips.begin(), by_flips.end(),
                  [&](const auto& group) { return group.first & shard_positions(); })) {
    for_each_busy_shard([&](int k) { shards_[k]->materialize(); });  // others read them
  }
  std::vector<double> result(terms.size(), 0.0);
  for (const auto& entry : by_flips) {
    const std::uint64_t x = entry.first;
    const auto& list = entry.second;
    circuit::PauliSum group;
    for (const std::size_t t : list) group.push_back(at[t]);
    std::vector<double> values;
    if (!(x & shard_positions())) {
      values = sum(group.size(), [&](int k, std::span<double> out) {
        circuit::PauliSum local = group;
        for (auto& term : local) term.z &= low_mask(local_qubits_);
        const std::vector<double> found = shards_[k]->expectations(local);
        const std::uint64_t index = shard_of(rank_of_local(k)) << local_qubits_;
        for (std::size_t t = 0; t < group.size(); ++t)
          out[t] = std::popcount(index & group[t].z) & 1 ? -found[t] : found[t];
      });
    } else {
      values =
          sum(group.size(), [&](int k, std::span<double> out) { add_crossing(k, x, group, out); });
    }
    for (std::size_t j = 0; j < list.size(); ++j) {
      const bool minus = std::popcount(terms[list[j]].z & layout_.flips) & 1;
      result[list[j]] = minus ? -values[j] : values[j];
    }
  }
  return result;
}

// sum over i of conj(a_i) i^num_y (-1)^{z.(i^x)} a_{i^x} between this shard and the one x leads to.
// i and i^x give the same real number, so each of the two ranks works on half of its amplitudes,
// chosen by the top local bit, and reads only that half's partners from the other.
void DistributedState::add_crossing(int k, std::uint64_t x,
                                    std::span<const circuit::PauliTerm> terms,
                                    std::span<double> values) {
  const std::uint64_t here = low_mask(local_qubits_), x_local = x & here;
  const std::uint64_t shard = shard_of(rank_of_local(k));
  const std::uint64_t other = shard ^ x >> local_qubits_;
  const int peer = rank_of(other);
  if (is_idle(peer, known_zero_)) return;
  const int top = local_qubits_ - 1;
  const bool first_of_two = shard < other;
  // own half: top bit 0 for the lower shard; the partners of the lower shard's other half otherwise
  const std::uint64_t half = first_of_two ? 0 : (~x_local & bit(top));
  const int slice_bits = std::min(top, kCrossingBits);
  const std::size_t count = bit(slice_bits);
  const std::size_t bytes = count * amplitude_bytes(precision_);
  std::vector<char> own_bytes(bytes), other_bytes(bytes);
  std::vector<cplx> own(count), others(count);
  std::vector<double> parts(terms.size());
  for (std::uint64_t s = 0; s < bit(top - slice_bits); ++s) {
    const std::uint64_t first = half | s << slice_bits;
    const std::uint64_t theirs = (first ^ x_local) & ~low_mask(slice_bits);
    // what the peer needs of this shard in its turn s
    const std::uint64_t peer_half = first_of_two ? (~x_local & bit(top)) : 0;
    const std::uint64_t sent = ((peer_half | s << slice_bits) ^ x_local) & ~low_mask(slice_bits);
    shards_[k]->read_runs({&first, 1}, slice_bits, own_bytes.data());
    transport_->fetch(shards_, k, peer, {&sent, 1}, {&theirs, 1}, slice_bits, other_bytes.data());
    widen(precision_, own_bytes.data(), own);
    widen(precision_, other_bytes.data(), others);
    const std::uint64_t inner = x_local & low_mask(slice_bits);
    for (std::uint64_t i = 0; i < count; ++i) own[i] = std::conj(own[i]) * others[i ^ inner];
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const std::uint64_t z = terms[t].z;
      const int num_y = std::popcount(x & z);
      const std::uint64_t fixed = (other << local_qubits_ | theirs) & z;
      double sum = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        const double part = num_y & 1 ? own[i].imag() : own[i].real();
        sum += std::popcount((i ^ inner) & z) & 1 ? -part : part;
      }
      // the real part of i^num_y times the sum
      const bool minus = ((num_y & 3) == 1 || (num_y & 3) == 2) != (std::popcount(fixed) & 1);
      parts[t] += minus ? -sum : sum;
    }
  }
  for (std::size_t t = 0; t < terms.size(); ++t) values[t] = 2 * parts[t];
}

void DistributedState::for_each_block(
    const std::function<void(std::uint64_t, std::span<const cplx>)>& f) {
  restore_layout();
  const int bits = std::min(local_qubits_, kBlockBits);
  std::vector<char> bytes(amplitude_bytes(precision_) << bits);
  std::vector<cplx> block(bit(bits));
  for (std::uint64_t first = 0; first < num_amplitudes(); first += bit(bits)) {
    const int rank = rank_of(first >> local_qubits_), k = rank - transport_->first_rank();
    const std::uint64_t inner = first & low_mask(local_qubits_);
    if (k >= 0 && k < num_local()) shards_[k]->read_runs({&inner, 1}, bits, bytes.data());
    transport_->broadcast(rank, bytes.data(), bytes.size());
    widen(precision_, bytes.data(), block);
    f(first, block);
  }
}

void DistributedState::update_blocks(const std::function<void(std::uint64_t, std::span<cplx>)>& f) {
  restore_layout();  // which leaves no shard idle
  for_each_busy_shard([&](int k) {
    shards_[k]->update_blocks(
        [&](std::uint64_t first, std::span<cplx> block) { f(begin_of(k) | first, block); });
  });
}

}  // namespace tilewave::statevec::distributed
