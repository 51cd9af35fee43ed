// Leakage in the frame engine on the CPU: a third row of every slot, the shots in which it is leaked.
// A leaked qubit is traced out: its frame is a uniformly random Pauli, and so becomes that of a
// partner which a gate mixes it with. What happens to leaked shots costs a draw each; a mask
// of the units that have some finds them. Draws are Philox, by (seed, unit, tick, target and shot),
// as everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tilewave/stabilizer/cpu/frame_hits.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/leakage_ops.h"
#include "tilewave/stabilizer/noise.h"

namespace tilewave::stabilizer {

/// The rows of a batch, `units` words each, and where its random streams stand.
struct LeakageRows {
  const FrameProgram& program;
  std::uint32_t* frames;
  std::uint32_t* leaked;
  std::uint64_t*
      units_leaked;  ///< mask_words a slot: units with leaked shots, perhaps some without
  std::size_t mask_words;
  std::uint32_t* records;
  std::uint64_t record_mask;  ///< row of record r: r & record_mask
  std::uint64_t record;       ///< the next one
  std::size_t units;
  std::uint32_t key0, key1;
  std::uint64_t first_unit, tick;

  std::uint32_t* x(std::uint32_t slot) const { return frames + 2 * std::size_t{slot} * units; }
  std::uint32_t* leaked_row(std::uint32_t slot) const { return leaked + slot * units; }
  std::uint64_t* mask(std::uint32_t slot) const { return units_leaked + slot * mask_words; }
  bool may_leak(std::uint32_t slot) const {
    std::uint64_t any = 0;
    for (std::size_t k = 0; k < mask_words; ++k) any |= mask(slot)[k];
    return any != 0;
  }
  /// No shot of the slot is leaked any more.
  void seal(std::uint32_t slot) const {
    if (!may_leak(slot)) return;
    std::memset(leaked_row(slot), 0, units * sizeof(std::uint32_t));
    std::memset(mask(slot), 0, mask_words * sizeof(std::uint64_t));
  }
  void set(std::uint32_t slot, std::uint32_t unit, std::uint32_t shots) const {
    leaked_row(slot)[unit] |= shots;
    mask(slot)[unit / 64] |= std::uint64_t{1} << (unit % 64);
  }
  void clear(std::uint32_t slot, std::uint32_t unit, std::uint32_t shots) const {
    if ((leaked_row(slot)[unit] &= ~shots) == 0)
      mask(slot)[unit / 64] &= ~(std::uint64_t{1} << (unit % 64));
  }
  std::uint32_t* record_row(std::uint64_t index) const {
    return records + (index & record_mask) * units;
  }
};

/// One operation for which is_of_leakage() holds.
void run_leakage(const LeakageRows& rows, const FrameOp& op);

/// Leaks the qubit of a target (slot | LeakScramble << 28) in one shot. `bits`: the lowest two are
/// the Pauli x + 2 z by which its frame may change.
[[gnu::always_inline]] inline void leak_one(const LeakageRows& rows, std::uint32_t target,
                                            std::uint32_t unit, std::uint32_t bit,
                                            std::uint32_t bits) {
  const std::uint32_t slot = slot_of(target);
  const std::uint32_t changes = scrambled(scramble_of(target), bit, rows.leaked_row(slot)[unit]);
  flip(rows.frames, rows.units, slot, bits & 3, unit, changes);
  rows.set(slot, unit, bit);
}

/// Branches 0, 1, 2: leaks both, the first, the second of two targets. `place`: of the pair in its
/// operation, for the draw of Paulis, which the choice of a branch leaves no bits for.
inline void leak_pair(const LeakageRows& rows, const std::uint32_t* targets, std::uint32_t place,
                      std::uint32_t branch, std::uint32_t unit, std::uint32_t bit) {
  const auto shot = static_cast<std::uint32_t>(__builtin_ctz(bit));
  const UnitStream stream{rows.key0, rows.key1, rows.first_unit + unit, rows.tick};
  const std::uint32_t bits = stream.block(pair_draw(place, shot)).v[0];
  if (branch != 2) leak_one(rows, targets[0], unit, bit, bits);
  if (branch != 1) leak_one(rows, targets[1], unit, bit, bits >> 2);
}

}  // namespace tilewave::stabilizer
