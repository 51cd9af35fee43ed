// After how many iterations a loop is back in a state it has been in. A state is compared by a hash
// of 128 bits. Sets that grow without end would make the hashes of a long loop cost the square of
// its length: once many symptoms have been looked at, a state is compared only when the sizes of
// its sets have been there before, which costs a loop with a late period one more.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

class LoopPeriod {
 public:
  /// To be called before iteration `now` of `block`, with what else belongs to the state.
  /// Iterations since the same state was first seen, or 0.
  std::uint64_t find(SensitivityWalk& walk, std::uint32_t block, std::uint64_t now,
                     const SetHash& more = {}) {
    if (gave_up()) return 0;
    const SensitivityWalk::StateSize size = walk.state_size(block);
    symptoms_ += size.symptoms;
    if (sizes_.insert(size.hash).second && symptoms_ > kManySymptoms) return 0;
    const auto [it, fresh] = states_.try_emplace(walk.state_hash(block) ^ more, now);
    return fresh ? 0 : now - it->second;
  }
  void clear() { *this = {}; }
  /// Whether so many states have been seen that a period is no longer looked for.
  bool gave_up() const { return states_.size() >= kMostStates || sizes_.size() >= kMostStates; }

  static constexpr std::size_t kMostStates = std::size_t{1} << 22;  // about 200 MB

 private:
  static constexpr std::size_t kManySymptoms = 1 << 20;  // a few milliseconds
  std::uint64_t symptoms_ = 0;
  std::unordered_map<SetHash, std::uint64_t, SetHash::Slot> states_;
  std::unordered_set<std::uint64_t> sizes_;
};

/// Throws Error(kResources): the block of `p` has come back to no state in so many iterations.
[[noreturn]] void throw_no_period(const StabProgram& program, const Prim& p,
                                  std::uint64_t iterations);

}  // namespace tilewave::stabilizer
