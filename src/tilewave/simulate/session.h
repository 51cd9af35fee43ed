// What outlives a run: plans, what planning remembers of circuits, tables that engines make of them,
// and the memory of a state. These caches are bounded, safe to use from several threads, compare keys
// as a whole and not by a hash, and are emptied by clear(). Every front end uses one: the one of the
// process, or its own.
#pragma once

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
#include "tilewave/settings/device.h"
#include "tilewave/settings/precision.h"
#include "tilewave/simulate/make_state.h"
#include "tilewave/statevec/plan/kept_passes.h"
#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/plan_memory.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/state.h"

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
  /// is this session's). With Effort::kAuto, a plan that is run again is searched for once, and
  /// stays.
  PlanPtr plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               const statevec::PlanOptions& options);
  /// The plan that plan() would give now, to be printed: it does not count as a run.
  PlanPtr look_at_plan(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                       const statevec::PlanOptions& options);

  /// Plans the operations for the state as it is now, and runs them.
  void run(statevec::State& state, const circuit::Circuit& circuit,
           std::span<const circuit::Op> ops, Effort effort = Effort::kAuto);

  /// As make_state(); a state that was given back serves again, so that its memory need not be
  /// taken and touched anew.
  std::unique_ptr<statevec::State> take_state(std::uint32_t num_qubits, Precision precision,
                                              int num_threads, const DeviceSet& device,
                                              const Distribution& distribution);
  /// Keeps a state that no ranks share, the last one only: on the host where it is not large, on a
  /// device up to this share of its memory, which whoever finds too little there may have.
  void give_back(std::unique_ptr<statevec::State> state, int num_threads, const DeviceSet& device,
                 double most_device_share = 0);

  /// Forgets everything; what is in use stays with its users.
  void clear();
  std::size_t num_bytes() const;

 private:
  static constexpr std::size_t kMostPlanBytes = std::size_t{128} << 20;
  static constexpr std::uint64_t kMostSpareBytes = std::uint64_t{1} << 30;
  static constexpr std::int64_t kMostTableBytes = std::int64_t{32} << 20;

  struct Entry {
    std::string key;
    PlanPtr plan;
    bool was_run = false;   // a second run searches,
    bool is_final = false;  // once
  };
  using Place = std::list<Entry>::iterator;

  PlanPtr make(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
               statevec::PlanOptions options, bool runs);
  PlanPtr find_or_make(const circuit::Circuit& circuit, std::span<const circuit::Op> ops,
                       const statevec::PlanOptions& options, bool runs);
  void keep(std::string key, PlanPtr plan, bool was_run, bool is_final);
  void drop_oldest();

  mutable std::mutex mutex_;
  std::list<Entry> plans_;  // those used last first
  std::unordered_map<std::string_view, Place> by_key_;
  std::size_t plan_bytes_ = 0;
  statevec::KeptPasses::Room table_room_;
  statevec::PlanMemory memory_;
  std::unique_ptr<statevec::State> spare_;
  int spare_threads_ = 0;   // it was made for
  DeviceSet spare_device_;  // as it was asked for
};

}  // namespace tilewave::simulate
