// From the phases of schedule.cc, laid out by layout.cc, to the bytes of a tile program:
// operations, exchanges, frame.
#include "tilewave/statevec/tile/program.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile {

namespace detail {

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
    } else if (b == kBlockBit) {
      controls.tile_mask |= 1;
      controls.tile_value |= on;
    } else {
      controls.thread_mask |= 1u << (b - 16);
      controls.thread_value |= on << (b - 16);
    }
  });
  head.pairs = 0;
  for (std::uint32_t j = 0; j < 1u << shape_.register_bits; ++j) {
    head.pairs |= ((j ^ value) & set) == 0 ? 1u << j : 0;
  }
  const int bit0 = layout_->bit_of[op.targets[0]];
  std::vector<std::byte> payload;
  const auto bit = static_cast<std::uint32_t>(bit0);
  switch (op.kind) {
    case OpKind::kLift:
      lift(op.targets[0], op.action->m[0]);
      break;
    case OpKind::kFlip:
      reset_magnitude(op.targets[0]);
      pay(&OpCosts::flip);
      emit(kFlip + bit, head, controls, {});
      break;
    case OpKind::kRotate: {
      const std::vector<cplx> m = scaled_matrix(op);
      const double m0 = m[0].real(), m1 = m[1].real(), m2 = m[2].real(), m3 = m[3].real();
      constexpr double kRounding = 1e-14;
      if (m0 >= 0 && std::abs(m0 - m3) < kRounding && std::abs(m0 * m3 - m1 * m2 - 1) < kRounding) {
        put(payload, m1 / (1 + m0));
        put(payload, m2);
        pay(&OpCosts::rotate);
        emit(kRotate + bit, head, controls, std::move(payload));
        break;
      }
      for (cplx z : m) put(payload, z);
      pay(&OpCosts::matrix1);
      emit(kMatrix1 + bit, head, controls, std::move(payload));
      break;
    }
    case OpKind::kMatrix1:
      for (cplx z : scaled_matrix(op)) put(payload, z);
      pay(&OpCosts::matrix1);
      emit(kMatrix1 + bit, head, controls, std::move(payload));
      break;
    case OpKind::kMatrix2:
      matrix2(op, head, controls);
      break;
    case OpKind::kMatrixShared:
      shared_matrix(op, head, controls);
      break;
  }
}

/// An ExchangeTail and what follows it.
std::vector<std::uint32_t> Emitter::shift_of(const SlotLayout& layout) const {
  std::vector<std::uint32_t> shift = {layout.constant, 0};
  for (std::size_t b = 0; b < layout.tile_column.size(); ++b) {
    if (!layout.tile_column[b]) continue;
    ++shift[1];
    shift.push_back(static_cast<std::uint32_t>(b));
    shift.push_back(layout.tile_column[b]);
  }
  return shift;
}

void Emitter::exchange(const SlotLayout& from, const SlotLayout& to, bool arrives) {
  std::vector<std::byte> payload;
  for (int s : from.register_slot) append(payload, &from.column[s], 4);
  for (int s : to.register_slot) append(payload, &to.column[s], 4);
  for (int s : to.thread_slot) append(payload, &to.column[s], 4);
  const std::vector<std::uint32_t> shift = shift_of(to);
  append(payload, shift.data(), 4 * shift.size());
  pay(&OpCosts::exchange);
  OpHead head;
  head.word = OpWord::index(arrives);
  emit(kExchange, head, {}, std::move(payload));
  ++out_.num_exchanges;
}

void Emitter::cross(bool arrived) {
  pay(&OpCosts::crossing);
  OpHead head;
  head.word = OpWord::index(arrived);
  emit(kCross, head, {}, {});
  ++out_.num_crossings;
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
    if (slots_.tile_position[b] == kSlotOfBlock) continue;
    const std::uint32_t to = static_cast<std::uint32_t>(slots_.tile_position[b]) + shift;
    if (f.num_runs && f.runs[f.num_runs - 1].to + f.runs[f.num_runs - 1].width == to) {
      ++f.runs[f.num_runs - 1].width;
    } else {
      TW_CHECK(f.num_runs < kMaxTileRuns, "tile bits in too many runs");
      f.runs[f.num_runs++] = {static_cast<std::uint32_t>(b), to, 1};
    }
  }
  f.scale_re = pass_.scale.real();
  f.scale_im = pass_.scale.imag();
}

/// The phases, with maps in front of the first one where the terms that wait can move past them.
std::vector<Phase> Emitter::schedule(Arrival& arrival) {
  arrival.through_shared = choice_.through_shared;
  arrival.maps = arrival.through_shared;
  for (int r = 0; r < shape_.row_bits; ++r) {
    // The slots whose destinations are the lowest active positions.
    const auto from = std::find(slots_.dest_position.begin(), slots_.dest_position.end(),
                                slots_.slot_position[static_cast<std::size_t>(r)]);
    arrival.rows.push_back(r);
    arrival.last_rows.push_back(static_cast<int>(from - slots_.dest_position.begin()));
  }
  std::vector<Phase> phases = schedule_phases(slots_, shape_, arrival, choice_.seed);
  if (phases[0].registers) return phases;
  std::vector<SlotTerm> terms;
  for (const Item& item : phases[0].items)
    terms.push_back(slots_.terms[static_cast<std::size_t>(item.term)]);
  for (std::int32_t map : phases[0].maps) {
    if (map_terms(slots_.ops[static_cast<std::size_t>(map)], terms)) continue;
    arrival.maps = false;
    return schedule_phases(slots_, shape_, arrival, choice_.seed);
  }
  return phases;
}

TilePass Emitter::run() {
  out_.shape = shape_;
  slots_ = to_slots(plan_, pass_, shape_);
  for (SlotOp& op : slots_.ops) op.folds = op.folds && choice_.fold;
  Arrival arrival;
  std::vector<Phase> phases = schedule(arrival);
  const std::vector<SlotLayout> layouts = lay_out(slots_, phases, shape_, arrival);
  const std::size_t start = phases[0].registers ? 0 : 1;  // after maps that are part of the arrival
  frame();

  // Slots mixed by operations after each one, for the choice of flush(); targets of maps from each
  // phase on.
  std::vector<std::uint32_t> later, mapped(phases.size() + 1);
  const auto op_of = [&](std::int32_t index) -> const SlotOp& {
    return slots_.ops[static_cast<std::size_t>(index)];
  };
  for (const Phase& phase : phases) {
    for (const Item& item : phase.items) {
      if (item.op < 0) continue;
      later.push_back(op_of(item.op).target_mask);
    }
    for (std::int32_t map : phase.maps) later.push_back(op_of(map).target_mask);
  }
  for (std::size_t i = later.size(); i-- > 1;) later[i - 1] |= later[i];
  for (std::size_t f = phases.size(); f-- > 0;) {
    mapped[f] = mapped[f + 1];
    for (std::int32_t map : phases[f].maps) mapped[f] |= op_of(map).target_mask;
  }

  // A crossing follows, and nothing before it needs shared memory.
  const auto arrives = [&](std::size_t f) {
    return f + 1 < phases.size() && phases[f + 1].block != phases[f].block &&
           std::none_of(phases[f].items.begin(), phases[f].items.end(), [&](const Item& item) {
             return item.op >= 0 && op_of(item.op).kind == OpKind::kMatrixShared;
           });
  };
  std::size_t index = 0;
  for (std::size_t f = 0; f < phases.size(); ++f) {
    layout_ = &layouts[f];
    if (f > 0 && layouts[f].block_slot != layouts[f - 1].block_slot) {
      cross(arrives(f - 1));
    } else if (f > start) {
      exchange(layouts[f - 1], layouts[f], arrives(f));
    } else {
      out_.frame.arrives = arrives(f);
    }
    const std::vector<Item>& items = phases[f].items;
    std::vector<std::uint32_t> soon(items.size() + 1);
    for (std::size_t i = items.size(); i-- > 0;) {
      const bool is_op = items[i].op >= 0;
      soon[i] = is_op ? soon[i + 1] | op_of(items[i].op).target_mask
                      : soon[i + 1] & ~slots_.terms[static_cast<std::size_t>(items[i].term)].slots;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const std::size_t count = lifts_with_phases(phases, f, i)) {
        i += count - 1;
        index += count;
        continue;
      }
      if (items[i].op < 0) {
        wait(slots_.terms[static_cast<std::size_t>(items[i].term)]);
      } else {
        future_ = later[index++];
        soon_ = soon[i];
        operation(op_of(items[i].op));
      }
    }
    if (!phases[f].maps.empty()) {
      future_ = later[index];
      index += phases[f].maps.size();
    }
    soon_ = ~0u;
    const std::uint32_t next = f + 1 < phases.size() ? phases[f + 1].registers : 0;
    std::uint32_t now = 0;  // targets of this phase's maps
    std::vector<const SlotOp*> maps;
    for (std::int32_t map : phases[f].maps) {
      maps.push_back(&op_of(map));
      now |= maps.back()->target_mask;
    }
    // a flush may write more than it has to, and with it what would have cancelled
    while (const std::uint32_t touched = flushed_before(maps)) flush(touched);
    for (const SlotOp* map : maps) TW_CHECK(map_terms(*map, pool_), "a phase crosses a map");
    // An X needs the true halves of its target, which can be made only while it is a register bit.
    const std::uint32_t leaving = phases[f].registers & mapped[f] & (now | ~next);
    for (int s : layout_->register_slot) {
      if (leaving >> s & 1) reset_magnitude(s);
    }
  }
  future_ = ~0u;
  if (!choice_.compiled) flush_table(~0u);
  flush_terms(pool_, 0);
  close_chunk();
  const cplx scale = cplx(out_.frame.scale_re, out_.frame.scale_im) * factor_of(owed_);
  out_.frame.scale_re = scale.real();
  out_.frame.scale_im = scale.imag();
  load(layouts.front(), layouts[start]);
  store(layouts[start], layouts.back());
  list_ops();
  out_.paid = paid_;
  return std::move(out_);
}

/// Byte offsets of slots at `position`, register bits first.
static void offset_columns(const SlotLayout& l, const std::vector<int>& position,
                           Precision precision, std::uint64_t* to) {
  for (const std::vector<int>* slots : {&l.register_slot, &l.thread_slot}) {
    for (int s : *slots)
      *to++ = bit(position[static_cast<std::size_t>(s)]) * amplitude_bytes(precision);
  }
}

/// Where the amplitudes come from, and where they are in shared memory in the first phase. A tile
/// on its way there has its lowest slots as thread bits, whatever the phase has.
void Emitter::load(const SlotLayout& before, const SlotLayout& first) {
  PassFrame& fr = out_.frame;
  offset_columns(first, slots_.slot_position, shape_.precision, fr.load_column);
  std::uint32_t* to = fr.first_column;
  for (int s : first.register_slot) *to++ = first.column[s];
  for (int s : first.thread_slot) *to++ = first.column[s];
  fr.through_shared = choice_.through_shared;
  if (!fr.through_shared) return;
  pay(&OpCosts::arrival);
  const std::vector<std::uint32_t> shift = shift_of(first);
  std::copy(shift.begin(), shift.end(), fr.first_shift);
  int place = shape_.register_bits;
  for (int s = 0; s < shape_.tile_qubits; ++s) {
    if (s == first.block_slot) continue;
    fr.load_column[place] =
        bit(slots_.slot_position[static_cast<std::size_t>(s)]) * amplitude_bytes(shape_.precision);
    fr.place_column[place] = before.column[s];
    place = (place + 1) % shape_.block_qubits();
  }
}

/// Addresses and scale of the store.
void Emitter::store(const SlotLayout& first, const SlotLayout& last) {
  const int k = shape_.block_qubits();
  PassFrame& fr = out_.frame;
  bool moved = false;
  offset_columns(last, slots_.dest_position, shape_.precision, fr.store_column);
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
  if (shape_.block_bits) {
    const auto of_block = [&](const SlotLayout& l, const std::vector<int>& position) {
      return bit(position[static_cast<std::size_t>(l.block_slot)]) *
             amplitude_bytes(shape_.precision);
    };
    fr.block_load = of_block(first, slots_.slot_position);
    const std::uint64_t stored = of_block(last, slots_.dest_position);
    const bool flipped = flips & stored;
    flips &= ~stored;
    moved = moved || flipped || stored != fr.block_load;
    fr.block_move[0] = flipped ? stored : 0;
    fr.block_move[1] = (flipped ? 0 : stored) - fr.block_load;
    fr.bit_scale[k] = magnitude_[last.block_slot];
  }
  TW_CHECK(flips == 0, "X on store of a position that is not active");
  std::uint64_t active = fr.block_load;
  for (int i = 0; i < k; ++i) {
    moved = moved || fr.load_column[i] != fr.store_column[i];
    active |= fr.load_column[i];
  }
  // As byte offsets; inactive ones are not numbered by tiles.
  fr.zero_load = fr.zero_load * amplitude_bytes(shape_.precision) & active;
  fr.zero_store = fr.zero_store * amplitude_bytes(shape_.precision) & active;
  const bool block_moves = fr.block_move[0] || fr.block_move[1];
  const bool no_barrier = out_.num_exchanges == 0 && !fr.through_shared;
  fr.needs_barrier = out_.num_crossings == 0 && moved && (no_barrier || block_moves);
  bool scaled = shape_.block_bits && magnitude_[last.block_slot] != 1;
  for (int b = 0; b < k; ++b) {
    const bool in_register = b < shape_.register_bits;
    const int s = in_register
                      ? last.register_slot[static_cast<std::size_t>(b)]
                      : last.thread_slot[static_cast<std::size_t>(b - shape_.register_bits)];
    fr.bit_scale[b] = magnitude_[s];
    scaled = scaled || magnitude_[s] != 1;
  }
  fr.scale_kind = scaled             ? ScaleKind::kBits
                  : fr.scale_im != 0 ? ScaleKind::kComplex
                  : fr.scale_re != 1 ? ScaleKind::kReal
                                     : ScaleKind::kOne;
}

}  // namespace detail

}  // namespace tilewave::statevec::tile
