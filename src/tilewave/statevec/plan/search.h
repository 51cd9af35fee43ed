// A search for fewer passes than a greedy schedule has.
#pragma once

#include <vector>

#include "tilewave/statevec/plan/plan_memory.h"
#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::detail {

struct Shortened {
  std::vector<WirePass> passes;
  std::vector<WirePass> before;  ///< a schedule with one pass more; empty: none was looked for
};

/// `passes`, which run all of `needs` under `options`, or a schedule with fewer of them if
/// simulated annealing over the wires of each pass finds one within options.search_steps trials.
/// The same result for any number of threads.
Shortened fewer_passes(const std::vector<Need>& needs, const ScheduleOptions& options,
                       std::vector<WirePass> passes);

/// The same with as many passes of options.narrow_tile wires as annealing finds, in as many steps
/// again.
std::vector<WirePass> narrower_passes(const std::vector<Need>& needs,
                                      const ScheduleOptions& options, std::vector<WirePass> passes);

/// The schedule of these needs, searched for if options say so. With a memory, a circuit of the
/// same structure (other angles, say) finds its schedule again; null: none.
std::vector<WirePass> find_schedule(const std::vector<Need>& needs, const ScheduleOptions& options,
                                    PlanMemory* memory);

}  // namespace tilewave::statevec::detail
