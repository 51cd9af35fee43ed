// Lifts that take the phases waiting for them along. A phase between two bits may be written with
// the lift of either, as a factor of that bit's 1-half, or of its 0-half, which leaves the other
// bit's own phase behind. In which order lifts that wait for nothing run, and which half takes the
// factors, is searched for: pairs of amplitudes whose phases cancel take none, and a lift between
// two that ran before has no phases left.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/tile/emitter.h"

namespace tilewave::statevec::tile::detail {

namespace {

constexpr int kPairs = 1 << (kMaxRegisterBits - 1);
constexpr double kMultiplyAdds = 4.0 * kPairs;       // of a lift
constexpr double kSmallestLift = 1.0 / 16;           // see lift_with_phase()
constexpr int kMostSteps = 3000;                     // of a search
constexpr double kFactor = 1e-4, kOtherHalf = 1e-3;  // ms: between ways that are else the same

}  // namespace

/// How a lift runs with what waits for it.
struct Emitter::LiftWay {
  int slot = 0;
  double t = 0;
  bool is_plain = true;  ///< no phases
  bool is_signed = false, is_reversed = false;
  std::uint32_t sign_bit = 0, pairs = 0;
  std::uint64_t turns[2][ChoiceLift::kFactors]{};
  std::uint32_t neighbours = 0;  ///< slots of the terms it takes
  std::uint64_t owed = 0;        ///< left to all amplitudes
  double cost = 0;
  double lifts = 1;  ///< of it, beside what decides between equal ways
};

/// The lifts of a run and the best way found so far.
struct Emitter::LiftSearch {
  std::vector<int> slots;
  std::vector<double> numbers;  ///< t of each
  std::vector<bool> may_be[2];  ///< as they are and reversed, see has_range_for()
  std::uint32_t bound = 0;      ///< slots that take another phase with others before they are mixed
  std::uint32_t mixed = 0;      ///< slots that are mixed later
  std::vector<LiftWay> now, best;
  std::vector<SlotTerm> left;  ///< terms that wait behind `best`
  double best_cost = 0;
  int steps = 0;
  bool found = false;
};

/// Takes the terms of the lift's slot out of the pool. None where the lift cannot take them.
std::optional<Emitter::LiftWay> Emitter::lift_way(int slot, double t, bool is_reversed,
                                                  std::vector<SlotTerm>& pool) const {
  LiftWay way;
  way.slot = slot;
  way.t = t;
  way.is_reversed = is_reversed;
  std::uint64_t of_bit[kMaxRegisterBits]{}, outside = 0, own = 0;
  std::vector<SlotTerm> left, taken;
  for (const SlotTerm& term : pool) {
    if (!(term.slots >> slot & 1)) {
      left.push_back(term);
      continue;
    }
    const std::uint32_t others = term.slots & ~(1u << slot);
    if (std::popcount(others) + std::popcount(term.tile) > 1) return std::nullopt;
    way.neighbours |= others;
    if (!others && !term.tile) {
      own += term.turns;
      continue;
    }
    const int at = others ? layout_->bit_of[std::countr_zero(others)] : kBlockBit;
    if (at < kMaxRegisterBits) {
      of_bit[at] += term.turns;
    } else {
      const auto sign =
          static_cast<std::uint32_t>(term.tile ? SignBit::kOfTile + std::countr_zero(term.tile)
                                     : at == kBlockBit ? SignBit::kOfTile
                                                       : at - 16);
      if (way.is_signed && way.sign_bit != sign) return std::nullopt;
      if (is_reversed && term.tile) return std::nullopt;
      way.is_signed = true;
      way.sign_bit = sign;
      outside += term.turns;
    }
    taken.push_back(term);
  }
  way.cost = costs_.lift;
  pool = std::move(left);
  if (taken.empty() && is_rounding(own)) {
    if (is_reversed) return std::nullopt;
    return way;
  }
  if (std::abs(t) < kSmallestLift) return std::nullopt;
  way.is_plain = false;
  const int bit = layout_->bit_of[slot];
  std::uint64_t of_pair[kPairs];
  for (int k = 0; k < kPairs; ++k) {
    const int lower = (k >> bit << (bit + 1)) | (k & ((1 << bit) - 1));
    of_pair[k] = own;
    for (int b = 0; b < kMaxRegisterBits; ++b) of_pair[k] += lower >> b & 1 ? of_bit[b] : 0;
  }
  // number 0 of those without signs is a power of i, the most frequent one
  std::uint64_t known[ChoiceLift::kFactors]{};
  int count = 0, turned = kPairs;
  for (std::uint64_t quarter = 0; !way.is_signed && quarter < 4; ++quarter) {
    const auto others =
        static_cast<int>(std::count_if(of_pair, of_pair + kPairs, [&](std::uint64_t x) {
          return !is_rounding(x - (quarter << 62));
        }));
    if (quarter == 0 || others < turned) turned = others, known[0] = quarter << 62;
    count = 1;
  }
  for (int k = 0; k < kPairs; ++k) {
    int c = 0;
    while (c < count && !is_rounding(of_pair[k] - known[c])) ++c;
    if (c == count) {
      if (count == ChoiceLift::kFactors) return std::nullopt;
      known[count++] = of_pair[k];
    }
    way.pairs |= static_cast<std::uint32_t>(c) << 2 * k;
  }
  for (int c = 0; c < count; ++c) {
    way.turns[0][c] = known[c];
    way.turns[1][c] = known[c] + outside;
  }
  way.lifts += 2.0 * turned / kMultiplyAdds;
  way.cost += costs_.lift * 2 * turned / kMultiplyAdds + kFactor * count;
  const double m = std::abs(magnitude_[slot]);  // with the same half as before, numbers come again
  if (m != 1 && (m > 1) != is_reversed) way.cost += kOtherHalf;
  if (is_reversed) {
    way.owed = own;
    for (SlotTerm& term : taken) {
      term.slots &= ~(1u << slot);
      add_term(pool, term);
    }
  }
  return way;
}

/// The other half than before makes numbers as much larger as t is smaller than 1.
bool Emitter::has_range_for(int slot, double t, bool is_reversed) const {
  const double own = std::abs(magnitude_[slot]);
  if (own == 1 || (own > 1) == is_reversed) return true;
  double smallest = unit_ * std::abs(t);
  for (int s = 0; s < shape_.tile_qubits; ++s) smallest *= std::min(1.0, std::abs(magnitude_[s]));
  return smallest > (shape_.precision == Precision::kDouble ? 0x1p-400 : 0x1p-60);
}

/// What the terms that are left cost later: phases of bits that take no other ones, and of those
/// that nothing mixes any more one of all amplitudes.
double Emitter::cost_of_left(const LiftSearch& search, const std::vector<SlotTerm>& pool) const {
  std::uint32_t tied = search.bound, alone = 0;
  for (const SlotTerm& term : pool) {
    const bool is_alone = std::has_single_bit(term.slots) && !term.tile;
    (is_alone ? alone : tied) |= term.slots;
  }
  const std::uint32_t at_end = alone & ~tied & ~search.mixed;
  return costs_.tau * std::popcount(alone & ~tied & search.mixed) +
         (at_end ? costs_.phase_all + kFactor * std::popcount(at_end) : 0);
}

/// Tries the lifts of `left` in every order. `before`: the lift that ran last; those that have no
/// phase with it run in ascending order.
void Emitter::search_lifts(LiftSearch& search, std::uint32_t left, const LiftWay* before,
                           const std::vector<SlotTerm>& pool, double cost) const {
  if (search.found && cost >= search.best_cost) return;
  if (!left) {
    const double all = cost + cost_of_left(search, pool);
    if (search.found && all >= search.best_cost) return;
    search.found = true;
    search.best_cost = all;
    search.best = search.now;
    search.left = pool;
    return;
  }
  if (++search.steps > kMostSteps) return;
  const auto go_on = [&](std::size_t k, bool is_reversed) {
    std::vector<SlotTerm> rest = pool;
    const std::optional<LiftWay> way =
        lift_way(search.slots[k], search.numbers[k], is_reversed, rest);
    if (!way) return;
    search.now.push_back(*way);
    const LiftWay copy = *way;
    search_lifts(search, left & ~(1u << k), copy.is_plain ? before : &copy, rest, cost + way->cost);
    search.now.pop_back();
  };
  std::uint32_t waiting = 0;
  for (const SlotTerm& term : pool) waiting |= term.slots;
  for (std::size_t k = 0; k < search.slots.size(); ++k) {
    if ((left >> k & 1) && !(waiting >> search.slots[k] & 1)) return go_on(k, false);
  }
  for (std::size_t k = 0; k < search.slots.size(); ++k) {
    if (!(left >> k & 1)) continue;
    const int slot = search.slots[k];
    if (before && slot < before->slot && !(before->neighbours >> slot & 1)) continue;
    for (const bool reversed : {false, true}) {
      if (search.may_be[reversed][k]) go_on(k, reversed);
    }
  }
}

/// What comes from an item on.
void Emitter::look_ahead(LiftSearch& search, const std::vector<Phase>& phases, std::size_t phase,
                         std::size_t item) const {
  std::uint32_t &bound = search.bound, &mixed = search.mixed;
  for (; phase < phases.size(); ++phase, item = 0) {
    const std::vector<Item>& items = phases[phase].items;
    for (; item < items.size(); ++item) {
      if (items[item].op >= 0) {
        mixed |= slots_.ops[static_cast<std::size_t>(items[item].op)].target_mask;
        continue;
      }
      const SlotTerm& term = slots_.terms[static_cast<std::size_t>(items[item].term)];
      if (std::popcount(term.slots) + std::popcount(term.tile) > 1) bound |= term.slots & ~mixed;
    }
    for (std::int32_t map : phases[phase].maps)
      mixed |= slots_.ops[static_cast<std::size_t>(map)].target_mask;
  }
}

/// Runs the lifts side by side that begin with an item. Returns how many; 0 where they have to be
/// written another way.
std::size_t Emitter::lifts_with_phases(const std::vector<Phase>& phases, std::size_t phase,
                                       std::size_t item) {
  if (!choice_.compiled) return 0;
  LiftSearch search;
  std::uint32_t touched = 0, left = 0;
  const std::vector<Item>& items = phases[phase].items;
  for (std::size_t i = item; i < items.size() && items[i].op >= 0; ++i) {
    const SlotOp& op = slots_.ops[static_cast<std::size_t>(items[i].op)];
    if (op.kind != OpKind::kLift || (touched & op.target_mask)) break;
    touched |= op.target_mask;
    left |= 1u << search.slots.size();
    search.slots.push_back(op.targets[0]);
    search.numbers.push_back(op.action->m[0]);
    for (const bool reversed : {false, true}) {
      search.may_be[reversed].push_back(has_range_for(op.targets[0], op.action->m[0], reversed));
    }
  }
  const bool any = std::any_of(pool_.begin(), pool_.end(),
                               [&](const SlotTerm& term) { return (term.slots & touched) != 0; });
  if (!any) return 0;
  look_ahead(search, phases, phase, item + search.slots.size());
  search_lifts(search, left, nullptr, pool_, 0);
  if (!search.found) return 0;
  pool_ = std::move(search.left);
  for (const LiftWay& way : search.best) {
    owed_ += way.owed;
    if (way.is_plain) {
      lift(way.slot, way.t);
    } else {
      choice_lift(way);
    }
  }
  return search.slots.size();
}

/// A lift with nothing before it, with the numbers of those that take phases: lifts by one angle
/// have the same ones, whatever was left out on their slots. False where they would be too small,
/// and in single precision: the same rounding a hundred times adds up (a norm of 1 - 3e-6 after
/// 300 lifts).
bool Emitter::plain_lift(int slot, double t) {
  const bool is_double = shape_.precision == Precision::kDouble;
  if (!choice_.compiled || !is_double || std::abs(t) < kSmallestLift) return false;
  LiftWay way;
  way.slot = slot;
  way.t = t;
  way.is_reversed = std::abs(magnitude_[slot]) > 1;
  way.cost = costs_.lift;
  choice_lift(way);
  return true;
}

/// [[1, -t], [t, 1]] diag(1, W m) as lift_with_phase() writes it or, reversed, on diag(W*, m) with
/// the halves' parts exchanged: the 0-half stored as 1 / (-t m) of itself.
void Emitter::choice_lift(const LiftWay& way) {
  const double t = way.t;
  double& m = magnitude_[way.slot];
  constexpr double kSmallest = 1.0 / 256, kLargest = 256;
  if (std::abs(m) < kSmallest || std::abs(m) > kLargest) reset_magnitude(way.slot);
  const double size = 1 + t * t;
  const double g = way.is_reversed ? -1 / (t * m) : m / t;
  const double scale = way.is_reversed ? -t * m : size;
  unit_ *= std::abs(scale) / std::sqrt(size);
  out_.frame.scale_re *= scale;
  out_.frame.scale_im *= scale;
  std::vector<std::byte> payload;
  put(payload, t * t / size);
  // number 0 is g or, imaginary, i g
  const cplx first = factor_of(way.turns[0][0]);
  const bool is_imaginary = !way.is_signed && std::abs(first.imag()) > std::abs(first.real());
  const double sign_of_first =
      is_imaginary ? (way.is_reversed ? -first.imag() : first.imag()) : first.real();
  if (way.is_signed) {
    append(payload, &way.sign_bit, sizeof way.sign_bit);
    payload.resize(amplitude_bytes(shape_.precision));
  } else {
    put(payload, g * sign_of_first);
  }
  const int numbers = ChoiceLift::num_numbers(way.pairs, way.is_signed);
  for (int k = 0; k < (numbers - ChoiceLift::kFirstFactor) / 2; ++k) {
    const cplx w = factor_of(way.turns[k / ChoiceLift::kFactors][k % ChoiceLift::kFactors]);
    put(payload, g * (way.is_reversed ? std::conj(w) : w));
  }
  m = way.is_reversed ? -size / t : t / size;
  cost_ += way.cost;
  paid_.lift += way.lifts;
  OpHead head;
  head.pairs = way.pairs;
  head.word = OpWord::kind((way.is_signed ? ChoiceLift::kSigned : 0) |
                           (way.is_reversed ? ChoiceLift::kReversed : 0)) |
              OpWord::index(is_imaginary ? ChoiceLift::kImaginary : 0);
  emit(kChoiceLift + static_cast<std::uint32_t>(layout_->bit_of[way.slot]), head, {},
       std::move(payload));
}

}  // namespace tilewave::statevec::tile::detail
