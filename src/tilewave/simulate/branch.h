// One history of outcomes and the shots that share it, as the walk over branches (branches.h) keeps
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/snapshot.h"

namespace tilewave::simulate {

/// What a block of measurements gave: bit j of value is the block's j-th qubit, bit j of misread its
/// j-th operation; or the operator of a channel.
struct Outcome {
  std::uint64_t event = 0;
  std::uint64_t value = 0;
  double scale = 1;  // keeps the norm as it was before the projection
  std::uint64_t misread = 0;
};

/// How far a branch has come.
struct Position {
  std::size_t op = 0;  // where to go on: in Program::ops
  Bits bits;
  std::size_t blocks_done = 0;  // of the path
  std::uint64_t channels_done = 0;
};

struct Branch {
  Position at;
  std::vector<std::uint32_t> shots;
  std::vector<Outcome> path;  // of every event so far, and of the next ones when it is replayed
  std::shared_ptr<Snapshot> base;  // null: replay from the start
};

/// The index of the draw at an operation. In a loop one operation draws again and again.
inline std::uint64_t event_of(const Program& program, std::size_t op, std::uint64_t events_done) {
  return 1 + op + (program.has_control_flow ? (events_done + 1) << 32 : 0);
}

}  // namespace tilewave::simulate
