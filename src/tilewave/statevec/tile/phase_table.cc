// Waiting phase terms on register bits alone as one table of the 2^R amplitudes of a thread: which
// kind of table is cheapest, and whether it costs less than the bits one by one.
#include <algorithm>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

/// Phases of the 2^R amplitudes of a thread as one table.
struct Emitter::PhaseTable {
  TableKind kind = TableKind::kFactors;
  double OpCosts::*cost = &OpCosts::phase_table;
  std::vector<std::uint64_t> turns;  ///< of each amplitude
  std::uint64_t offset = 0;          ///< taken off every entry (rotations)
};

/// The cheapest table of the waiting terms on register bits alone.
Emitter::PhaseTable Emitter::phase_table(const std::vector<LocalTerm>& terms) const {
  const std::uint32_t size = 1u << shape_.register_bits;
  PhaseTable table;
  table.turns.resize(size);
  for (const LocalTerm& t : terms) {
    for (std::uint32_t j = 0; j < size; ++j) {
      table.turns[j] += (j & t.set) == t.set ? t.turns : 0;
    }
  }
  // Shears lose no accuracy while no angle is near a half turn.
  constexpr std::uint64_t kLargest = std::uint64_t{3} << 61;  // 3/8 of a turn
  const auto try_offset = [&](std::uint64_t offset) {
    if (!std::ranges::all_of(
            table.turns, [&](std::uint64_t t) { return t - offset + kLargest <= 2 * kLargest; }))
      return false;
    table.kind = TableKind::kRotations;
    table.cost = &OpCosts::rotation_table;
    table.offset = offset;
    return true;
  };
  if (try_offset(~owed_ + 1) || try_offset(0)) return table;
  std::vector<std::uint64_t> sorted = table.turns;
  std::sort(sorted.begin(), sorted.end());
  std::uint64_t widest = 0, middle = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const std::uint64_t gap = sorted[(k + 1) % sorted.size()] - sorted[k];
    if (gap > widest) widest = gap, middle = sorted[k] + gap / 2;
  }
  try_offset(middle + (std::uint64_t{1} << 63));
  return table;
}

/// Writes all waiting terms on register bits alone as one table, when a term of `touched` is among
/// them and the bits one by one would cost more.
void Emitter::flush_table(std::uint32_t touched) {
  const auto in_table = [&](const SlotTerm& t) {
    return !t.tile && t.slots && !(t.slots & ~layout_->register_mask);
  };
  const auto local_bits = [&](std::uint32_t slots) {
    std::uint32_t set = 0;
    for_each_bit(slots & layout_->register_mask, [&](int s) { set |= 1u << layout_->bit_of[s]; });
    return set;
  };
  std::uint32_t linear = 0, tied = 0, dressed = 0;
  bool any = false;
  std::vector<LocalTerm> terms;
  for (const SlotTerm& t : pool_) {
    if (!in_table(t)) {
      dressed |= t.slots;  // these bits need an operation of their own anyway
      continue;
    }
    any = any || (t.slots & touched);
    (std::has_single_bit(t.slots) ? linear : tied) |= t.slots;
    terms.push_back({local_bits(t.slots), 0, 0, t.turns});
  }
  if (!any) return;
  // Only slots still mixed while they wait here would be written one by one.
  tied &= future_;
  linear &= soon_ & ~tied;
  const double apart =
      std::popcount(tied & ~dressed) * (costs_.bit_phase + 0.5 * costs_.pairs + costs_.decode) +
      std::popcount(tied & dressed) * 0.75 * costs_.pairs +
      std::popcount(linear & ~dressed) * (costs_.tau + costs_.decode);
  if (apart <= costs_.decode) return;
  const PhaseTable table = phase_table(terms);
  if (apart <= costs_.*table.cost + costs_.decode) return;
  std::erase_if(pool_, in_table);
  std::vector<std::byte> entries;
  if (table.kind == TableKind::kFactors) {
    for (std::uint32_t j = 0; j < table.turns.size(); ++j) {
      double magnitude = 1;
      for_each_bit(j, [&](int b) {
        magnitude *= magnitude_[layout_->register_slot[static_cast<std::size_t>(b)]];
      });
      put(entries, magnitude * factor_of(table.turns[j]));
    }
    for (int s : layout_->register_slot) magnitude_[s] = 1;
  } else {
    owed_ += table.offset;
    for (std::uint64_t turns : table.turns) {
      const cplx half = factor_of(
          static_cast<std::uint64_t>(static_cast<std::int64_t>(turns - table.offset) / 2));
      put(entries, cplx(-half.imag() / half.real(), 2 * half.real() * half.imag()));
    }
  }
  pay(table.cost);
  open_layer(table.kind, entries);
}

}  // namespace tilewave::statevec::tile::detail
