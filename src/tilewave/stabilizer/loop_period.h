// After how many iterations a loop is back in a state it has been in. A state is compared by a hash
// of 128 bits. Sets that grow without end would make the hashes of a long loop cost the square of
// its length: a state of many symptoms is looked at only when the sizes of its sets have been there
// before, which costs such a loop one period more.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

class LoopPeriod {
 public:
  /// To be called before iteration `now` of `block`, with what else belongs to the state. Iterations
  /// since the same state was first seen, or 0.
  std::uint64_t find(SensitivityWalk& walk, std::uint32_t block, std::uint64_t now,
                     const SetHash& more = {}) {
    ++looked_;
    if (states_.size() >= kMostStates) return 0;
    const SensitivityWalk::StateSize size = walk.state_size(block);
    if (size.symptoms > kManySymptoms && sizes_.insert(size.hash).second) return 0;
    const auto [it, fresh] = states_.try_emplace(walk.state_hash(block) ^ more, now);
    return fresh ? 0 : now - it->second;
  }
  void clear() { *this = {}; }
  /// Whether so many states have been seen that a period is no longer looked for.
  bool gave_up() const { return states_.size() >= kMostStates || looked_ >= 16 * kMostStates; }

 private:
  static constexpr std::size_t kMostStates = std::size_t{1} << 22;  // about 200 MB
  static constexpr std::size_t kManySymptoms = 1 << 14;
  struct Hash {
    std::size_t operator()(const SetHash& h) const { return h.a; }
  };

  std::uint64_t looked_ = 0;
  std::unordered_map<SetHash, std::uint64_t, Hash> states_;
  std::unordered_set<std::uint64_t> sizes_;
};

}  // namespace tilewave::stabilizer
