// What a tile goes through in a pass, without tables: which bits are in the block at which time,
// and the stages and actions on it. The engine makes its program from it (tile_program.h), the
// planner's prices count it (pass_costs.h).
//
// Slot s of a tile is its s-th active position. Slots 0..5 lie in a row; the other slots number the
// rows. The actions of the pass are split into phases by the planner's own scheduler, one level
// down: a phase brings up to `row_bits` row slots into the first-level cache and runs every action
// whose row targets are among them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tilewave/statevec/cpu/stages.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Where the positions of a pass are while a phase runs.
class BlockSlots {
 public:
  explicit BlockSlots(const Pass& pass);

  int num_slots() const { return num_slots_; }
  int num_row_bits() const { return num_row_bits_; }
  /// The slots from kLowBits on that number the rows of the block.
  void enter(std::uint64_t row_slots);
  std::uint64_t slots(std::uint64_t positions) const;

  /// A mask over positions, split by where the bits are.
  struct Split {
    std::uint32_t low = 0, rows = 0;
    std::uint64_t outside = 0;
    std::uint32_t inside() const { return low | rows << kLowBits; }
  };
  Split split(std::uint64_t positions) const;

  /// Of an active position: its bit inside rows, or kLowBits and its bit of the row number.
  int place(int position) const {
    const int slot = slot_of_[position];
    return slot < kLowBits ? slot : kLowBits + row_of_[slot];
  }

 private:
  int num_slots_, num_row_bits_ = 0;
  std::array<int, 64> slot_of_{}, row_of_{};  // -1: none
};

/// An action of the pass, or else a stage.
struct OutlineStep {
  const Action* action = nullptr;
  Stage stage;
};

struct OutlinePhase {
  std::uint64_t row_slots = 0;
  std::vector<OutlineStep> steps;
};

/// The pass must be one of at least 6 active positions; steps point to its actions.
std::vector<OutlinePhase> make_outline(const Plan& plan, const Pass& pass, int row_bits);

}  // namespace tilewave::statevec::cpu
