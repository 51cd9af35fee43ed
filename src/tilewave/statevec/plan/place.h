// Third stage of planning: from wires to positions. See place.cc.
#pragma once

#include <vector>

#include "tilewave/statevec/plan/lower.h"
#include "tilewave/statevec/plan/schedule.h"
#include "tilewave/statevec/plan/shard.h"

namespace tilewave::statevec::detail {

/// Writes the passes of a plan; consumes the lowered actions.
Plan place(const Lowered& lowered, std::vector<WirePass> passes, int num_qubits,
           const PlanOptions& options);

/// The same for a state on several ranks: schedules and places the passes of every segment, with
/// the exchanges between them. `limits` holds the tile.
Plan place_shards(const Lowered& lowered, const std::vector<Need>& needs,
                  const std::vector<Segment>& segments, const ScheduleOptions& limits,
                  const PlanOptions& options);

}  // namespace tilewave::statevec::detail
