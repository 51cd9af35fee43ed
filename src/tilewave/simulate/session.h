// What outlives a run: plans, what planning remembers of circuits, and tables that engines make for
// small states. All caches of that kind are here, bounded, safe to use from several threads, found
// by what they hold, and emptied by clear(). Every front end uses one: the one of the process, or
// its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tilewave/circuit/circuit.h"
#include "tilewave/statevec/plan/kept_passes.h"
#include "tilewave/statevec/plan/memory.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {

/// A plan and what its engine keeps beside it from run to run.
struct StoredPlan {
  statevec::Plan plan;
  std::unique_ptr<statevec::KeptPasses> tables;
};
using PlanPtr = std::shared_ptr<const StoredPlan>;

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The session of this process, which front ends use where none is named.
  static const std::shared_ptr<Session>& of_process();

  /// The plan of these operations for a state as `options` describe it (but for its memory, which
  /// is this session's). With Effort::kAuto, a plan that is asked for again is searched for once,
  /// and stays.
  PlanPtr plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               const statevec::PlanOptions& options);

  /// Forgets everything; what is in use stays with its users.
  void clear();
  std::size_t num_bytes() const;

 private:
  static constexpr std::size_t kMostPlanBytes = std::size_t{128} << 20;
  static constexpr std::int64_t kMostTableBytes = std::int64_t{32} << 20;

  struct Entry {
    std::string key;
    PlanPtr plan;
    bool is_final = false;
  };
  using Place = std::list<Entry>::iterator;

  PlanPtr make(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               statevec::PlanOptions options);
  void keep(std::string key, PlanPtr plan, bool is_final);

  mutable std::mutex mutex_;
  std::list<Entry> plans_;  // those used last first
  std::unordered_map<std::string_view, Place> by_key_;
  std::size_t plan_bytes_ = 0;
  statevec::KeptPasses::Room table_room_;
  statevec::PlanMemory memory_;
};

}  // namespace tilewave::simulate
