// Where every slot is in each phase: address columns in shared memory without bank conflicts, and
// the order of register and thread bits.
#include <algorithm>
#include <bit>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile::detail {

namespace {

/// Picks `count` of the slots whose vectors over GF(2) are independent; empty when there are too
/// few.
std::vector<int> independent(const std::vector<int>& slots, const std::uint32_t* vector,
                             int count) {
  std::vector<int> picked;
  std::uint32_t basis[8] = {};
  for (int s : slots) {
    std::uint32_t v = vector[s];
    for (int b = 7; b >= 0; --b) {
      if (!(v >> b & 1)) continue;
      if (basis[b]) {
        v ^= basis[b];
      } else {
        basis[b] = v;
        picked.push_back(s);
        break;
      }
    }
    if (static_cast<int>(picked.size()) == count) return picked;
  }
  return {};
}

}  // namespace

std::vector<SlotLayout> lay_out(const SlotPass& pass, const std::vector<Phase>& phases,
                                const Shape& shape, const std::vector<int>& first_lanes,
                                const std::vector<int>& last_lanes) {
  const int k = shape.tile_qubits, q = shape.row_bits;
  const int banks = shape.precision == Precision::kDouble ? 3 : 4;  // bits: 128 bytes of amplitudes
  // basis[f][s]: the slots at the load whose columns sum to the column of slot s in phase f. X on t
  // under c is a map M; addresses stay, so columns are multiplied by M^-1 = M: c takes along t.
  struct Basis {
    std::uint32_t slot[kMaxTileQubits]{}, constant = 0;
    std::vector<std::uint32_t> tile;
  };
  std::vector<Basis> basis(phases.size());
  const auto slot_of_block = [&](std::size_t f) {
    return phases[f].block ? std::countr_zero(phases[f].block) : kMaxTileQubits;
  };
  const auto crossed = [&](std::size_t f) {
    return f > 0 && f < phases.size() && phases[f].block != phases[f - 1].block;
  };
  for (int s = 0; s < k; ++s) basis[0].slot[s] = s == slot_of_block(0) ? 0 : 1u << s;
  basis[0].tile.resize(pass.tile_position.size());
  for (std::size_t f = 1; f < phases.size(); ++f) {
    basis[f] = basis[f - 1];
    if (crossed(f)) std::swap(basis[f].slot[slot_of_block(f)], basis[f].slot[slot_of_block(f - 1)]);
    for (std::int32_t index : phases[f - 1].maps) {
      const SlotOp& op = pass.ops[static_cast<std::size_t>(index)];
      const std::uint32_t target = basis[f].slot[op.targets[0]];
      for_each_bit(op.control_mask, [&](int c) {
        (c == slot_of_block(f) ? basis[f].tile[0] : basis[f].slot[c]) ^= target;
      });
      for_each_bit(op.tile_mask,
                   [&](int c) { basis[f].tile[static_cast<std::size_t>(c)] ^= target; });
      const bool wants_one = (op.control_mask | op.tile_mask) != 0 &&
                             op.control_value == op.control_mask && op.tile_value == op.tile_mask;
      if (!wants_one) basis[f].constant ^= target;
    }
  }

  std::vector<std::vector<int>> lanes(phases.size());
  std::uint32_t vector[kMaxTileQubits] = {};
  const auto sum = [&](const std::uint32_t* of, std::uint32_t slots) {
    std::uint32_t total = 0;
    for_each_bit(slots, [&](int s) { total ^= of[s]; });
    return total;
  };
  std::mt19937 random(1);
  // Slots below `banks` keep their own address bit; the others get a vector that is XORed into the
  // bank.
  for (int attempt = 0; attempt < 200; ++attempt) {
    for (int s = 0; s < k; ++s) {
      vector[s] = s < banks ? 1u << s : 1 + random() % ((1u << banks) - 1);
    }
    bool free_of_conflicts = true;
    for (std::size_t f = 0; f < phases.size(); ++f) {
      std::uint32_t now[kMaxTileQubits];
      for (int s = 0; s < k; ++s) now[s] = sum(vector, basis[f].slot[s]);
      std::vector<int> threads;
      const bool first = f == 0,
                 last = f + 1 == phases.size() || (f + 2 == phases.size() && crossed(f + 1));
      if (crossed(f)) {
        lanes[f] = lanes[f - 1];
        continue;
      }
      if (first || last) {
        threads = first ? first_lanes : last_lanes;
        lanes[f] = independent(threads, now, std::min(q, banks));
      } else {
        for (int s = 0; s < k; ++s) {
          if (!((phases[f].registers | phases[f].block) >> s & 1)) threads.push_back(s);
        }
        lanes[f] = independent(threads, now, banks);
      }
      if (lanes[f].empty()) {
        free_of_conflicts = false;
        lanes[f] = first ? first_lanes : last ? last_lanes : std::vector<int>{};
      }
    }
    if (free_of_conflicts) break;
  }
  const std::uint32_t bytes = static_cast<std::uint32_t>(amplitude_bytes(shape.precision));
  std::uint32_t column[kMaxTileQubits];
  for (int s = 0; s < k; ++s) {
    const std::uint32_t own = 1u << s >> (s > slot_of_block(0));  // its bit in the address
    column[s] = ((s < banks ? 0 : own) | vector[s]) * bytes;
  }

  std::vector<SlotLayout> layouts;
  for (std::size_t f = 0; f < phases.size(); ++f) {
    SlotLayout layout;
    for (int s = 0; s < k; ++s) layout.column[s] = sum(column, basis[f].slot[s]);
    layout.constant = sum(column, basis[f].constant);
    for (std::uint32_t slots : basis[f].tile) layout.tile_column.push_back(sum(column, slots));
    layout.register_mask = phases[f].registers;
    layout.thread_slot = lanes[f];
    layout.block_slot = phases[f].block ? slot_of_block(f) : -1;
    // Register bits with the last used first, and on top those that are not mixed: phases are tied
    // to bits done before, and pairs with higher register bits are cheaper. A crossing keeps all
    // but the highest bit.
    std::uint32_t placed = 0;
    const auto place = [&](int s) {
      if (!(placed >> s & 1)) layout.register_slot.push_back(s);
      placed |= 1u << s;
    };
    if (crossed(f)) {
      layout.register_slot = layouts.back().register_slot;
      layout.register_slot.back() = slot_of_block(f - 1);
    } else {
      if (crossed(f + 1)) place(slot_of_block(f + 1));
      std::vector<std::uint32_t> mixed;  // one operation after the other
      bool matrices = false;             // faster on high bits
      for (std::size_t g = f; g == f || (g == f + 1 && crossed(g)); ++g) {
        for (const Item& item : phases[g].items) {
          if (item.op < 0) continue;
          mixed.push_back(pass.ops[static_cast<std::size_t>(item.op)].register_mask &
                          phases[f].registers);
          matrices =
              matrices || pass.ops[static_cast<std::size_t>(item.op)].kind == OpKind::kMatrix2;
        }
      }
      std::uint32_t idle = phases[f].registers;
      for (std::uint32_t slots : mixed) idle &= ~slots;
      if (!matrices) for_each_bit(idle, place);
      for (std::uint32_t slots : mixed) for_each_bit(slots, place);
      for_each_bit(idle, place);
      std::reverse(layout.register_slot.begin(), layout.register_slot.end());
    }
    for (int s = 0; s < k; ++s) {
      const auto& taken = layout.thread_slot;
      if (!((phases[f].registers | phases[f].block) >> s & 1) &&
          std::find(taken.begin(), taken.end(), s) == taken.end()) {
        layout.thread_slot.push_back(s);
      }
    }
    for (std::size_t b = 0; b < layout.register_slot.size(); ++b) {
      layout.bit_of[layout.register_slot[b]] = static_cast<int>(b);
    }
    for (std::size_t b = 0; b < layout.thread_slot.size(); ++b) {
      layout.bit_of[layout.thread_slot[b]] = 16 + static_cast<int>(b);
    }
    if (layout.block_slot >= 0) layout.bit_of[layout.block_slot] = kBlockBit;
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace tilewave::statevec::tile::detail
