// States that wait while others go on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/base/complex.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// States that were replaced: their memory is used again, fresh memory costs more than a pass.
using Spares = std::vector<std::unique_ptr<statevec::State>>;

/// A state as it was before a measurement, shared by the outcomes that wait for it.
class Snapshot {
 public:
  Snapshot(statevec::State& state, std::uint64_t& num_alive, Spares& spares)
      : num_alive_(num_alive), spares_(spares) {
    ++num_alive_;
    if (state.num_qubits() <= kSmallQubits) {
      small_.reserve(state.num_amplitudes());
      state.for_each_block([&](std::uint64_t, std::span<const cplx> block) {
        small_.insert(small_.end(), block.begin(), block.end());
      });
    } else {
      std::unique_ptr<statevec::State> spare;
      if (!spares_.empty()) {
        spare = std::move(spares_.back());
        spares_.pop_back();
      }
      large_ = state.clone_into(std::move(spare));
    }
  }
  /// What a checkpoint has kept of one: the numbers of a small state, or a state.
  Snapshot(std::vector<cplx> small, std::unique_ptr<statevec::State> large,
           std::uint64_t& num_alive, Spares& spares)
      : num_alive_(num_alive), spares_(spares), small_(std::move(small)), large_(std::move(large)) {
    ++num_alive_;
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { --num_alive_; }

  /// Empty where large() is a state.
  const std::vector<cplx>& small() const { return small_; }
  statevec::State* large() const { return large_.get(); }

  /// Puts the content into `state`; the last user takes it without a copy.
  void restore(std::unique_ptr<statevec::State>& state, bool last_user) {
    if (!large_) {
      state->set_amplitudes(small_);
      return;
    }
    if (last_user) {
      spares_.push_back(std::exchange(state, std::move(large_)));
    } else {
      state = large_->clone_into(std::move(state));
    }
  }

 private:
  static constexpr int kSmallQubits = 12;  // such states are kept as plain arrays

  std::uint64_t& num_alive_;
  Spares& spares_;
  std::vector<cplx> small_;
  std::unique_ptr<statevec::State> large_;
};

}  // namespace tilewave::simulate
