// What planning remembers of circuits it has planned before: the schedules of their actions, and
// which way of making a plan was the best. It belongs to a session; nothing of it is a plan, so
// that other angles on the same qubits find it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/schedule_options.h"

namespace tilewave::statevec {

/// How a plan is made.
struct PlanWay {
  bool wide = false;               ///< with tiles of wide_tile_qubits
  bool narrowed = false;           ///< and as few of them as the search finds
  bool one_more = false;           ///< with a pass more than it can do with
  std::uint64_t search_steps = 0;  ///< for fewer passes
};

/// Safe to use from several threads. Entries are found by what they hold, not by a hash of it;
/// those used last stay.
class PlanMemory {
 public:
  using Needs = std::vector<detail::Need>;
  struct Chosen {
    PlanWay way;
    bool is_final = false;                       ///< nothing better is looked for
    std::vector<PlanCandidate> candidates = {};  ///< what it was chosen from
  };

  /// The best way for these needs in these surroundings (layout, sizes, rates, as words).
  std::optional<Chosen> find_way(const Needs& needs, const std::vector<std::uint64_t>& around);
  void keep_way(const Needs& needs, const std::vector<std::uint64_t>& around, const Chosen& chosen);

  /// The active wires of each pass.
  std::optional<std::vector<std::uint64_t>> find_schedule(const Needs& needs,
                                                          const detail::ScheduleOptions& options);
  void keep_schedule(const Needs& needs, const detail::ScheduleOptions& options,
                     std::vector<std::uint64_t> active);

  void clear();
  std::size_t num_bytes() const;

 private:
  // 24 bytes a need: 48 MB at most.
  static constexpr std::size_t kMostStructures = 2000, kMostNeeds = 2'000'000;
  static constexpr std::size_t kMostNeedsOfOne = 20'000, kMostOfEach = 64;

  struct Structure {
    Needs needs;
    std::uint64_t hash = 0;
    std::vector<std::pair<std::vector<std::uint64_t>, Chosen>> ways;
    std::vector<std::pair<detail::ScheduleOptions, std::vector<std::uint64_t>>> schedules;
  };
  using Place = std::list<Structure>::iterator;

  Structure* find(const Needs& needs, std::uint64_t hash);
  Structure& find_or_add(const Needs& needs, std::uint64_t hash);

  mutable std::mutex mutex_;
  std::list<Structure> structures_;  // those used last first
  std::unordered_multimap<std::uint64_t, Place> by_hash_;
  std::size_t num_needs_ = 0;
};

}  // namespace tilewave::statevec
