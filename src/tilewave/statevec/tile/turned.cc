// Lifts beside phases that go on waiting. Half turns on two bits and quarter turns on one commute
// with a lift but for the signs of its numbers and a factor i (TurnedLayer), so they are not
// written before it: a thread finds its sign from its bits and the tile's. Only ties between two
// register bits are written, with the lift. What waits at the end of the pass is one operation.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

namespace {

constexpr std::uint64_t kHalfTurn = std::uint64_t{1} << 63;
constexpr std::size_t kEach = sizeof(TurnedLift<double>);  // the same in both precisions

/// The amplitudes of a thread whose bits `registers` are all 1.
std::uint32_t amplitudes_with(std::uint32_t registers) {
  std::uint32_t set = 0;
  for (std::uint32_t j = 0; j < 1u << kMaxRegisterBits; ++j) {
    set |= (j & registers) == registers ? 1u << j : 0;
  }
  return set;
}

}  // namespace

namespace {

/// Lists the items of a phase so that few layers take its lifts: what fits the layer comes next.
class LayerOrder {
 public:
  LayerOrder(const SlotPass& pass, const SlotLayout& layout) : pass_(pass), layout_(layout) {}

  std::vector<Item> run(std::vector<Item> left) {
    left_ = std::move(left);
    while (!left_.empty()) {
      const std::vector<std::size_t> ready = take_terms();
      std::size_t next = left_.size();
      for (std::size_t at : ready) {
        if (is_lift(at) && fits(slot(at)) && (next == left_.size() || bit(at) > bit(next))) {
          next = at;
        }
      }
      if (next == left_.size() && !ready.empty()) {  // a new layer, or another operation
        lifted_ = 0;
        if (!is_lift(ready[0])) next = ready[0];
      }
      if (next < left_.size()) take(next);
    }
    return std::move(ordered_);
  }

 private:
  const SlotOp& op(std::size_t at) const {
    return pass_.ops[static_cast<std::size_t>(left_[at].op)];
  }
  bool is_lift(std::size_t at) const { return op(at).kind == OpKind::kLift; }
  int slot(std::size_t at) const { return op(at).targets[0]; }
  int bit(std::size_t at) const { return layout_.bit_of[slot(at)]; }

  /// Lists the terms with nothing before them that they do not commute with; the operations of
  /// which that is true.
  std::vector<std::size_t> take_terms() {
    std::uint32_t mixed = 0, diagonal = 0;
    std::vector<Item> rest;
    std::vector<std::size_t> ready;
    for (const Item& item : left_) {
      if (item.op < 0) {
        const SlotTerm& term = pass_.terms[static_cast<std::size_t>(item.term)];
        if (!(term.slots & mixed)) {
          ordered_.push_back(item);
          tie(term);
          continue;
        }
        diagonal |= term.slots;
      } else {
        const SlotOp& op = pass_.ops[static_cast<std::size_t>(item.op)];
        if (!(op.target_mask & (mixed | diagonal)) && !(op.control_mask & mixed)) {
          ready.push_back(rest.size());
        }
        mixed |= op.target_mask;
        diagonal |= op.control_mask;
      }
      rest.push_back(item);
    }
    left_ = std::move(rest);
    return ready;
  }

  /// A tie between register bits waits.
  void tie(const SlotTerm& term) {
    if (term.turns != kHalfTurn || std::popcount(term.slots) != 2 || term.tile ||
        (term.slots & ~layout_.register_mask)) {
      return;
    }
    for_each_bit(term.slots, [&](int s) { partners_[s] ^= term.slots & ~(1u << s); });
  }

  /// See Emitter::make_layer().
  bool fits(int slot) const {
    bool fit = !(lifted_ >> slot & 1);
    for_each_bit(lifted_, [&](int s) {
      const bool runs_after = layout_.bit_of[s] < layout_.bit_of[slot];
      fit = fit && !(runs_after && ((partners_[slot] >> s & 1) || (written_[s] >> slot & 1)));
    });
    return fit;
  }

  void take(std::size_t at) {
    if (is_lift(at)) {
      const int s = slot(at);
      lifted_ |= 1u << s;
      written_[s] = partners_[s];
      for_each_bit(partners_[s], [&](int other) { partners_[other] &= ~(1u << s); });
      partners_[s] = 0;
    }
    ordered_.push_back(left_[at]);
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  const SlotPass& pass_;
  const SlotLayout& layout_;
  std::vector<Item> left_, ordered_;
  std::uint32_t lifted_ = 0;                     // slots of the layer
  std::uint32_t partners_[kMaxTileQubits] = {};  // slots that wait tied to each
  std::uint32_t written_[kMaxTileQubits] = {};   // those its lift in the layer was tied to
};

}  // namespace

void order_in_layers(const SlotPass& pass, const SlotLayout& layout, std::vector<Item>& items) {
  items = LayerOrder(pass, layout).run(std::move(items));
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

/// The bits of a term of half a turn on two bits; none where it is another, or a tile bit is beyond
/// the keys.
std::optional<Emitter::Tie> Emitter::tie_of(const SlotTerm& term) const {
  if (term.turns != kHalfTurn || std::popcount(term.slots) + std::popcount(term.tile) != 2 ||
      term.tile >> kSignTileBits) {
    return {};
  }
  Tie tie{0, term.tile << kSignTileShift};
  for_each_bit(term.slots, [&](int s) {
    const int b = layout_->bit_of[s];
    if (b < 16) {
      tie.registers |= 1u << b;
    } else if (b == kBlockBit) {
      tie.key |= 1u << kSignTileShift;
    } else {
      tie.key |= 1u << (b - 16);
    }
  });
  return tie;
}

std::size_t Emitter::turned_bytes() const {
  return turned_ ? kMaxRegisterBits * kEach + turned_->rows.size() * sizeof(SignRow) : 0;
}

/// Starts a turned layer.
void Emitter::open_turned(std::vector<SignRow> rows) {
  close_turned();
  OpenTurned layer;
  layer.rows = std::move(rows);
  if (chunk_bytes() + sizeof(OpHead) + kMaxRegisterBits * kEach +
          layer.rows.size() * sizeof(SignRow) >
      limits_.chunk_bytes) {
    close_chunk();
  }
  pay(&OpCosts::turned);
  emit(kTurnedLayer, {}, {}, {});
  layer.at = code_.size() - sizeof(OpHead);
  turned_ = std::move(layer);
}

/// Writes the layer that was open: as one of plain lifts, if it is that.
void Emitter::close_turned() {
  if (!turned_) return;
  const OpenTurned layer = std::move(*turned_);
  turned_.reset();
  code_.resize(layer.at);
  const std::uint32_t lifts = layer.flags & ((1u << kMaxRegisterBits) - 1);
  bool plain = layer.flags == lifts;
  for_each_bit(lifts, [&](int b) { plain = plain && !layer.bit[b].mask; });
  const bool one = plain && std::has_single_bit(lifts);
  std::vector<std::byte> payload;
  for (int k = 0; k < shape_.register_bits; ++k) {
    const int b = plain ? k : shape_.register_bits - 1 - k;
    const auto& numbers = layer.bit[b];
    if (!(lifts >> b & 1) && (!plain || one)) continue;
    put(payload, numbers.up);
    put(payload, numbers.down);
    if (plain) {
      pad16(payload);
      continue;
    }
    put(payload, numbers.tau);
    append(payload, &numbers.mask, sizeof numbers.mask);
    append(payload, &numbers.ties, sizeof numbers.ties);
    payload.resize((payload.size() + kEach - 1) / kEach * kEach);
  }
  append(payload, layer.rows.data(), layer.rows.size() * sizeof(SignRow));
  OpHead head;
  head.word = one     ? kLift + static_cast<std::uint32_t>(std::countr_zero(lifts))
              : plain ? kLayer | OpWord::index(lifts)
                      : kTurnedLayer | OpWord::index(layer.rows.size());
  head.word |= OpWord::extent(sizeof head + payload.size());
  if (!plain) head.pairs = layer.flags, head.signs = layer.signs;
  if (plain) pay(&OpCosts::turned, -1), pay(&OpCosts::turned_lift, -std::popcount(lifts));
  append(code_, &head, sizeof head);
  append(code_, payload.data(), payload.size());
}

/// Makes the layer one that can take a lift on this bit after signs tied to `partners`.
void Emitter::make_layer(int bit, std::uint32_t partners) {
  if (turned_) {
    const std::uint32_t lifted = turned_->flags & ((1u << kMaxRegisterBits) - 1);
    // Bits below run after it, but were lifted before.
    const std::uint32_t below = lifted & ((1u << bit) - 1);
    bool fits = !(lifted >> bit & 1) && !(below & partners);
    for_each_bit(below, [&](int b) { fits = fits && !(turned_->bit[b].partners >> bit & 1); });
    if (fits) return;
  }
  open_turned({});
}

/// A lift by t beside what waits on its slot. False where something waits that must be written.
bool Emitter::turned_lift(int slot, double t) {
  const int bit = layout_->bit_of[slot];
  std::uint64_t turns = 0;
  std::uint32_t mask = 0;
  std::uint32_t partners = 0;  // register bits
  for (const SlotTerm& term : pool_) {
    if (!(term.slots >> slot & 1)) continue;
    if (std::has_single_bit(term.slots) && !term.tile) {
      turns += term.turns;
      continue;
    }
    const auto tie = tie_of(term);
    if (!tie) return false;
    mask ^= tie->key;
    if (!tie->key) partners ^= tie->registers & ~(1u << bit);
  }
  double& m = magnitude_[slot];
  constexpr double kSmallest = 1.0 / 256;  // see lift()
  if (std::abs(m) < kSmallest) reset_magnitude(slot);
  make_layer(bit, partners);
  const auto set = [&](int flag) { turned_->flags |= 1u << (flag + bit); };
  auto& numbers = turned_->bit[bit];

  // W = i^quarters e^{i rest}. What is not a quarter turn is written; so is a quarter turn that no
  // lift would pass any more.
  std::uint64_t quarters = (turns + (std::uint64_t{1} << 61)) >> 62;
  const auto rest = static_cast<std::int64_t>(turns - (quarters << 62));
  const cplx w = factor_of(static_cast<std::uint64_t>(rest));
  numbers.tau = w.imag() / w.real();
  constexpr double kRounding = 4e-16;  // of a quarter turn
  if (quarters & 1 && !(lifted_later_ >> slot & 1)) {
    numbers.tau = -numbers.tau;
    --quarters;
    set(TurnedLayer::kTaus);
    set(TurnedLayer::kTausI);
    pay(&OpCosts::tau);
  } else if (std::abs(numbers.tau) > kRounding) {
    set(TurnedLayer::kTaus);
    pay(&OpCosts::tau);
  }
  m *= w.real();
  std::erase_if(pool_, [&](const SlotTerm& term) {
    if (!(term.slots >> slot & 1)) return false;
    return (std::has_single_bit(term.slots) && !term.tile) ||
           !(term.slots & ~layout_->register_mask || term.tile);
  });
  if (quarters) pool_.push_back({1u << slot, 0, quarters << 62});

  numbers.partners = partners;
  if (partners) {
    set(TurnedLayer::kTies);
    pay(&OpCosts::ties);
    for (std::uint32_t k = 0; k < 1u << (kMaxRegisterBits - 1); ++k) {
      const std::uint32_t j = k >> bit << (bit + 1) | (k & ((1u << bit) - 1));
      numbers.ties |= (std::popcount(j & partners) & 1u) << k;
    }
  }
  const double size = 1 + t * t;
  if (quarters & 2) t = -t;
  numbers.up = t / m;
  numbers.down = t * m / size;
  numbers.mask = mask;
  // i and -i: y -= i a x, x -= i s y
  set(TurnedLayer::kLifts);
  if (quarters & 1) set(TurnedLayer::kImaginary);
  pay(&OpCosts::lift), pay(&OpCosts::turned_lift);
  m /= size;
  out_.frame.scale_re *= size;
  out_.frame.scale_im *= size;
  return true;
}

/// Writes signs that wait at the end of the pass: of one slot as part of the scale, of two bits as
/// one operation.
void Emitter::write_last_signs() {
  std::uint32_t constant = 0;
  std::vector<std::uint32_t> tied(static_cast<std::size_t>(shape_.register_bits));
  std::vector<std::uint32_t> keys(32);  // [bit of the key]: the others it is tied to
  bool any = false;
  std::erase_if(pool_, [&](const SlotTerm& t) {
    if (std::has_single_bit(t.slots) && !t.tile && t.turns == kHalfTurn) {
      magnitude_[std::countr_zero(t.slots)] *= -1;
      return true;
    }
    const auto tie = tie_of(t);
    if (!tie) return false;
    any = true;
    if (!tie->key) {
      constant ^= amplitudes_with(tie->registers);
    } else if (tie->registers) {
      tied[static_cast<std::size_t>(std::countr_zero(tie->registers))] ^= tie->key;
    } else {
      for_each_bit(tie->key,
                   [&](int b) { keys[static_cast<std::size_t>(b)] ^= tie->key & ~(1u << b); });
    }
    return true;
  });
  if (!any) return;
  std::vector<SignRow> rows;
  for (std::size_t b = 0; b < tied.size(); ++b) {
    if (tied[b]) rows.push_back({amplitudes_with(1u << b), tied[b], tied[b], 0});
  }
  for (;;) {  // the bit that is tied to most others first
    const auto most = std::max_element(keys.begin(), keys.end(), [](auto x, auto y) {
      return std::popcount(x) < std::popcount(y);
    });
    if (!*most) break;
    const auto own = 1u << (most - keys.begin());
    rows.push_back({~0u, own, *most, 0});
    for (std::uint32_t& others : keys) others &= ~own;
    *most = 0;
  }
  pay(&OpCosts::signs), pay(&OpCosts::sign_row, static_cast<double>(rows.size()));
  open_turned(std::move(rows));
  turned_->flags |= TurnedLayer::kSigns;
  turned_->signs = constant;
}

}  // namespace tilewave::statevec::tile::detail
