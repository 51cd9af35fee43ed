// From scheduled phases to the bytes of a tile program. Phase terms wait in a pool until an
// operation mixes one of their slots (or the pass ends); then they are emitted, either those that
// touch the slot, or, when many slots wait, all of them at once: the pool splits by the set S of
// register bits a term needs, and each S has one factor W_S(thread, tile).
#include "tilewave/statevec/tile/program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/ops.h"

namespace tilewave::statevec::tile {

namespace {

using detail::Item;
using detail::OpKind;
using detail::Phase;
using detail::SlotLayout;
using detail::SlotOp;
using detail::SlotPass;
using detail::SlotTerm;

/// Emit all waiting terms at once when this many slots that wait are mixed later in the pass (one
/// choice), or never (the other): the cheaper program is kept.
constexpr int kFlushAllSlots = 7, kNeverFlushAll = 99;
constexpr double kDecodeCost = 6;  ///< of a layer, in complex multiplications of a thread

void append(std::vector<std::byte>& to, const void* data, std::size_t num_bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  to.insert(to.end(), from, from + num_bytes);
}

void pad16(std::vector<std::byte>& bytes) { bytes.resize((bytes.size() + 15) / 16 * 16); }

/// A term in the coordinates of one phase.
struct LocalTerm {
  std::uint32_t set = 0;  ///< register bits
  std::uint32_t thread = 0, tile = 0;
  std::uint64_t turns = 0;
};

class Emitter {
 public:
  Emitter(const Plan& plan, const Pass& pass, const Shape& shape, const ChunkLimits& limits,
          int flush_all_slots)
      : plan_(plan),
        pass_(pass),
        shape_(shape),
        limits_(limits),
        flush_all_slots_(flush_all_slots) {}

  /// Complex multiplications of a thread in phases, and decoding: what the choice of flushes
  /// changes.
  double cost() const { return cost_; }
  bool flushed_all() const { return flushed_all_; }

  TilePass run();

 private:
  void frame();
  void exchange(const SlotLayout& from, const SlotLayout& to);
  void operation(const SlotOp& op);
  void shared_matrix(const SlotOp& op, const OpHead& head, const OpControls& controls);
  void flush(std::uint32_t slots);
  void flush_terms(const std::vector<SlotTerm>& terms, std::uint32_t next_slots);
  /// Sets the factor of a phase operation from the terms it stands for; returns the payload's first
  /// 16 bytes.
  std::vector<std::byte> factor(OpHead& head, const std::vector<LocalTerm>& terms,
                                std::vector<std::byte>& lanes);
  void emit(std::uint32_t code, OpHead head, const OpControls& controls,
            std::vector<std::byte> payload);
  std::size_t chunk_bytes() const;
  void append_op(std::uint32_t code, OpHead head, const OpControls* controls,
                 const std::vector<std::byte>& payload);
  void add_to_layer(int bit, std::uint32_t flags, const std::vector<std::byte>& payload);
  void end_layer();
  void make_room();
  void emit_phase(std::uint32_t code, std::uint32_t set, const std::vector<LocalTerm>& terms);
  void emit_bit_phase(int bit, const std::vector<LocalTerm>& terms,
                      const std::vector<std::uint64_t>& pairs);
  void lift(int bit, double t);
  void close_chunk();

  void put(std::vector<std::byte>& to, double x) const {
    if (shape_.precision == Precision::kDouble) {
      append(to, &x, 8);
    } else {
      const float f = static_cast<float>(x);
      append(to, &f, 4);
    }
  }
  void put(std::vector<std::byte>& to, cplx z) const {
    put(to, z.real());
    put(to, z.imag());
  }
  static cplx factor_of(std::uint64_t turns) {
    const Complex<double> z = turn<double>(turns);
    return {z.re, z.im};
  }
  std::uint32_t place(const std::vector<std::byte>& data) {
    pad16(out_.tables);
    const std::size_t at = out_.tables.size() / 16;
    TW_CHECK(at < kNone, "tables of a pass are too large");
    append(out_.tables, data.data(), data.size());
    return static_cast<std::uint32_t>(at);
  }
  template <class T>
  std::uint32_t place_array(const std::vector<T>& data) {
    pad16(out_.tables);
    const std::size_t at = out_.tables.size() / 16;
    TW_CHECK(at < kNone, "tables of a pass are too large");
    append(out_.tables, data.data(), data.size() * sizeof(T));
    return static_cast<std::uint32_t>(at);
  }

  struct LinearEntry {
    std::vector<std::uint64_t> tile, warp;  ///< turns of tile bits, of warps
  };
  struct General {
    std::vector<std::uint64_t> rows;  ///< [tile bit][row]
    std::vector<MixedTerm> tile_terms;
    GeneralEntry entry;
  };

  const Plan& plan_;
  const Pass& pass_;
  const Shape shape_;
  const ChunkLimits limits_;
  const int flush_all_slots_;
  double cost_ = 0;
  bool flushed_all_ = false;
  SlotPass slots_;
  std::uint32_t column_[kMaxTileQubits]{};
  const SlotLayout* layout_ = nullptr;
  std::vector<SlotTerm> pool_;
  std::uint32_t future_ = 0;  ///< slots mixed by later operations
  std::vector<std::byte> code_;
  std::vector<LinearEntry> linear_;
  std::vector<General> general_;
  OpHead layer_;  ///< the layer being built, when layer_bit_ >= 0
  std::vector<std::byte> layer_payload_;
  int layer_bit_ = -1;  ///< its highest bit so far
  TilePass out_;
};

void Emitter::emit(std::uint32_t code, OpHead head, const OpControls& controls,
                   std::vector<std::byte> payload) {
  end_layer();
  pad16(payload);
  const bool controlled = controls.thread_mask || controls.tile_mask;
  const std::size_t size = sizeof head + (controlled ? sizeof controls : 0) + payload.size();
  TW_CHECK(size / 16 < 256, "an operation of a tile program is too long");
  // An operation with a factor has made room before its factor was entered (make_room).
  if (chunk_bytes() + size > limits_.chunk_bytes) close_chunk();
  append_op(code, head, controlled ? &controls : nullptr, payload);
}

void Emitter::append_op(std::uint32_t code, OpHead head, const OpControls* controls,
                        const std::vector<std::byte>& payload) {
  const std::size_t size = sizeof head + (controls ? sizeof *controls : 0) + payload.size();
  head.word |= code | static_cast<std::uint32_t>(size / 16) << 8 | (controls ? 1u << 16 : 0u);
  append(code_, &head, sizeof head);
  if (controls) append(code_, controls, sizeof *controls);
  append(code_, payload.data(), payload.size());
  ++out_.num_operations;
  const OpSet set = code == kMatrixShared ? OpSet::kAll
                    : code >= kRotate     ? OpSet::kMatrices
                                          : OpSet::kLean;
  out_.frame.op_set = std::max(out_.frame.op_set, set);
}

void Emitter::end_layer() {
  if (layer_bit_ < 0) return;
  layer_bit_ = -1;
  cost_ += kDecodeCost;
  append_op(kLayer, layer_, nullptr, layer_payload_);
  layer_ = {};
  layer_payload_.clear();
}

/// Adds a phase or a lift on one bit to the layer being built, or starts a new layer.
void Emitter::add_to_layer(int bit, std::uint32_t flags, const std::vector<std::byte>& payload) {
  const auto flags_of = [&](int b) { return b < 4 ? layer_.index >> (8 * b) & 255u : layer_.more; };
  if (bit < layer_bit_ ||
      (bit == layer_bit_ && (flags != kHasLift || (flags_of(bit) & kHasLift)))) {
    end_layer();
  }
  if (chunk_bytes() + payload.size() + sizeof(OpHead) > limits_.chunk_bytes && flags == kHasLift) {
    close_chunk();
  }
  layer_bit_ = bit;
  (bit < 4 ? layer_.index : layer_.more) |= flags << (bit < 4 ? 8 * bit : 0);
  append(layer_payload_, payload.data(), payload.size());
}

/// Bytes of the chunk if it were closed now.
std::size_t Emitter::chunk_bytes() const {
  const std::size_t bits = slots_.tile_position.size();
  const auto warps = static_cast<std::size_t>(shape_.num_warps());
  const auto rows = static_cast<std::size_t>(1 + shape_.thread_bits());
  return sizeof(ChunkHead) + code_.size() + layer_payload_.size() + 2 * sizeof(OpHead) +
         linear_.size() * 8 * (bits + warps) + general_.size() * 8 * bits * rows + 48;
}

void Emitter::close_chunk() {
  end_layer();
  const OpHead end{kEnd | 1u << 8, 0, 0, 0};
  append(code_, &end, sizeof end);
  ChunkHead head;
  head.num_linear = static_cast<std::uint32_t>(linear_.size());
  head.num_general = static_cast<std::uint32_t>(general_.size());
  const std::size_t tile_bits = slots_.tile_position.size();
  head.tile_bits = static_cast<std::uint32_t>(tile_bits);
  const auto add_own = [&](const std::vector<std::uint64_t>& turns) {
    pad16(code_);
    const auto at = static_cast<std::uint32_t>((sizeof(ChunkHead) + code_.size()) / 16);
    append(code_, turns.data(), turns.size() * 8);
    pad16(code_);
    return at;
  };
  if (!linear_.empty()) {
    std::vector<std::uint64_t> tile(tile_bits * linear_.size()), warp;
    for (std::size_t e = 0; e < linear_.size(); ++e) {
      for (std::size_t b = 0; b < tile_bits; ++b) tile[b * linear_.size() + e] = linear_[e].tile[b];
      warp.insert(warp.end(), linear_[e].warp.begin(), linear_[e].warp.end());
    }
    head.linear_turns = add_own(tile);
    head.warp_turns = add_own(warp);
  }
  if (!general_.empty()) {
    const auto rows = static_cast<std::size_t>(1 + shape_.thread_bits());
    std::vector<std::uint64_t> turns(tile_bits * general_.size() * rows);
    std::vector<GeneralEntry> entries;
    for (std::size_t e = 0; e < general_.size(); ++e) {
      for (std::size_t b = 0; b < tile_bits; ++b) {
        std::copy_n(general_[e].rows.begin() + static_cast<std::ptrdiff_t>(b * rows), rows,
                    turns.begin() + static_cast<std::ptrdiff_t>((b * general_.size() + e) * rows));
      }
      GeneralEntry entry = general_[e].entry;
      entry.tile_first = place_array(general_[e].tile_terms);
      entry.tile_count = static_cast<std::uint32_t>(general_[e].tile_terms.size());
      entries.push_back(entry);
    }
    head.general_turns = add_own(turns);
    head.general_entries = place_array(entries);
  }
  head.size16 = static_cast<std::uint32_t>((sizeof(ChunkHead) + code_.size()) / 16);
  PassFrame& f = out_.frame;
  f.max_chunk16 = std::max(f.max_chunk16, head.size16);
  f.max_linear = std::max(f.max_linear, head.num_linear);
  f.max_general = std::max(f.max_general, head.num_general);
  ++f.num_chunks;
  append(out_.code, &head, sizeof head);
  append(out_.code, code_.data(), code_.size());
  code_.clear();
  linear_.clear();
  general_.clear();
}

std::vector<std::byte> Emitter::factor(OpHead& head, const std::vector<LocalTerm>& terms,
                                       std::vector<std::byte>& lane_factors) {
  std::vector<std::byte> payload;
  const std::uint32_t lane_mask = (1u << kLaneBits) - 1;
  bool constant = true, linear = true;
  for (const LocalTerm& t : terms) {
    constant = constant && !t.thread && !t.tile;
    const bool lane_only = !t.tile && !(t.thread & ~lane_mask);
    const bool warp_only = !t.tile && !(t.thread & lane_mask);
    const bool tile_bit = !t.thread && std::popcount(t.tile) == 1;
    linear = linear && (lane_only || warp_only || tile_bit);
  }
  const auto holds = [](std::uint32_t value, std::uint32_t mask) { return (value & mask) == mask; };
  const std::size_t tile_bits = slots_.tile_position.size();
  if (constant) {
    std::uint64_t turns = 0;
    for (const LocalTerm& t : terms) turns += t.turns;
    put(payload, factor_of(turns));
    head.word |= static_cast<std::uint32_t>(FactorClass::kConstant) << 17;
  } else if (linear) {
    LinearEntry entry;
    entry.tile.resize(tile_bits);
    entry.warp.resize(static_cast<std::size_t>(shape_.num_warps()));
    std::uint64_t lane[32] = {};
    bool lanes = false;
    for (const LocalTerm& t : terms) {
      if (t.tile) {
        entry.tile[static_cast<std::size_t>(std::countr_zero(t.tile))] += t.turns;
      } else if (t.thread & lane_mask) {
        lanes = true;
        for (std::uint32_t l = 0; l < 32; ++l) lane[l] += holds(l, t.thread) ? t.turns : 0;
      } else {
        for (std::uint32_t w = 0; w < entry.warp.size(); ++w) {
          entry.warp[w] += holds(w, t.thread >> kLaneBits) ? t.turns : 0;
        }
      }
    }
    head.word |= static_cast<std::uint32_t>(lanes ? FactorClass::kLinear : FactorClass::kScalar)
                 << 17;
    head.index = static_cast<std::uint32_t>(linear_.size());
    if (lanes) {
      for (std::uint64_t turns : lane) put(lane_factors, factor_of(turns));
    }
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
    head.word |= static_cast<std::uint32_t>(FactorClass::kGeneral) << 17;
    head.index = static_cast<std::uint32_t>(general_.size());
    general_.push_back(std::move(entry));
  }
  payload.resize(16);
  return payload;
}

/// Closes the chunk unless it can take another phase operation with its factor.
void Emitter::make_room() {
  constexpr std::size_t kLargestPhase = 1024;  // head, pairs, lane factors
  if (linear_.size() + 1 > limits_.num_linear || general_.size() + 1 > limits_.num_general ||
      chunk_bytes() + kLargestPhase +
              8 * slots_.tile_position.size() * static_cast<std::size_t>(1 + shape_.thread_bits()) >
          limits_.chunk_bytes) {
    close_chunk();
  }
}

void Emitter::emit_phase(std::uint32_t code, std::uint32_t set,
                         const std::vector<LocalTerm>& terms) {
  make_room();
  OpHead head;
  head.pairs = set;
  std::vector<std::byte> lanes;
  std::vector<std::byte> payload = factor(head, terms, lanes);
  append(payload, lanes.data(), lanes.size());
  // all amplitudes, decoding, and the making of a general factor
  cost_ += std::ldexp(1.0, shape_.register_bits) / (set == ~0u ? 1 : 4) + 4;
  if (static_cast<FactorClass>(head.factor()) == FactorClass::kGeneral) cost_ += 12;
  emit(code, head, {}, std::move(payload));
}

/// The phase of one register bit: into a layer.
void Emitter::emit_bit_phase(int bit, const std::vector<LocalTerm>& terms,
                             const std::vector<std::uint64_t>& pairs) {
  make_room();
  OpHead head;
  std::vector<std::byte> lanes;
  std::vector<std::byte> payload = factor(head, terms, lanes);
  const auto kind = static_cast<FactorClass>(head.factor());
  std::uint32_t flags = kHasPhase;
  if (kind != FactorClass::kConstant) {
    flags |= kind == FactorClass::kGeneral ? kHasTile | kHasGeneral : kHasTile;
    std::memcpy(payload.data(), &head.index, 4);
  }
  if (!pairs.empty()) {
    flags |= kHasPairs;
    const bool upper = bit < shape_.register_bits - 1 &&
                       std::all_of(pairs.begin(), pairs.begin() + bit,
                                   [](std::uint64_t turns) { return turns == 0; });
    if (upper) flags |= kUpperPairs;
    for (std::uint64_t turns : pairs) put(payload, factor_of(turns));
    pad16(payload);
  }
  if (kind == FactorClass::kLinear) {
    flags |= kHasLanes;
    append(payload, lanes.data(), lanes.size());
  }
  const double half = std::ldexp(0.5, shape_.register_bits);
  cost_ += half + ((flags & kUpperPairs) ? std::ldexp(half, -bit)
                   : (flags & kHasPairs) ? half
                                         : 0.0);
  add_to_layer(bit, flags, payload);
}

void Emitter::lift(int bit, double t) {
  std::vector<std::byte> payload;
  put(payload, t);
  payload.resize(16);
  add_to_layer(bit, kHasLift, payload);
}

void Emitter::flush(std::uint32_t touched) {
  std::uint32_t waiting = 0;
  bool any = false;
  for (const SlotTerm& t : pool_) {
    waiting |= t.slots;
    any = any || (t.slots & touched);
  }
  if (!any) return;
  if (std::popcount(waiting & future_) >= flush_all_slots_) {
    flushed_all_ = true;
    flush_terms(pool_, touched);
    pool_.clear();
    return;
  }
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

void Emitter::shared_matrix(const SlotOp& op, const OpHead& head, const OpControls& controls) {
  SharedMatrix m;
  std::vector<std::byte> entries;
  const std::size_t count = std::size_t{1} << (2 * op.num_targets);
  for (std::size_t i = 0; i < count; ++i) put(entries, plan_.matrices[op.action->first + i]);
  m.matrix = place(entries);
  m.num_targets = op.num_targets;
  for (int t = 0; t < op.num_targets; ++t) {
    m.target_column[t] = column_[op.targets[t]];
    m.target_bit[t] = static_cast<std::uint32_t>(layout_->bit_of[op.targets[t]]);
  }
  for (int b = 0; b < shape_.register_bits; ++b) {
    m.register_column[b] = column_[layout_->register_slot[static_cast<std::size_t>(b)]];
  }
  std::vector<std::byte> payload;
  append(payload, &m, sizeof m);
  emit(kMatrixShared, head, controls, std::move(payload));
}

void Emitter::operation(const SlotOp& op) {
  flush(op.target_mask);
  OpHead head;
  OpControls controls;
  controls.tile_mask = op.tile_mask;
  controls.tile_value = op.tile_value;
  std::uint32_t set = 0, value = 0;  // controls on register bits
  for_each_bit(op.control_mask, [&](int s) {
    const int b = layout_->bit_of[s];
    const std::uint32_t on = op.control_value >> s & 1;
    if (b < 16) {
      set |= 1u << b;
      value |= on << b;
    } else {
      controls.thread_mask |= 1u << (b - 16);
      controls.thread_value |= on << (b - 16);
    }
  });
  head.pairs = 0;
  for (std::uint32_t j = 0; j < 1u << shape_.register_bits; ++j) {
    head.pairs |= ((j ^ value) & set) == 0 ? 1u << j : 0;
  }
  const Action& action = *op.action;
  const int bit0 = layout_->bit_of[op.targets[0]];
  std::vector<std::byte> payload;
  const auto bit = static_cast<std::uint32_t>(bit0);
  switch (op.kind) {
    case OpKind::kLift:
      lift(bit0, action.m[0]);
      break;
    case OpKind::kFlip:
      emit(kFlip + bit, head, controls, {});
      break;
    case OpKind::kRotate:
      for (double x : action.m) put(payload, x);
      emit(kRotate + bit, head, controls, std::move(payload));
      break;
    case OpKind::kMatrix1:
      for (std::size_t i = 0; i < 4; ++i) put(payload, plan_.matrices[action.first + i]);
      emit(kMatrix1 + bit, head, controls, std::move(payload));
      break;
    case OpKind::kMatrix2: {
      const auto bit1 = static_cast<std::uint32_t>(layout_->bit_of[op.targets[1]]);
      const bool swapped = bit > bit1;
      const auto at = [&](int i) { return swapped ? (i >> 1 | (i & 1) << 1) : i; };
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          put(payload, plan_.matrices[action.first + static_cast<std::size_t>(at(i) * 4 + at(j))]);
        }
      }
      const std::uint32_t low = std::min(bit, bit1), high = std::max(bit, bit1);
      emit(kMatrix2 + high * (high - 1) / 2 + low, head, controls, std::move(payload));
      break;
    }
    case OpKind::kMatrixShared:
      shared_matrix(op, head, controls);
      break;
  }
}

void Emitter::exchange(const SlotLayout& from, const SlotLayout& to) {
  std::vector<std::byte> payload;
  for (int s : from.register_slot) append(payload, &column_[s], 4);
  for (int s : to.register_slot) append(payload, &column_[s], 4);
  for (int s : to.thread_slot) append(payload, &column_[s], 4);
  emit(kExchange, {}, {}, std::move(payload));
  ++out_.num_exchanges;
}

void Emitter::frame() {
  PassFrame& f = out_.frame;
  const int held = std::max(plan_.num_qubits, shape_.tile_qubits);
  const std::uint64_t beyond = low_mask(held) & ~low_mask(plan_.num_qubits);
  f.zero_load = pass_.known_zero_before | beyond;
  f.zero_store = pass_.known_zero_after | beyond;
  f.num_tiles = bit(static_cast<int>(slots_.tile_position.size()));
  const auto shift =
      static_cast<std::uint32_t>(std::countr_zero(amplitude_bytes(shape_.precision)));
  for (std::size_t b = 0; b < slots_.tile_position.size(); ++b) {
    const std::uint32_t to = static_cast<std::uint32_t>(slots_.tile_position[b]) + shift;
    if (f.num_runs && f.runs[f.num_runs - 1].to + f.runs[f.num_runs - 1].width == to) {
      ++f.runs[f.num_runs - 1].width;
    } else {
      TW_CHECK(f.num_runs < kMaxTileRuns, "tile bits in too many runs");
      f.runs[f.num_runs++] = {static_cast<std::uint32_t>(b), to, 1};
    }
  }
  const double re = pass_.scale.real(), im = pass_.scale.imag();
  f.scale_re = re;
  f.scale_im = im;
  f.scale_kind = im != 0 ? ScaleKind::kComplex : re != 1 ? ScaleKind::kReal : ScaleKind::kOne;
}

TilePass Emitter::run() {
  out_.shape = shape_;
  slots_ = detail::to_slots(plan_, pass_, shape_);
  const int k = shape_.tile_qubits, q = shape_.row_bits;
  std::vector<int> first_lanes, last_lanes(static_cast<std::size_t>(q), -1);
  std::uint32_t first_mask = 0, last_mask = 0;
  for (int s = 0; s < k; ++s) {
    if (s < q) {
      first_lanes.push_back(s);
      first_mask |= 1u << s;
    }
    // The slots whose destinations are the q lowest active positions.
    for (int r = 0; r < q; ++r) {
      if (slots_.dest_position[static_cast<std::size_t>(s)] ==
          slots_.slot_position[static_cast<std::size_t>(r)]) {
        last_lanes[static_cast<std::size_t>(r)] = s;
        last_mask |= 1u << s;
      }
    }
  }
  const std::vector<Phase> phases = detail::schedule_phases(slots_, shape_, first_mask, last_mask);
  const std::vector<SlotLayout> layouts =
      detail::lay_out(slots_, phases, shape_, first_lanes, last_lanes, column_);
  frame();

  // Slots mixed by operations after each one, for the choice of flush().
  std::vector<std::uint32_t> later;
  for (const Phase& phase : phases) {
    for (const Item& item : phase.items) {
      if (item.op >= 0) later.push_back(slots_.ops[static_cast<std::size_t>(item.op)].target_mask);
    }
  }
  for (std::size_t i = later.size(); i-- > 1;) later[i - 1] |= later[i];

  std::size_t index = 0;
  for (std::size_t f = 0; f < phases.size(); ++f) {
    layout_ = &layouts[f];
    if (f > 0) exchange(layouts[f - 1], layouts[f]);
    for (const Item& item : phases[f].items) {
      if (item.op < 0) {
        pool_.push_back(slots_.terms[static_cast<std::size_t>(item.term)]);
      } else {
        future_ = later[index++];
        operation(slots_.ops[static_cast<std::size_t>(item.op)]);
      }
    }
  }
  flush_terms(pool_, 0);
  close_chunk();

  PassFrame& fr = out_.frame;
  const SlotLayout &first = layouts.front(), &last = layouts.back();
  bool moved = false;
  const auto columns = [&](const SlotLayout& l, const std::vector<int>& position,
                           std::uint64_t* to) {
    std::size_t i = 0;
    for (int s : l.register_slot)
      to[i++] = bit(position[static_cast<std::size_t>(s)]) * amplitude_bytes(shape_.precision);
    for (int s : l.thread_slot)
      to[i++] = bit(position[static_cast<std::size_t>(s)]) * amplitude_bytes(shape_.precision);
  };
  columns(first, slots_.slot_position, fr.load_column);
  columns(last, slots_.dest_position, fr.store_column);
  std::uint64_t flips = pass_.store_flips * amplitude_bytes(shape_.precision);
  for (int i = 0; i < k; ++i) {
    std::uint64_t& column = fr.store_column[i];
    if (!(flips & column)) continue;
    flips &= ~column;
    moved = true;
    if (i < shape_.register_bits) {
      fr.store_add += column;
      column = ~column + 1;
    } else {
      fr.store_xor |= column;
    }
  }
  TW_CHECK(flips == 0, "X on store of a position that is not active");
  std::uint64_t active = 0;
  for (int i = 0; i < k; ++i) {
    moved = moved || fr.load_column[i] != fr.store_column[i];
    active |= fr.load_column[i];
  }
  // As byte offsets; inactive ones are not numbered by tiles.
  fr.zero_load = fr.zero_load * amplitude_bytes(shape_.precision) & active;
  fr.zero_store = fr.zero_store * amplitude_bytes(shape_.precision) & active;
  fr.needs_barrier = moved && out_.num_exchanges == 0;
  for (std::size_t b = 0; b < first.thread_slot.size(); ++b) {
    fr.first_column[b] = column_[first.thread_slot[b]];
  }
  return std::move(out_);
}

}  // namespace

TilePass lower_pass(const Plan& plan, std::size_t pass, const Shape& shape,
                    const ChunkLimits& limits) {
  TW_CHECK(pass < plan.passes.size(), "no such pass");
  TW_CHECK(plan.precision == shape.precision, "plan and shape differ in precision");
  Emitter some(plan, plan.passes[pass], shape, limits, kFlushAllSlots);
  TilePass first = some.run();
  if (!some.flushed_all()) return first;
  Emitter never(plan, plan.passes[pass], shape, limits, kNeverFlushAll);
  TilePass second = never.run();
  return never.cost() < some.cost() ? second : first;
}

}  // namespace tilewave::statevec::tile
