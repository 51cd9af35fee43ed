// Machines that are not here: ranks joined by levels of links, described in a file, for
// predictions.
//   # comments and empty lines are skipped
//   pass 4200              GB/s of a pass on one rank, read + written
//   tile 12 3              active positions of a pass, low positions active in every one
//   hidden 0.6             share of an exchange that passes beside it hide
//   level nvlink 8 320     inside out: a name, how many of what is inside it joins, GB/s out of
//   level network 128 45   each rank across it
// The numbers of ranks are powers of two; their product is the number of ranks of the machine.
#pragma once

#include <string>
#include <vector>

#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"

namespace tilewave::simulate {

struct Topology {
  struct Level {
    std::string name;
    int bits = 0;  ///< log2 of what it joins
    double bytes_per_s = 0;
  };
  std::vector<Level> levels;
  statevec::CostModel cost;  ///< of all ranks together

  int num_ranks() const { return 1 << cost.shard_bits; }
};

/// Throws Error(kInput) with file and line.
Topology read_topology(const std::string& path);

/// Sets the predicted times of a plan's exchanges, and of the plan. Shard positions belong to
/// levels from the inside out; in an exchange a rank sends as much to every other rank of its
/// group, across the outermost level at which their numbers differ; levels work at the same time.
/// Of an exchange, or of the passes that run slice by slice beside it where they take less, a share
/// is hidden.
/// Returns the bytes out of each rank across every level.
std::vector<double> price_exchanges(statevec::Plan& plan, const Topology& topology);

}  // namespace tilewave::simulate
