// Passes that do nothing but move rows of 256 bytes within their tiles: row by row in the state's
// own memory, without a tile of their own in between.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilewave/statevec/cpu/addressing.h"
#include "tilewave/statevec/cpu/block.h"

namespace tilewave::statevec::cpu {

class RowMoves {
 public:
  /// None where the pass does something else: `steps` says whether it has any beside its movement.
  static std::optional<RowMoves> of(const Addressing& at, const Pass& pass, bool steps,
                                    bool is_double);

  /// Those of the tile at `base` (a physical index).
  RowCycles cycles(const Addressing& at, std::uint64_t base) const;
  std::size_t num_bytes() const;

 private:
  struct Cycles {
    std::uint32_t shift = 0;  // of places, by what the bits outside the tile are
    std::vector<std::uint64_t> offset;
    std::vector<std::uint32_t> length;
  };
  std::vector<Cycles> all_;
};

}  // namespace tilewave::statevec::cpu
