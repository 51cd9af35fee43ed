// From a pass on slots (slots.cc) to its phases: which slots are register bits when, and in which
// order the actions run. Greedy with look-ahead: a phase takes the register set under which the
// most work can run before an exchange, grown by the targets of one ready action at a time. An
// action may run before an earlier one that is put off when they share no bit, or only bits on
// which both are diagonal.
#include <algorithm>
#include <bit>
#include <random>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile::detail {

namespace {

constexpr std::size_t kWindow = 384;  ///< items a phase may look ahead

int weight_of(OpKind kind) {
  return kind == OpKind::kMatrix2 ? 6 : kind == OpKind::kMatrix1 ? 3 : 2;
}

/// Walks the open items in order and finds those that can run while `registers` are register bits.
class Walk {
 public:
  Walk(const SlotPass& pass, std::uint32_t registers, std::uint32_t block)
      : pass_(pass), registers_(registers), block_(block) {}

  /// True when the item can run now; otherwise what it blocks is remembered.
  bool take(const Item& item) {
    if (item.op < 0) {
      const SlotTerm& term = pass_.terms[static_cast<std::size_t>(item.term)];
      if (!(term.slots & (mixed_ | mapped_))) return true;
      diagonal_ |= term.slots;
      return false;
    }
    const SlotOp& op = pass_.ops[static_cast<std::size_t>(item.op)];
    ready_ = !(op.target_mask & (mixed_ | diagonal_ | block_)) && !(op.control_mask & mixed_);
    if (op.folds) {
      if (ready_) {
        mapped_ |= op.target_mask;
        map_controls_ |= op.control_mask;
        return true;
      }
    } else {
      ready_ =
          ready_ && !(op.target_mask & (mapped_ | map_controls_)) && !(op.control_mask & mapped_);
      if (ready_ && !(op.register_mask & ~registers_)) return true;
    }
    mixed_ |= op.target_mask;
    diagonal_ |= op.control_mask;
    return false;
  }
  /// The last operation refused by take() lacked only register bits.
  bool ready() const { return ready_; }
  /// Nothing on the register bits can run any more.
  bool exhausted() const {
    return registers_ && !(registers_ & ~(mixed_ | mapped_ | map_controls_));
  }

 private:
  const SlotPass& pass_;
  std::uint32_t registers_, block_;
  std::uint32_t mixed_ = 0, diagonal_ = 0;       ///< slots of items put off
  std::uint32_t mapped_ = 0, map_controls_ = 0;  ///< slots of affine operations taken
  bool ready_ = false;
};

int work_under(const SlotPass& pass, const std::vector<Item>& open, std::uint32_t registers,
               std::uint32_t block) {
  Walk walk(pass, registers, block);
  int work = 0;
  const std::size_t end = std::min(open.size(), kWindow);
  for (std::size_t i = 0; i < end && !walk.exhausted(); ++i) {
    if (walk.take(open[i]) && open[i].op >= 0) {
      work += weight_of(pass.ops[static_cast<std::size_t>(open[i].op)].kind);
    }
  }
  return work;
}

/// Register sets that ready operations ask for beyond `registers`, in order, without repetition.
std::vector<std::uint32_t> wanted(const SlotPass& pass, const std::vector<Item>& open,
                                  std::uint32_t registers, std::uint32_t block,
                                  std::uint32_t allowed, int room) {
  std::vector<std::uint32_t> sets;
  Walk walk(pass, registers, block);
  const std::size_t end = std::min(open.size(), kWindow);
  for (std::size_t i = 0; i < end; ++i) {
    if (walk.take(open[i]) || open[i].op < 0 || !walk.ready()) continue;
    const std::uint32_t more =
        pass.ops[static_cast<std::size_t>(open[i].op)].register_mask & ~registers;
    if ((more & ~allowed) || std::popcount(more) > room) continue;
    if (std::find(sets.begin(), sets.end(), more) == sets.end()) sets.push_back(more);
  }
  return sets;
}

/// `chosen`: those that must be among them.
std::uint32_t choose_registers(const SlotPass& pass, const std::vector<Item>& open,
                               std::uint32_t chosen, std::uint32_t block, std::uint32_t allowed,
                               std::uint32_t fill_first, std::uint32_t fill_next, int num_registers,
                               std::mt19937* noise) {
  int done = work_under(pass, open, chosen, block);
  while (std::popcount(chosen) < num_registers) {
    std::uint32_t best = 0;
    double best_gain = 0;
    int best_work = done;
    for (std::uint32_t more :
         wanted(pass, open, chosen, block, allowed, num_registers - std::popcount(chosen))) {
      const int work = work_under(pass, open, chosen | more, block);
      const double luck = noise ? 1 + static_cast<double>((*noise)()) * 0x1p-32 : 1;
      const double gain = luck * static_cast<double>(work - done) / std::popcount(more);
      if (gain > best_gain) {
        best_gain = gain;
        best = more;
        best_work = work;
      }
    }
    if (!best) break;
    chosen |= best;
    done = best_work;
  }
  for (std::uint32_t from : {fill_first, fill_next, allowed}) {
    for (std::uint32_t rest = from & allowed & ~chosen;
         rest && std::popcount(chosen) < num_registers; rest &= rest - 1) {
      chosen |= rest & (~rest + 1);
    }
  }
  return chosen;
}

/// Orders the items of a phase in rounds: all phases that wait for nothing, all operations that
/// wait for nothing more, and so on, so that many terms are written at once.
void order_in_rounds(const SlotPass& pass, std::vector<Item>& items) {
  struct Keyed {
    int round;
    Item item;
  };
  std::vector<Keyed> keyed;
  int target_round[kMaxTileQubits] = {}, read_round[kMaxTileQubits] = {};
  for (const Item& item : items) {
    if (item.op < 0) {
      int round = 0;
      const std::uint32_t slots = pass.terms[static_cast<std::size_t>(item.term)].slots;
      for_each_bit(slots, [&](int s) { round = std::max(round, target_round[s]); });
      for_each_bit(slots, [&](int s) { read_round[s] = std::max(read_round[s], round); });
      keyed.push_back({2 * round + 1, item});
      continue;
    }
    const SlotOp& op = pass.ops[static_cast<std::size_t>(item.op)];
    int round = 0;
    for_each_bit(op.target_mask, [&](int s) {
      round = std::max({round, target_round[s], read_round[s]});
    });
    for_each_bit(op.control_mask, [&](int s) { round = std::max(round, target_round[s]); });
    ++round;
    for_each_bit(op.target_mask, [&](int s) { target_round[s] = round; });
    for_each_bit(op.control_mask, [&](int s) { read_round[s] = std::max(read_round[s], round); });
    keyed.push_back({2 * round, item});
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const Keyed& a, const Keyed& b) { return a.round < b.round; });
  // Inside a round of operations: by slot of first use in the phase, so that register bits ascend.
  std::uint32_t used = 0;
  int rank[kMaxTileQubits] = {}, next = 0;
  for (const Keyed& k : keyed) {
    if (k.item.op < 0) continue;
    for_each_bit(pass.ops[static_cast<std::size_t>(k.item.op)].register_mask, [&](int s) {
      if (!(used >> s & 1)) rank[s] = next++;
      used |= 1u << s;
    });
  }
  const auto rank_of = [&](const Item& item) {
    const SlotOp& op = pass.ops[static_cast<std::size_t>(item.op)];
    return op.num_targets == 1 ? rank[op.targets[0]] : -1;
  };
  for (std::size_t first = 0; first < keyed.size();) {
    std::size_t last = first;
    while (last < keyed.size() && keyed[last].round == keyed[first].round) ++last;
    if (keyed[first].item.op >= 0) {
      std::stable_sort(
          keyed.begin() + static_cast<std::ptrdiff_t>(first),
          keyed.begin() + static_cast<std::ptrdiff_t>(last),
          [&](const Keyed& a, const Keyed& b) { return rank_of(a.item) < rank_of(b.item); });
    }
    first = last;
  }
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = keyed[i].item;
}

/// Chooses the phases of a pass one after the other.
class Scheduler {
 public:
  Scheduler(const SlotPass& pass, const Shape& shape, const Arrival& arrival, std::uint32_t seed)
      : pass_(pass),
        num_registers_(shape.register_bits),
        all_(static_cast<std::uint32_t>(low_mask(shape.tile_qubits))),
        rows_(mask_of(arrival.rows)),
        first_lanes_(arrival.through_shared ? 0 : rows_),
        last_lanes_(mask_of(arrival.last_rows)),
        random_(seed),
        noise_(seed ? &random_ : nullptr),
        open_(pass.items) {
    if (shape.block_bits) block_ = first_block(seed);
    if (arrival.maps) take_first_maps();
  }

  std::vector<Phase> run() {
    while (!open_.empty() || phases_.empty()) {
      if (block_ && !phases_.empty() && !goes_on()) {
        cross();
        continue;
      }
      const std::uint32_t allowed = (phases_.empty() ? all_ & ~first_lanes_ : all_) & ~block_;
      const std::uint32_t before = phases_.empty() ? 0 : phases_.back().registers;
      const std::size_t left = open_.size();
      add(choose_registers(pass_, open_, 0, block_, allowed, before & ~last_lanes_,
                           all_ & ~last_lanes_, num_registers_, noise_));
      if (open_.size() < left || phases_.size() == 1) continue;
      TW_CHECK(block_, "a phase without work");
      phases_.pop_back();  // what could run is far away
      cross();
    }
    if (block_ & last_lanes_) cross();
    // The store wants its rows as lanes, and every map done.
    std::size_t first = phases_.size() - 1;  // of those since the last exchange
    std::uint32_t used = phases_[first].registers;
    while (first > 0 && phases_[first].block != phases_[first - 1].block) {
      used |= phases_[--first].registers;
    }
    if ((used & last_lanes_) || !phases_.back().maps.empty() ||
        (first == 0 && first_lanes_ && first_lanes_ != last_lanes_)) {
      add(choose_registers(pass_, {}, 0, block_, all_ & ~last_lanes_ & ~block_,
                           phases_.back().registers, all_, num_registers_, nullptr));
    }
    if (!before_.maps.empty()) phases_.insert(phases_.begin(), std::move(before_));
    return std::move(phases_);
  }

 private:
  static std::uint32_t mask_of(const std::vector<int>& slots) {
    std::uint32_t mask = 0;
    for (int s : slots) mask |= 1u << s;
    return mask;
  }

  /// Maps that nothing must come before, with the terms in front of them.
  void take_first_maps() {
    Phase phase;
    phase.block = block_;
    Walk walk(pass_, 0, block_);
    std::vector<Item> later;
    for (const Item& item : open_) {
      if (!walk.take(item)) {
        later.push_back(item);
      } else if (item.op < 0) {
        phase.items.push_back(item);
      } else if (op(item).folds) {
        phase.maps.push_back(item.op);
      } else {
        return;  // a matrix through shared memory needs no registers either
      }
    }
    if (phase.maps.empty()) return;
    before_ = std::move(phase);
    open_.swap(later);
  }

  /// A phase with what can run under these registers.
  void add(std::uint32_t registers) {
    Phase phase;
    phase.registers = registers;
    phase.block = block_;
    Walk walk(pass_, registers, block_);
    std::vector<Item> later;
    for (const Item& item : open_) {
      if (!walk.take(item)) {
        later.push_back(item);
      } else if (item.op >= 0 && op(item).folds) {
        phase.maps.push_back(item.op);
      } else {
        phase.items.push_back(item);
      }
    }
    open_.swap(later);
    order_in_rounds(pass_, phase.items);
    phases_.push_back(std::move(phase));
  }

  const SlotOp& op(const Item& item) const { return pass_.ops[static_cast<std::size_t>(item.op)]; }

  /// Slots that open operations mix, those aside that could run if all other slots than `block`
  /// were register bits; `any`: whether there are such items.
  std::uint32_t mixed_beyond(std::uint32_t block, bool* any = nullptr) const {
    Walk walk(pass_, all_ & ~block, block);
    std::uint32_t mixed = 0;
    for (const Item& item : open_) {
      const bool runs = walk.take(item);
      if (any) *any = *any || runs;
      if (!runs && item.op >= 0) mixed |= op(item).target_mask;
    }
    return mixed;
  }
  bool goes_on() const {
    bool any = false;
    mixed_beyond(block_, &any);
    return any;
  }

  /// The slot of the block at the load: one that needs no crossing, or one crossing, with as much
  /// work as possible before it. The others have their turn with other seeds.
  std::uint32_t first_block(std::uint32_t seed) const {
    struct Choice {
      int crossings, work;
      std::uint32_t slot;
    };
    std::vector<Choice> choices;
    for_each_bit(all_ & ~rows_, [&](int s) {
      const std::uint32_t slot = 1u << s, mixed = mixed_beyond(slot);
      const bool stays = !mixed && !(slot & last_lanes_);
      const bool once = (all_ & ~(mixed | slot | last_lanes_)) != 0;
      choices.push_back({stays  ? 0
                         : once ? 1
                                : 2,
                         work_under(pass_, open_, all_ & ~slot, slot), slot});
    });
    std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return a.crossings != b.crossings ? a.crossings < b.crossings : a.work > b.work;
    });
    const auto as_good = std::count_if(choices.begin(), choices.end(), [&](const Choice& c) {
      return c.crossings == choices[0].crossings;
    });
    return choices[seed % static_cast<std::size_t>(as_good)].slot;
  }

  /// Gives the slot of the block the place of a register bit, best of one that nothing mixes any
  /// more. Where the last phase has none to give, an exchange brings it.
  void cross() {
    std::uint32_t mixed = 0, next = 0;  // targets of all that is open, and of the first
    for (const Item& item : open_) {
      if (item.op < 0) continue;
      if (!next) next = op(item).target_mask;
      mixed |= op(item).target_mask;
    }
    const Phase& last = phases_.back();
    const bool came_by_crossing =
        phases_.size() > 1 && last.block != phases_[phases_.size() - 2].block;
    const std::uint32_t before = block_;
    const auto registers_with = [&](std::uint32_t slot) {
      return (last.registers & ~slot) | before;
    };
    std::uint32_t best = 0;
    int best_work = -1;
    if (!came_by_crossing && last.maps.empty()) {
      for_each_bit(last.registers & ~(mixed | last_lanes_), [&](int s) {
        const std::uint32_t slot = 1u << s;
        const int work = work_under(pass_, open_, registers_with(slot), slot);
        if (work > best_work) best_work = work, best = slot;
      });
    }
    std::uint32_t after = registers_with(best);
    if (!best) {
      const std::uint32_t others = all_ & ~before;
      for (std::uint32_t from : {others & ~(mixed | last_lanes_), others & ~mixed,
                                 others & ~(next | last_lanes_), others & ~next}) {
        if (!best) best = from & (~from + 1);
      }
      TW_CHECK(best, "no slot can change places with that of the block");
      after = choose_registers(pass_, open_, before, best, all_ & ~best, all_ & ~last_lanes_, all_,
                               num_registers_, noise_);
      add((after & ~before) | best);
    }
    block_ = best;
    add(after);
  }

  const SlotPass& pass_;
  const int num_registers_;
  const std::uint32_t all_;
  const std::uint32_t rows_;                      ///< of the load
  const std::uint32_t first_lanes_, last_lanes_;  ///< no register bits then
  std::mt19937 random_;
  std::mt19937* const noise_;
  std::vector<Item> open_;
  std::vector<Phase> phases_;
  Phase before_;
  std::uint32_t block_ = 0;
};

}  // namespace

std::vector<Phase> schedule_phases(const SlotPass& pass, const Shape& shape, const Arrival& arrival,
                                   std::uint32_t seed) {
  return Scheduler(pass, shape, arrival, seed).run();
}

}  // namespace tilewave::statevec::tile::detail
