// Numbers sets 0, 1, 2, ... in the order in which they first come. A set is known by its hash, 128
// bits; one that comes again is found by linear probing in a table of numbers that is at most half
// full: 24 to 32 bytes a set, no memory of its own for each, one read of memory where it is new.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tilewave/stabilizer/symptom_set.h"

namespace tilewave::stabilizer {

class SetNumbers {
 public:
  std::size_t size() const { return hashes_.size(); }
  /// The number of a set, and whether it is new. Fewer than 2^32 - 1 sets.
  std::pair<std::uint32_t, bool> number_of(const SetHash& hash) {
    if (2 * (hashes_.size() + 1) > slots_.size()) grow();
    std::size_t at = place_of(hash);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (hashes_[slots_[at] - 1] == hash) return {slots_[at] - 1, false};
    }
    hashes_.push_back(hash);
    slots_[at] = static_cast<std::uint32_t>(hashes_.size());
    return {slots_[at] - 1, true};
  }

 private:
  std::size_t place_of(const SetHash& hash) const { return hash.a & (slots_.size() - 1); }
  void grow() {
    slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), 0);
    for (std::size_t k = 0; k < hashes_.size(); ++k) {
      std::size_t at = place_of(hashes_[k]);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint32_t>(k + 1);
    }
  }

  std::vector<SetHash> hashes_;       // of numbers
  std::vector<std::uint32_t> slots_;  // 1 + a number, or 0; a power of two of them
};

}  // namespace tilewave::stabilizer
