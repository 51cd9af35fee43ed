#include "tilewave/statevec/cpu/addressing.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/cpu/tile_program.h"

namespace tilewave::statevec::cpu {

namespace {

// Takes out the single-control flips that commute with all actions before (or after) them that
// stay, and that `allowed` accepts; in the order of the actions.
template <class Allowed>
std::vector<FreeFlip> take_flips(Pass& pass, const std::vector<PhaseTerm>& terms, bool at_start,
                                 Allowed allowed) {
  std::vector<FreeFlip> taken;
  std::uint64_t changed = 0, read = 0;  // by the actions that stay
  std::vector<bool> gone(pass.actions.size());
  for (std::size_t i = 0; i < pass.actions.size(); ++i) {
    const std::size_t k = at_start ? i : pass.actions.size() - 1 - i;
    const Action& a = pass.actions[k];
    if (a.kind == ActionKind::kFlip && std::has_single_bit(a.control_mask)) {
      const FreeFlip flip{a.control_mask, a.target_mask(), a.control_value != 0};
      if (!(flip.target & (changed | read)) && !(flip.control & changed) && allowed(flip)) {
        taken.push_back(flip);
        gone[k] = true;
        continue;
      }
    }
    if (a.kind == ActionKind::kPhase) {
      for (std::uint32_t t = a.first; t < a.first + a.count; ++t) read |= terms[t].mask;
    } else {
      changed |= a.target_mask();
      read |= a.control_mask;
    }
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < pass.actions.size(); ++k) {
    if (!gone[k]) pass.actions[kept++] = pass.actions[k];
  }
  pass.actions.resize(kept);
  if (!at_start) std::reverse(taken.begin(), taken.end());
  return taken;
}

}  // namespace

std::uint32_t place_of(std::uint64_t slot_index, bool is_double) {
  return (swizzle(static_cast<std::uint32_t>(slot_index >> kLowBits), is_double)
          << (kLowBits + 1)) |
         static_cast<std::uint32_t>(slot_index & (kRowLength - 1));
}

Movement take_movement(Pass& pass, const std::vector<PhaseTerm>& terms, bool is_double) {
  Movement m;
  const int k = static_cast<int>(pass.active.size());
  const int row_bits = is_double ? Address<double>::kRowBits : Address<float>::kRowBits;
  while (m.load_bits < std::min(k, row_bits) && pass.active[m.load_bits] == m.load_bits)
    ++m.load_bits;
  for (int s = 0; s < k; ++s) m.source[pass.dest[s]] = pass.active[s];
  for (int p = 0; p < m.load_bits; ++p) m.low_stays &= m.source[p] == p;
  const std::uint64_t low = low_mask(m.load_bits);

  // A low control over a row bit makes an output chunk come from several rows: only where it does
  // already. A load keeps its chunks together.
  std::uint64_t row_positions = 0;
  for (int s = kLowBits; s < k; ++s) row_positions |= bit(pass.active[s]);
  m.last = take_flips(pass, terms, false, [&](const FreeFlip& f) {
    return !m.low_stays || !(f.control & low) || !(f.target & row_positions);
  });
  m.first = take_flips(pass, terms, true,
                       [&](const FreeFlip& f) { return !((f.control | f.target) & low); });
  return m;
}

Addressing make_addressing(const Pass& pass, const Movement& m, bool is_double) {
  const auto in_memory = [&](std::uint64_t index) {
    return is_double ? Address<double>::of(index) : Address<float>::of(index);
  };
  static std::atomic<std::uint64_t> last_number{0};
  Addressing a;
  a.number = ++last_number;
  const int k = a.num_slots = static_cast<int>(pass.active.size());
  a.load_bits = m.load_bits;
  const std::uint64_t low = low_mask(a.load_bits);

  const auto slots_of = [&](std::uint64_t index) {
    std::uint64_t slots = 0;
    for (int s = 0; s < k; ++s) slots |= (index >> pass.active[s] & 1) << s;
    return slots;
  };
  const auto load_place = [&](std::uint64_t index) {  // where the amplitude of `index` goes
    for (const FreeFlip& f : m.first) index = f(index);
    return place_of(slots_of(index), is_double);
  };
  const auto store_place = [&](std::uint64_t index) {  // where the amplitude for `index` is
    const std::uint64_t moved = index ^ pass.store_flips;
    std::uint64_t before = moved;
    for (int p : pass.active) before &= ~bit(p);
    for (int p : pass.active) before |= (moved >> p & 1) << m.source[p];
    for (auto f = m.last.rbegin(); f != m.last.rend(); ++f) before = (*f)(before);
    return place_of(slots_of(before), is_double);
  };
  std::uint64_t outside = 0;
  for (const FreeFlip& f : m.first) outside |= f.control;
  for (const FreeFlip& f : m.last) outside |= f.control;
  for (int p : pass.active) outside &= ~bit(p);
  const std::uint32_t load_zero = load_place(0), store_zero = store_place(0);
  for_each_bit(outside, [&](int p) {
    const std::uint32_t load = load_place(bit(p)) ^ load_zero;
    const std::uint32_t store = store_place(bit(p)) ^ store_zero;
    if (load) a.load_outside.push_back({bit(p), load});
    if (store) a.store_outside.push_back({bit(p), store});
  });

  a.low_zero = pass.known_zero_before & low;
  // Places and offsets are XOR-linear, but for their first: every position doubles the lists.
  const auto append = [](auto& list, auto column) {
    for (std::size_t c = 0, count = list.size(); c < count; ++c) list.push_back(list[c] ^ column);
  };
  a.load_offset.push_back(0);
  a.load_place.push_back(load_zero);
  a.load_zero.push_back(false);
  for (int s = a.load_bits; s < k; ++s) {
    const std::uint64_t position = bit(pass.active[s]);
    append(a.load_offset, in_memory(position));
    append(a.load_place, load_place(position) ^ load_zero);
    const bool zero = pass.known_zero_before & position;
    for (std::size_t c = 0, count = a.load_zero.size(); c < count; ++c)
      a.load_zero.push_back(a.load_zero[c] || zero);
  }
  // Output chunks whose sources lie beside each other in rows of the tile follow each other: a
  // gather finds its lines in the first-level cache then.
  std::vector<int> order(pass.active.begin() + a.load_bits, pass.active.end());
  std::stable_partition(order.begin(), order.end(),
                        [&](int p) { return (store_place(bit(p)) ^ store_zero) < kRowLength; });
  a.store_offset.push_back(0);
  a.store_place.push_back(store_zero);
  for (const int p : order) {
    append(a.store_offset, in_memory(bit(p)));
    append(a.store_place, store_place(bit(p)) ^ store_zero);
  }
  bool straight = true;
  for (std::uint32_t x = 0; x < low + 1; ++x) {
    const std::uint32_t place = store_place(x) ^ store_zero;
    a.inside.push_back(static_cast<std::int32_t>(place));
    straight &= place == x;
  }
  for (std::uint32_t place : a.store_place) straight &= !(place & low);
  for (const auto& [bit, adds] : a.store_outside) straight &= !(adds & low);
  a.store = straight ? Addressing::Store::kStraight : Addressing::Store::kGather;
  return a;
}

}  // namespace tilewave::statevec::cpu
