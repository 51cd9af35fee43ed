// Which actions of a circuit wait for which, as the search for schedules walks over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::detail {

/// Lists of numbers side by side.
class Lists {
 public:
  explicit Lists(const std::vector<std::vector<std::uint16_t>>& lists) {
    for (const auto& list : lists) {
      first_.push_back(static_cast<std::uint32_t>(all_.size()));
      all_.insert(all_.end(), list.begin(), list.end());
    }
    first_.push_back(static_cast<std::uint32_t>(all_.size()));
  }
  std::span<const std::uint16_t> operator[](std::size_t k) const {
    return std::span(all_).subspan(first_[k], first_[k + 1] - first_[k]);
  }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint16_t> all_;
};

/// Actions that change wires, and who has to wait for whom: always for one with a lower number.
struct DependenceGraph {
  std::vector<std::uint64_t> targets;
  std::vector<float> weight;
  float total = 0;
  Lists before, after, on_wire;

  static DependenceGraph of(const std::vector<Need>& needs);
  std::size_t size() const { return targets.size(); }
};

/// The actions that change wires.
std::size_t number_of_movers(const std::vector<Need>& needs);

}  // namespace tilewave::statevec::detail
