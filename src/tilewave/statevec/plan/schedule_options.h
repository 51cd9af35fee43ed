// The input of scheduling: which wires each action changes and reads, and the limits of a pass.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewave::statevec::detail {

/// What an action needs of its wires: targets must be active; controls and phase bits need not.
struct Need {
  std::uint64_t x = 0;  ///< changed
  std::uint64_t z = 0;  ///< read in the Z basis
  float weight = 1;

  bool operator==(const Need&) const = default;
};

struct ScheduleOptions {
  int num_wires = 0;
  int tile = 0;  ///< active wires of a pass, at most
  std::uint64_t first_row =
      0;  ///< wires on the low positions at the start: active in the first pass. Every
          ///< pass chooses as many of its wires for the row of the next.
  std::uint64_t fixed = 0;                  ///< wires active in every pass
  std::uint64_t wires = ~std::uint64_t{0};  ///< those that may be active
  std::uint64_t near = 0;                   ///< where a pass has room left, rather these
  std::size_t beam = 4;                     ///< schedules kept
  std::uint64_t search_steps = 0;           ///< of the search for fewer passes; 0: none
  int narrow_tile = 0;    ///< fewer active wires, with which a pass costs less; 0: as much
  bool one_more = false;  ///< a pass more than the search can do with, for more of narrow_tile

  bool operator==(const ScheduleOptions&) const = default;
};

}  // namespace tilewave::statevec::detail
