// A pass on positions as operations and phase terms on slots, the bits of its tile, without what
// known zeros rule out.
#include <algorithm>
#include <array>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile::detail {

namespace {

OpKind kind_of(const Action& action) {
  switch (action.kind) {
    case ActionKind::kLift:
      return OpKind::kLift;
    case ActionKind::kFlip:
      return OpKind::kFlip;
    case ActionKind::kRotate:
      return OpKind::kRotate;
    default:
      return action.num_targets == 1   ? OpKind::kMatrix1
             : action.num_targets == 2 ? OpKind::kMatrix2
                                       : OpKind::kMatrixShared;
  }
}

}  // namespace

SlotPass to_slots(const Plan& plan, const Pass& pass, const Shape& shape) {
  const int k = shape.tile_qubits;
  const int held = std::max(plan.num_qubits, k);  // qubits of the padded state
  TW_CHECK(static_cast<int>(pass.active.size()) <= k,
           "a pass has more active positions than a tile");
  const std::uint64_t zero = pass.known_zero_before | (low_mask(held) & ~low_mask(plan.num_qubits));
  std::uint64_t active = 0;
  for (int p : pass.active) active |= bit(p);
  // Fill up with the lowest other positions: they stay where they are.
  for (int p = 0; std::popcount(active) < k; ++p) active |= bit(p);

  SlotPass out;
  out.tile_position.assign(static_cast<std::size_t>(shape.block_bits), kSlotOfBlock);
  std::array<int, 64> slot_of{}, tile_bit_of{};
  slot_of.fill(-1);
  tile_bit_of.fill(-1);
  for (int p = 0; p < held; ++p) {
    if (active >> p & 1) {
      slot_of[static_cast<std::size_t>(p)] = static_cast<int>(out.slot_position.size());
      out.slot_position.push_back(p);
    } else if (!(zero >> p & 1)) {
      tile_bit_of[static_cast<std::size_t>(p)] = static_cast<int>(out.tile_position.size());
      out.tile_position.push_back(p);
    }
  }
  TW_CHECK(out.tile_position.size() <= kMaxTileBits, "more than 2^31 tiles");
  out.dest_position = out.slot_position;
  for (std::size_t i = 0; i < pass.active.size(); ++i) {
    out.dest_position[static_cast<std::size_t>(slot_of[pass.active[i]])] = pass.dest[i];
  }

  // Splits a mask of positions; false when it contains an inactive position that is known to be 0.
  const auto split = [&](std::uint64_t mask, std::uint32_t& slots, std::uint32_t& tile) {
    slots = tile = 0;
    bool alive = true;
    for_each_bit(mask, [&](int p) {
      const auto at = static_cast<std::size_t>(p);
      if (slot_of[at] >= 0) {
        slots |= 1u << slot_of[at];
      } else if (tile_bit_of[at] >= 0) {
        tile |= 1u << tile_bit_of[at];
      } else {
        alive = false;
      }
    });
    return alive;
  };
  const auto add_term = [&](std::uint64_t mask, std::uint64_t turns) {
    SlotTerm term;
    term.turns = turns;
    if (turns == 0 || !split(mask, term.slots, term.tile)) return;
    out.items.push_back({-1, static_cast<std::int32_t>(out.terms.size())});
    out.terms.push_back(term);
  };
  for (const Action& action : pass.actions) {
    if (action.kind == ActionKind::kPhase) {
      for (std::uint32_t t = 0; t < action.count; ++t) {
        const PhaseTerm& term = plan.terms[action.first + t];
        add_term(term.mask, term.turns);
      }
      continue;
    }
    // A control on a known zero: never met (wants 1), or always.
    std::uint64_t controls = action.control_mask, dead = 0;
    for_each_bit(controls, [&](int p) {
      const auto at = static_cast<std::size_t>(p);
      if (slot_of[at] < 0 && tile_bit_of[at] < 0) dead |= bit(p);
    });
    if (dead & action.control_value) continue;
    controls &= ~dead;
    if (action.kind == ActionKind::kLift) add_term(bit(action.targets[0]), action.pre_turns);
    SlotOp op;
    op.action = &action;
    op.kind = kind_of(action);
    op.num_targets = action.num_targets;
    for (int t = 0; t < action.num_targets; ++t) {
      const int slot = slot_of[action.targets[static_cast<std::size_t>(t)]];
      TW_CHECK(slot >= 0, "a target of a pass is not active");
      op.targets[t] = static_cast<std::uint8_t>(slot);
      op.target_mask |= 1u << slot;
    }
    op.register_mask = op.kind == OpKind::kMatrixShared ? 0 : op.target_mask;
    split(controls, op.control_mask, op.tile_mask);
    op.folds = op.kind == OpKind::kFlip &&
               std::popcount(op.control_mask) + std::popcount(op.tile_mask) <= 1;
    split(controls & action.control_value, op.control_value, op.tile_value);
    out.items.push_back({static_cast<std::int32_t>(out.ops.size()), -1});
    out.ops.push_back(op);
  }
  return out;
}

}  // namespace tilewave::statevec::tile::detail
