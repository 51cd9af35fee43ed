// What of a circuit is still to be run while a plan of it is searched for.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::detail {

/// The actions that wait, in order: some that were skipped, and all from `next` on, which nothing
/// has come to yet. Deep circuits have many of the latter: a copy costs the former alone.
class Remaining {
 public:
  explicit Remaining(const std::vector<Need>& needs) : end_(needs.size()) {
    for (const Need& a : needs) weight_ += fixed(a.weight);
  }
  std::size_t size() const { return skipped_.size() + (end_ - next_); }
  bool empty() const { return size() == 0; }
  std::uint32_t operator[](std::size_t k) const {
    return k < skipped_.size() ? skipped_[k]
                               : static_cast<std::uint32_t>(next_ + (k - skipped_.size()));
  }
  /// In a fixed point: the same in any order.
  std::int64_t weight() const { return weight_; }

  /// Runs what can run with these wires active: moves it from here to the result. `all`: the wires
  /// there are.
  WirePass take(const std::vector<Need>& needs, std::uint64_t active, std::uint64_t all) {
    WirePass pass;
    pass.active = active;
    std::uint64_t changed = 0, read = 0;
    const auto runs = [&](std::uint32_t k) {
      const Need& a = needs[k];
      if (!(a.x & (changed | read)) && !(a.z & changed) && !(a.x & ~active)) {
        pass.actions.push_back(k);
        weight_ -= fixed(a.weight);
        return true;
      }
      changed |= a.x;
      read |= a.z;
      return false;
    };
    std::erase_if(skipped_, runs);
    // once every wire is held back nothing later can run
    for (; next_ < end_ && (all & ~changed); ++next_) {
      const auto k = static_cast<std::uint32_t>(next_);
      if (!runs(k)) skipped_.push_back(k);
    }
    return pass;
  }

 private:
  static std::int64_t fixed(float weight) {
    return std::llround(0x1p20 * static_cast<double>(weight));
  }

  std::vector<std::uint32_t> skipped_;
  std::size_t next_ = 0, end_ = 0;
  std::int64_t weight_ = 0;
};

}  // namespace tilewave::statevec::detail
