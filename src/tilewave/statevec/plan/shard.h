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

/// How the last pass of a segment leaves its wires for the exchange and the next segment.
struct Handover {
  std::uint64_t leaving = 0;   ///< wires that become remote
  std::uint64_t next_row = 0;  ///< wires on the low positions for the next segment
};
/// Makes room in the pass for wires that leave, where it has any.
Handover hand_over(const std::vector<Need>& needs, const Segment& segment, const Segment& next,
                   int row, WirePass& last);

/// The last passes of a segment hold what fits no other: their actions go to the next segment where
/// that needs no more passes for it, with other remote wires if it must, but no more of them that
/// move. `passes` are those of segments[at] and name actions by their indices in `needs`. forced:
/// wherever it is possible, whatever it costs. Whether any was.
bool defer_passes(const std::vector<Need>& needs, const ScheduleOptions& limits, int row,
                  std::size_t at, bool forced, std::vector<Segment>& segments,
                  std::vector<WirePass>& passes);

}  // namespace tilewave::statevec::detail
