// Second stage of planning: which wires are active in each pass, and which actions run there.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/statevec/plan/lower.h"

namespace tilewave::statevec::detail {

/// What an action needs of its wires: targets must be active; controls and phase bits need not.
struct Need {
  std::uint64_t x = 0;  ///< changed
  std::uint64_t z = 0;  ///< read in the Z basis
  float weight = 1;
};

struct WirePass {
  std::uint64_t active = 0;            ///< wires
  std::vector<std::uint32_t> actions;  ///< indices, ascending
};

/// Splits needs into passes of at most `tile` wires. Two neighbours share at least `row` wires; the
/// first holds `first_row`. Every action runs once, after all earlier actions it does not commute
/// with.
std::vector<WirePass> schedule(const std::vector<Need>& needs, int num_wires, int tile, int row,
                               std::uint64_t first_row);

}  // namespace tilewave::statevec::detail
