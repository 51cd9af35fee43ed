// Where every slot is in each phase: address columns in shared memory without bank conflicts, and
// the order of register and thread bits.
#include <algorithm>
#include <bit>
#include <bitset>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/program.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile::detail {

namespace {

/// Picks `count` of the slots whose vectors over GF(2) are independent, the first ones if they are;
/// empty when there are too few.
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

/// The machine code of an operation on register bits.
struct CodeUse {
  OpKind kind;
  std::uint32_t targets;  ///< slots
};
using Codes = std::bitset<kNumOpCodes>;

/// Bytes of code that the operations need beyond `used`, which they become part of.
int added_code(const std::vector<CodeUse>& uses, const std::vector<int>& register_slot,
               Codes& used) {
  int bytes = 0;
  for (const CodeUse& use : uses) {
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < register_slot.size(); ++b)
      bits |= (use.targets >> register_slot[b] & 1) << b;
    const auto high = static_cast<std::uint32_t>(std::bit_width(bits) - 1),
               low = static_cast<std::uint32_t>(std::countr_zero(bits));
    const std::uint32_t code = use.kind == OpKind::kMatrix2
                                   ? kFactored2 + high * (high - 1) / 2 + low
                               : use.kind == OpKind::kMatrix1 ? kMatrix1 + low
                               : use.kind == OpKind::kRotate  ? kRotate + low
                               : use.kind == OpKind::kFlip    ? kFlip + low
                                                              : kPhase + low;
    if (!used[code]) bytes += code_bytes(code);
    used[code] = true;
  }
  return bytes;
}

/// Orders register bits (but for the highest one, if it is kept) so that operations act on bits for
/// which their code runs already: what a pass runs should fit the instruction cache.
void reuse_code(const std::vector<CodeUse>& uses, bool keeps_highest,
                std::vector<int>& register_slot, Codes& used) {
  std::vector<int> order = register_slot;
  const auto end = order.end() - keeps_highest;
  std::sort(order.begin(), end);
  Codes all = used;
  int fewest = added_code(uses, register_slot, all);
  Codes best = all;
  do {
    all = used;
    const int bytes = added_code(uses, order, all);
    if (bytes < fewest) fewest = bytes, best = all, register_slot = order;
  } while (std::next_permutation(order.begin(), end));
  used = best;
}

}  // namespace

std::vector<SlotLayout> lay_out(const SlotPass& pass, const std::vector<Phase>& phases,
                                const Shape& shape, const Arrival& arrival) {
  const int k = shape.tile_qubits;
  const int banks = shape.precision == Precision::kDouble ? 3 : 4;  // bits: 128 bytes of amplitudes
  TW_CHECK(shape.row_bits <= banks, "rows of more than 128 bytes");
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

  // The slots of the block in memory, in order; those of the first `banks` bits of the address are
  // lanes where a tile arrives in shared memory.
  const auto address_bit = [&](int s) { return s - (s > slot_of_block(0)); };
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
      vector[s] =
          address_bit(s) < banks ? 1u << address_bit(s) : 1 + random() % ((1u << banks) - 1);
    }
    bool free_of_conflicts = true;
    for (std::size_t f = 0; f < phases.size(); ++f) {
      if (crossed(f)) {
        lanes[f] = lanes[f - 1];
        continue;
      }
      std::uint32_t now[kMaxTileQubits];
      for (int s = 0; s < k; ++s) now[s] = sum(vector, basis[f].slot[s]);
      const bool first = f == 0 && !arrival.through_shared,
                 last = f + 1 == phases.size() || (f + 2 == phases.size() && crossed(f + 1));
      const std::vector<int> rows = first  ? arrival.rows
                                    : last ? arrival.last_rows
                                           : std::vector<int>{};
      std::vector<int> threads = rows;
      for (int s = 0; s < k; ++s) {
        const bool is_row = std::find(rows.begin(), rows.end(), s) != rows.end();
        if (!is_row && !((phases[f].registers | phases[f].block) >> s & 1)) threads.push_back(s);
      }
      lanes[f] = independent(threads, now, banks);
      if (lanes[f].empty() || !std::equal(rows.begin(), rows.end(), lanes[f].begin())) {
        free_of_conflicts = false;
        lanes[f] = rows;
      }
    }
    if (free_of_conflicts) break;
  }
  const std::uint32_t bytes = static_cast<std::uint32_t>(amplitude_bytes(shape.precision));
  std::uint32_t column[kMaxTileQubits];
  for (int s = 0; s < k; ++s) {
    const std::uint32_t own = address_bit(s) < banks ? 0 : 1u << address_bit(s);
    column[s] = (own | vector[s]) * bytes;
  }

  std::vector<SlotLayout> layouts;
  Codes codes;
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
      std::vector<CodeUse> uses;
      bool matrices = false;  // faster on high bits
      for (std::size_t g = f; g == f || (g == f + 1 && crossed(g)); ++g) {
        for (const Item& item : phases[g].items) {
          if (item.op < 0) continue;
          const SlotOp& op = pass.ops[static_cast<std::size_t>(item.op)];
          mixed.push_back(op.register_mask & phases[f].registers);
          const bool is_pair = op.kind == OpKind::kMatrix2;
          matrices = matrices || is_pair;
          if (is_pair && mixed.back() && mixed.back() == op.register_mask)
            uses.push_back({op.kind, op.register_mask});
        }
      }
      std::uint32_t idle = phases[f].registers;
      for (std::uint32_t slots : mixed) idle &= ~slots;
      if (!matrices) for_each_bit(idle, place);
      for (std::uint32_t slots : mixed) for_each_bit(slots, place);
      for_each_bit(idle, place);
      std::reverse(layout.register_slot.begin(), layout.register_slot.end());
      if (!uses.empty()) reuse_code(uses, crossed(f + 1), layout.register_slot, codes);
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
