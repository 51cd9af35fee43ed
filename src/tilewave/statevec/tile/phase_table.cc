// Waiting phase terms on register bits alone as one table of the 2^R amplitudes of a thread: which
// kind of table is cheapest, and whether it costs less than the bits one by one.
#include <algorithm>
#include <bit>
#include <set>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

namespace {

constexpr double OpCosts::*kTableCosts[] = {&OpCosts::phase_table, &OpCosts::mirrored_table,
                                            &OpCosts::rotation_table, &OpCosts::table_entry,
                                            &OpCosts::table_number};

}  // namespace

/// Phases of the 2^R amplitudes of a thread as one table.
struct Emitter::PhaseTable {
  TableKind kind = TableKind::kFactors;
  double cost = 0;
  OpCosts paid = no_costs();            ///< what that is made of
  std::vector<std::uint64_t> turns;     ///< of each amplitude
  std::uint64_t offset = 0;             ///< taken off every entry (rotations)
  std::vector<std::uint64_t> left_out;  ///< of each register bit: what goes on waiting
};

/// The cheapest table of the waiting terms on register bits alone; `loose` bits may keep a part of
/// their linear term.
Emitter::PhaseTable Emitter::phase_table(const std::vector<LocalTerm>& terms,
                                         std::uint32_t loose) const {
  const int bits = shape_.register_bits;
  const std::uint32_t size = 1u << bits;
  const auto is_zero = is_rounding;
  PhaseTable table;
  const auto pay = [&](double OpCosts::*cost, double times) {
    table.paid = no_costs();
    table.paid.*cost = times;
    table.cost = costs_.*cost * times;
  };
  pay(&OpCosts::phase_table, 1);
  table.turns.resize(size);
  std::vector<std::uint64_t> symmetric(static_cast<std::size_t>(bits));
  std::vector<std::uint64_t> linear = symmetric;
  for (const LocalTerm& t : terms) {
    for (std::uint32_t j = 0; j < size; ++j) {
      table.turns[j] += (j & t.set) == t.set ? t.turns : 0;
    }
    const std::uint64_t half = static_cast<std::uint64_t>(static_cast<std::int64_t>(t.turns) / 2);
    for_each_bit(t.set, [&](int b) {
      auto& of = std::has_single_bit(t.set) ? linear : symmetric;
      of[static_cast<std::size_t>(b)] += std::has_single_bit(t.set) ? t.turns : ~half + 1;
    });
  }
  // Pairs alone can be made to look the same from both ends.
  std::vector<std::uint64_t> mirrored = table.turns, left_out(static_cast<std::size_t>(bits));
  for_each_bit(loose, [&](int b) {
    const auto at = static_cast<std::size_t>(b);
    left_out[at] = linear[at] - symmetric[at];
    if (is_zero(left_out[at])) left_out[at] = 0;
    for (std::uint32_t j = 0; j < size; ++j) mirrored[j] -= j >> b & 1 ? left_out[at] : 0;
  });
  bool mirror = true;
  for (std::uint32_t j = 0; j < size / 2; ++j) {
    mirror = mirror && is_zero(mirrored[j] - mirrored[size - 1 - j]);
  }
  // Shears lose no accuracy while no angle is near a half turn.
  constexpr std::uint64_t kLargest = std::uint64_t{3} << 61;  // 3/8 of a turn
  const auto fits = [&](const std::vector<std::uint64_t>& turns, std::uint64_t offset) {
    return std::all_of(turns.begin(), turns.end(),
                       [&](std::uint64_t t) { return t - offset + kLargest <= 2 * kLargest; });
  };
  const auto try_offset = [&](std::uint64_t offset) {
    if (mirror && fits(mirrored, offset)) {
      table.kind = TableKind::kMirrored;
      pay(&OpCosts::mirrored_table, 1);
      table.turns = mirrored;
      table.left_out = left_out;
    } else if (fits(table.turns, offset)) {
      table.kind = TableKind::kRotations;
      pay(&OpCosts::rotation_table, 1);
    } else {
      return false;
    }
    table.offset = offset;
    return true;
  };
  if (choice_.compiled()) {
    // amplitudes of equal phases share a number, those of the most frequent one need none
    for (std::vector<std::uint64_t>* turns : {&table.turns, &mirrored}) {
      for (std::size_t j = 0; j < turns->size(); ++j) {
        for (std::size_t k = 0; k < j; ++k) {
          if (is_zero((*turns)[j] - (*turns)[k])) (*turns)[j] = (*turns)[k];
        }
      }
    }
    const std::vector<std::uint64_t>& turns = mirror ? mirrored : table.turns;
    const auto frequency = [&](std::uint64_t x) {
      return std::count(turns.begin(), turns.end(), x);
    };
    const std::uint64_t most = *std::max_element(
        turns.begin(), turns.end(),
        [&](std::uint64_t a, std::uint64_t b) { return frequency(a) < frequency(b); });
    // another phase of all amplitudes is one more product at the store
    constexpr int kWorth = 8;
    const bool taken = frequency(most) >= frequency(~owed_ + 1) + kWorth && try_offset(most);
    if (taken || try_offset(~owed_ + 1) || try_offset(0)) {
      const std::set<std::uint64_t> numbers(table.turns.begin(), table.turns.end());
      const auto changed = size - std::count(table.turns.begin(), table.turns.end(), table.offset);
      pay(&OpCosts::table_entry, static_cast<double>(changed));
      table.paid.table_number = static_cast<double>(numbers.size());
      table.cost += costs_.table_number * table.paid.table_number;
      return table;
    }
  }
  if (try_offset(~owed_ + 1) || try_offset(0)) return table;
  std::vector<std::uint64_t> sorted = mirror ? mirrored : table.turns;
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
  if (apart <= costs_.mirrored_table + costs_.decode) return;
  // Bits with an operation of their own, and bits that take another table before they are mixed.
  PhaseTable table = phase_table(terms, local_bits(dressed | (future_ & ~soon_)));
  if (apart <= table.cost + costs_.decode) return;
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
    if (table.kind == TableKind::kMirrored) table.turns.resize(table.turns.size() / 2);
    for (std::uint64_t turns : table.turns) {
      const cplx half = factor_of(
          static_cast<std::uint64_t>(static_cast<std::int64_t>(turns - table.offset) / 2));
      put(entries, cplx(-half.imag() / half.real(), 2 * half.real() * half.imag()));
    }
    for (std::size_t b = 0; b < table.left_out.size(); ++b) {
      if (table.left_out[b])
        pool_.push_back({1u << layout_->register_slot[b], 0, table.left_out[b]});
    }
  }
  cost_ += table.cost;
  for (double OpCosts::*cost : kTableCosts) paid_.*cost += table.paid.*cost;
  open_layer(table.kind, entries);
}

}  // namespace tilewave::statevec::tile::detail
