// The planner's level above tiles: which wires choose the rank, stretch by stretch of the circuit.
// See shard.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/statevec/plan/schedule.h"

namespace tilewave::statevec::detail {

/// What runs between two exchanges.
struct Segment {
  std::uint64_t remote = 0;            ///< wires that choose the rank
  std::vector<std::uint32_t> actions;  ///< indices, ascending
};

struct ShardOptions {
  int num_wires = 0;
  int shard_bits = 0;
  std::uint64_t remote = 0;      ///< at the start
  std::uint64_t zero_wires = 0;  ///< known to be |0>: two of them change places for free
  std::uint64_t low = 0;  ///< wires on low positions at the start: no pass moves them up before an
                          ///< exchange at the start, which would move short runs of amplitudes
  std::size_t beam = 6;   ///< splits kept
};

/// Splits needs into segments with as few exchanges as the search finds. Throws Error(kUsage) when
/// an action has more targets than there are local wires.
std::vector<Segment> split_shards(const std::vector<Need>& needs, const ShardOptions& options);

}  // namespace tilewave::statevec::detail
