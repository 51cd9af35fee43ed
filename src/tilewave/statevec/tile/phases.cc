// Phase terms to operations. The pool splits by the set S of register bits a term needs, and each S
// has one factor W_S(thread, tile); those on one bit take along the lift that follows. A flush
// emits the terms that touch a slot about to be mixed; phase_table.cc writes those that are cheaper
// as one table.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

namespace {

constexpr std::uint32_t kLaneMask = (1u << kLaneBits) - 1;

FactorClass class_of(const std::vector<LocalTerm>& terms) {
  FactorClass kind = FactorClass::kConstant;
  for (const LocalTerm& t : terms) {
    if (!t.thread && !t.tile) continue;
    const bool warp_only = !t.tile && !(t.thread & kLaneMask);
    const bool tile_bit = !t.thread && std::popcount(t.tile) == 1;
    const bool lane_only = !t.tile && !(t.thread & ~kLaneMask);
    kind = std::max(kind, warp_only || tile_bit ? FactorClass::kScalar
                          : lane_only           ? FactorClass::kLinear
                                                : FactorClass::kGeneral);
  }
  return kind;
}

}  // namespace

void add_term(std::vector<SlotTerm>& terms, const SlotTerm& term) {
  const auto same = std::find_if(terms.begin(), terms.end(), [&](const SlotTerm& t) {
    return t.slots == term.slots && t.tile == term.tile;
  });
  if (same == terms.end()) {
    if (!is_rounding(term.turns)) terms.push_back(term);
    return;
  }
  same->turns += term.turns;
  if (is_rounding(same->turns)) terms.erase(same);
}

/// Adds a term to those that wait.
void Emitter::wait(const SlotTerm& term) {
  const auto same = std::find_if(pool_.begin(), pool_.end(), [&](const SlotTerm& t) {
    return t.slots == term.slots && t.tile == term.tile;
  });
  if (same == pool_.end()) {
    pool_.push_back(term);
  } else if ((same->turns += term.turns) == 0) {
    pool_.erase(same);
  }
}

/// Lane factors: a product of two tables unless a term ties bits of both.
void Emitter::put_lanes(OpHead& head, const std::vector<LocalTerm>& terms, double magnitude,
                        std::vector<std::byte>& lane_factors) const {
  constexpr std::uint32_t kLow = (1u << kLaneSplit) - 1;
  const bool whole = std::any_of(terms.begin(), terms.end(), [](const LocalTerm& t) {
    return (t.thread & kLow) && (t.thread & ~kLow);
  });
  const auto put_table = [&](std::uint32_t bits, double scale) {
    const std::uint32_t step = bits & (~bits + 1);
    for (std::uint32_t lane = 0; lane <= bits; lane += step) {
      std::uint64_t turns = 0;
      for (const LocalTerm& t : terms) {
        const bool is_own = !(t.thread & ~bits);
        turns += is_own && (lane & t.thread) == t.thread ? t.turns : 0;
      }
      put(lane_factors, scale * factor_of(turns));
    }
  };
  if (whole) {
    head.word |= OpWord::index(kWholeLanes);
    put_table(kLaneMask, magnitude);
    put(lane_factors, cplx(1));
  } else {
    put_table(kLow, magnitude);
    put_table(kLaneMask & ~kLow, 1);
  }
  pad16(lane_factors);
}

std::vector<std::byte> Emitter::factor(OpHead& head, const std::vector<LocalTerm>& terms,
                                       double magnitude, std::vector<std::byte>& lane_factors) {
  std::vector<std::byte> payload;
  const FactorClass kind = class_of(terms);
  const auto holds = [](std::uint32_t value, std::uint32_t mask) { return (value & mask) == mask; };
  const std::size_t tile_bits = slots_.tile_position.size();
  if (kind == FactorClass::kConstant) {
    std::uint64_t turns = 0;
    for (const LocalTerm& t : terms) turns += t.turns;
    put(payload, magnitude * factor_of(turns));
  } else if (kind != FactorClass::kGeneral) {
    LinearEntry entry;
    entry.tile.resize(tile_bits);
    entry.warp.resize(static_cast<std::size_t>(shape_.num_warps()));
    std::vector<LocalTerm> of_lanes;
    for (const LocalTerm& t : terms) {
      if (t.tile) {
        entry.tile[static_cast<std::size_t>(std::countr_zero(t.tile))] += t.turns;
      } else if (t.thread & kLaneMask) {
        of_lanes.push_back(t);
      } else {
        for (std::uint32_t w = 0; w < entry.warp.size(); ++w) {
          entry.warp[w] += holds(w, t.thread >> kLaneBits) ? t.turns : 0;
        }
      }
    }
    head.word |= OpWord::index(linear_.size());
    if (kind == FactorClass::kLinear) put_lanes(head, of_lanes, magnitude, lane_factors);
    linear_.push_back(std::move(entry));
  } else {
    General entry;
    const auto rows = static_cast<std::size_t>(1 + shape_.thread_bits());
    entry.rows.resize(tile_bits * rows);
    std::vector<std::uint64_t> thread(static_cast<std::size_t>(shape_.num_threads()));
    std::vector<MixedTerm> mixed;
    bool threads = false;
    for (const LocalTerm& t : terms) {
      if (!t.tile) {
        threads = true;
        for (std::uint32_t i = 0; i < thread.size(); ++i)
          thread[i] += holds(i, t.thread) ? t.turns : 0;
      } else if (std::popcount(t.tile) == 1 && std::popcount(t.thread) <= 1) {
        const auto row = static_cast<std::size_t>(t.thread ? 1 + std::countr_zero(t.thread) : 0);
        entry.rows[static_cast<std::size_t>(std::countr_zero(t.tile)) * rows + row] += t.turns;
      } else if (!t.thread) {
        entry.tile_terms.push_back({0, t.tile, t.turns});
      } else {
        mixed.push_back({t.thread, t.tile, t.turns});
      }
    }
    if (threads) entry.entry.thread_table = place_array(thread);
    if (!mixed.empty()) entry.entry.mixed_first = place_array(mixed);
    entry.entry.mixed_count = static_cast<std::uint32_t>(mixed.size());
    OpHead make;
    make.word = OpWord::index(general_.size());
    emit(kGeneral, make, {}, {});
    general_.push_back(std::move(entry));
  }
  head.word |= OpWord::kind(static_cast<std::uint32_t>(kind));
  payload.resize(16);
  return payload;
}

/// Closes the chunk unless it can take another phase operation with its factor.
void Emitter::make_room(const std::vector<LocalTerm>& terms) {
  const FactorClass kind = class_of(terms);
  const auto amplitude = static_cast<std::size_t>(amplitude_bytes(shape_.precision));
  std::size_t bytes = sizeof(OpHead) + 32 + 4 * amplitude;  // with pairs
  bool full = false;
  if (kind == FactorClass::kGeneral) {
    bytes += sizeof(OpHead) +
             8 * slots_.tile_position.size() * static_cast<std::size_t>(1 + shape_.thread_bits());
    full = general_.size() + 1 > limits_.num_general;
  } else if (kind != FactorClass::kConstant) {
    bytes += kind == FactorClass::kLinear ? 34 * amplitude : 0;
    full = linear_.size() + 1 > limits_.num_linear;
  }
  if (full || chunk_bytes() + bytes > limits_.chunk_bytes) close_chunk();
}

void Emitter::emit_phase(std::uint32_t code, std::uint32_t set,
                         const std::vector<LocalTerm>& terms) {
  make_room(terms);
  OpHead head;
  head.pairs = set;
  std::vector<std::byte> lanes;
  std::vector<std::byte> payload = factor(head, terms, 1, lanes);
  append(payload, lanes.data(), lanes.size());
  pay(set == ~0u ? &OpCosts::phase_all : &OpCosts::phase_set);
  if (OpWord{head.word}.factor() == FactorClass::kGeneral) pay(&OpCosts::general);
  emit(code, head, {}, std::move(payload));
}

void Emitter::emit_tau(std::uint32_t code, int bit, double tau) {
  std::vector<std::byte> payload;
  put(payload, tau);
  pay(&OpCosts::tau);
  emit_bit(code + static_cast<std::uint32_t>(bit), {}, std::move(payload));
}

/// Multiplies the 1-half of a register slot by its magnitude.
void Emitter::reset_magnitude(int slot) {
  double& m = magnitude_[slot];
  if (m != 1) emit_tau(kTauReal, layout_->bit_of[slot], m);
  m = 1;
}

/// The phase of one register bit. A constant one costs two multiply-adds per amplitude: with the
/// larger part of W taken out as a real factor, one coefficient is left.
void Emitter::emit_bit_phase(int bit, const std::vector<LocalTerm>& terms,
                             const std::vector<std::uint64_t>& pairs) {
  double& magnitude = magnitude_[layout_->register_slot[static_cast<std::size_t>(bit)]];
  const bool constant = std::all_of(terms.begin(), terms.end(),
                                    [](const LocalTerm& t) { return !t.thread && !t.tile; });
  if (constant && pairs.empty()) {
    std::uint64_t turns = 0;
    for (const LocalTerm& t : terms) turns += t.turns;
    const cplx w = factor_of(turns);
    constexpr double kRounding = 4e-16;  // of half a turn
    if (std::abs(w.real()) >= std::abs(w.imag())) {
      magnitude *= w.real();
      const double tau = w.imag() / w.real();
      if (std::abs(tau) > kRounding) emit_tau(kTauOne, bit, tau);
    } else {
      magnitude *= w.imag();
      emit_tau(kTauI, bit, w.real() / w.imag());
    }
    return;
  }
  make_room(terms);
  OpHead head;
  std::vector<std::byte> lanes;
  std::vector<std::byte> payload = factor(head, terms, magnitude, lanes);
  const auto kind = OpWord{head.word}.factor();
  if (kind == FactorClass::kConstant || kind == FactorClass::kLinear) magnitude = 1;
  if (kind == FactorClass::kGeneral) pay(&OpCosts::general);
  payload.resize(32);
  std::uint32_t code = kPhase;
  if (!pairs.empty()) {
    const bool upper = bit < shape_.register_bits - 1 &&
                       std::all_of(pairs.begin(), pairs.begin() + bit,
                                   [](std::uint64_t turns) { return turns == 0; });
    code = upper ? kPhaseUpper : kPhasePairs;
    for (std::uint64_t turns : pairs) put(payload, factor_of(turns));
    pad16(payload);
    pay(&OpCosts::pairs, upper ? std::ldexp(1, -bit) : 1);
  }
  if (kind == FactorClass::kLinear) {
    append(payload, lanes.data(), lanes.size());
    pay(&OpCosts::lanes);
  }
  pay(&OpCosts::bit_phase);
  emit_bit(code + static_cast<std::uint32_t>(bit), head, std::move(payload));
}

/// Moves terms past an X under one control, which comes after them: b_t becomes b_t + b_c - 2 b_t
/// b_c. False when a term ties the target to other bits than the control and is no sign, or the
/// control wants a 0.
bool Emitter::map_terms(const SlotOp& map, std::vector<SlotTerm>& terms) const {
  const std::uint32_t target = map.target_mask;
  const SlotTerm control{map.control_mask, map.tile_mask, 0};
  constexpr std::uint64_t kHalfTurn = std::uint64_t{1} << 63;
  const bool plain = (control.slots || control.tile) && map.control_value == map.control_mask &&
                     map.tile_value == map.tile_mask;
  std::vector<SlotTerm> kept, moved;
  for (const SlotTerm& t : terms) {
    if (!(t.slots & target)) {
      kept.push_back(t);
      continue;
    }
    const std::uint32_t slots = t.slots & ~target;
    const SlotTerm both{target | control.slots, control.tile, 0};
    if (plain && !slots && !t.tile) {
      moved.push_back(t);
      moved.push_back({control.slots, control.tile, t.turns});
      moved.push_back({both.slots, both.tile, ~(2 * t.turns) + 1});
    } else if (plain && slots == control.slots && t.tile == control.tile) {
      moved.push_back({control.slots, control.tile, t.turns});
      moved.push_back({both.slots, both.tile, ~t.turns + 1});
    } else if (plain && t.turns == kHalfTurn) {
      moved.push_back(t);
      moved.push_back({slots | control.slots, t.tile | control.tile, kHalfTurn});
    } else {
      return false;
    }
  }
  for (const SlotTerm& t : moved) add_term(kept, t);
  terms = std::move(kept);
  return true;
}

/// Targets of maps whose waiting terms cannot move past them.
std::uint32_t Emitter::flushed_before(const std::vector<const SlotOp*>& maps) const {
  std::uint32_t flushed = 0, all = 0;
  for (const SlotOp* map : maps) all |= map->target_mask;
  for (;;) {
    std::vector<SlotTerm> terms = pool_;
    std::erase_if(terms, [&](const SlotTerm& t) { return (t.slots & flushed) != 0; });
    const auto stuck = std::find_if(maps.begin(), maps.end(),
                                    [&](const SlotOp* map) { return !map_terms(*map, terms); });
    if (stuck == maps.end()) return flushed;
    flushed = (flushed & (*stuck)->target_mask) ? all : flushed | (*stuck)->target_mask;
  }
}

void Emitter::flush(std::uint32_t touched) {
  if (choice_.tables && !choice_.compiled) flush_table(touched);
  const auto stays = std::stable_partition(pool_.begin(), pool_.end(),
                                           [&](const SlotTerm& t) { return t.slots & touched; });
  const std::vector<SlotTerm> now(pool_.begin(), stays);
  pool_.erase(pool_.begin(), stays);
  flush_terms(now, touched);
}

/// Emits phase operations for the terms; those on the register bit of `next_slots` come last.
void Emitter::flush_terms(const std::vector<SlotTerm>& terms, std::uint32_t next_slots) {
  if (terms.empty()) return;
  std::map<std::uint32_t, std::vector<LocalTerm>> by_set;
  for (const SlotTerm& t : terms) {
    LocalTerm local;
    local.tile = t.tile;
    local.turns = t.turns;
    for_each_bit(t.slots, [&](int s) {
      const int b = layout_->bit_of[s];
      if (b < 16) {
        local.set |= 1u << b;
      } else if (b == kBlockBit) {
        local.tile |= 1;
      } else {
        local.thread |= 1u << (b - 16);
      }
    });
    by_set[local.set].push_back(local);
  }
  // Constant factors of two register bits ride on the operation of the higher bit that has one.
  const int bits = shape_.register_bits;
  std::vector<std::vector<std::uint64_t>> pairs(static_cast<std::size_t>(bits));
  const auto is_constant = [](const std::vector<LocalTerm>& list) {
    return std::all_of(list.begin(), list.end(),
                       [](const LocalTerm& t) { return !t.thread && !t.tile; });
  };
  for (auto& [set, list] : by_set) {
    if (std::popcount(set) != 2 || !is_constant(list)) continue;
    int high = std::bit_width(set) - 1, low = std::countr_zero(set);
    // Prefer the bit that needs an operation anyway.
    if (!by_set.count(1u << high) && pairs[static_cast<std::size_t>(high)].empty() &&
        (by_set.count(1u << low) || !pairs[static_cast<std::size_t>(low)].empty())) {
      std::swap(high, low);
    }
    auto& of_high = pairs[static_cast<std::size_t>(high)];
    of_high.resize(static_cast<std::size_t>(bits - 1));
    for (const LocalTerm& t : list) {
      of_high[static_cast<std::size_t>(low < high ? low : low - 1)] += t.turns;
    }
    list.clear();
  }
  for (int b = 0; b < bits; ++b) by_set[1u << b];  // those that only carry pairs
  const auto emit_set = [&](std::uint32_t set, const std::vector<LocalTerm>& list) {
    const int top = std::bit_width(set | 1u) - 1;
    const auto& with = pairs[static_cast<std::size_t>(top)];
    if (std::popcount(set) == 1 && (!list.empty() || !with.empty())) {
      emit_bit_phase(top, list, with);
    } else if (list.empty()) {
      return;
    } else if (set == 0) {
      emit_phase(kPhaseAll, ~0u, list);
    } else {
      emit_phase(kPhaseSet, set, list);
    }
  };
  std::uint32_t last = 0;
  for_each_bit(next_slots, [&](int s) {
    if (layout_->bit_of[s] < 16) last = 1u << layout_->bit_of[s];
  });
  for (const auto& [set, list] : by_set) {
    if (set != last || set == 0) emit_set(set, list);
  }
  if (last) emit_set(last, by_set[last]);
}

}  // namespace tilewave::statevec::tile::detail
