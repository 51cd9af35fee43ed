#include "tilewave/statevec/plan/move_passes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "tilewave/base/bits.h"

namespace tilewave::statevec::detail {

namespace {

// What is at position p goes to position to[p].
struct Moves {
  std::array<std::uint8_t, 64> to = Layout::identity().position;

  explicit Moves(const Pass& pass) {
    for (std::size_t s = 0; s < pass.active.size(); ++s) to[pass.active[s]] = pass.dest[s];
  }
  Moves() = default;

  std::uint64_t moved() const {
    std::uint64_t mask = 0;
    for (int p = 0; p < 64; ++p) mask |= to[p] != p ? bit(p) : 0;
    return mask;
  }
  std::uint64_t operator()(std::uint64_t positions) const {
    std::uint64_t mask = 0;
    for_each_bit(positions, [&](int p) { mask |= bit(to[p]); });
    return mask;
  }
  Moves inverse() const {
    Moves back;
    for (int p = 0; p < 64; ++p) back.to[to[p]] = static_cast<std::uint8_t>(p);
    return back;
  }
};

bool is_single_flip(const Action& a) {
  return a.kind == ActionKind::kFlip && std::has_single_bit(a.control_mask);
}

Action at_positions(Action flip, const Moves& moves) {
  flip.control_value = moves(flip.control_value);
  flip.control_mask = moves(flip.control_mask);
  flip.targets[0] = moves.to[flip.targets[0]];
  return flip;
}

class Widener {
 public:
  Widener(Plan& plan, const CostModel& cost, const RewriteChoice& choice)
      : plan_(plan), cost_(cost), choice_(choice) {}

  void run() {
    std::vector<Pass>& passes = plan_.passes;
    for (std::size_t k = 0; k + 1 < passes.size();) {
      std::optional<Pass> both;
      if (choice_.allows(Rewrite::kMergedMoves) && only_moves(passes[k]) &&
          only_moves(passes[k + 1]))
        both = one_after_other(passes[k], passes[k + 1]);
      if (both) {
        plan_.rewrites.add(Rewrite::kMergedMoves);
        passes[k] = std::move(*both);
        passes.erase(passes.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      } else {
        ++k;
      }
    }
    for (std::size_t k = 0; k < passes.size() && choice_.allows(Rewrite::kTakenMoves); ++k) {
      if (!only_moves(passes[k])) continue;
      if (k > 0) {
        exchange(k - 1, k, [&](int least) { return take_last(passes[k - 1], passes[k], least); });
      }
      if (k + 1 < passes.size()) {
        exchange(k + 1, k, [&](int least) { return take_first(passes[k + 1], passes[k], least); });
      }
    }
    for (Pass& pass : passes) {
      if (choice_.allows(Rewrite::kSmallTile) && !only_moves(pass)) shrink_alone(pass);
    }
    plan_.predicted_s = 0;
    for (const Pass& pass : passes) plan_.predicted_s += pass.predicted_s;
  }

 private:
  using Two = std::pair<Pass, Pass>;  // a pass, and beside it one that only moves

  std::uint64_t row() const { return low_mask(plan_.row_bits); }

  // All of it is a map of rows.
  bool only_moves(const Pass& pass) const {
    const auto is_of_rows = [&](const Action& a) {
      return is_single_flip(a) && !((a.control_mask | a.target_mask()) & row());
    };
    return !pass.known_zero_before && !pass.store_flips && pass.scale.imag() == 0 &&
           !(Moves(pass).moved() & row()) &&
           std::all_of(pass.actions.begin(), pass.actions.end(), is_of_rows);
  }

  static void set_positions(Pass& pass, std::uint64_t active, const Moves& moves) {
    pass.active.clear();
    pass.dest.clear();
    for_each_bit(active, [&](int p) {
      pass.active.push_back(static_cast<std::uint8_t>(p));
      pass.dest.push_back(moves.to[p]);
    });
  }

  // Of a pass that is complete but for them.
  void set_active(Pass& pass, std::uint64_t active, const Moves& moves) const {
    set_positions(pass, active, moves);
    pass.predicted_s = cost_.price(plan_, pass, cost_);
  }

  // Two that only move as one; none where it would be too much for one.
  std::optional<Pass> one_after_other(const Pass& first, const Pass& second) const {
    const Moves a(first), b(second), back = a.inverse();
    Pass both = second;
    both.actions = first.actions;
    for (const Action& flip : second.actions) both.actions.push_back(at_positions(flip, back));
    std::uint64_t seen = 0;
    for (const Action& flip : both.actions) seen |= flip.control_mask;
    Moves moves;
    for (int p = 0; p < 64; ++p) moves.to[p] = b.to[a.to[p]];
    const std::uint64_t changed = targets_of(both) | moves.moved();
    if (std::popcount(seen | changed) > cost_.move_positions) return std::nullopt;
    both.scale *= first.scale;
    both.bytes = std::max(first.bytes, second.bytes);
    both.num_gates += first.num_gates;
    both.flops += first.flops;
    set_active(both, changed | row(), moves);
    if (!only_moves(both)) return std::nullopt;
    return both;
  }

  std::uint64_t targets_of(const Pass& pass) const {
    std::uint64_t mask = 0;
    for (const Action& a : pass.actions) mask |= a.target_mask();
    return mask;
  }

  // Positions that cannot be left out of the tile. X on store is applied after the moves.
  std::uint64_t needed(const Pass& pass) const {
    const Moves moves(pass);
    return row() | targets_of(pass) | moves.moved() | moves.inverse()(pass.store_flips);
  }

  // Puts the pass, whose other positions are not needed, on a tile of these and as many more as
  // make a small one; false where that is not smaller than it was.
  bool shrink(Pass& pass, std::uint64_t active, const Moves& moves) const {
    for (int p = 0; p < plan_.num_qubits && std::popcount(active) < cost_.small_tile_qubits; ++p)
      active |= bit(p);
    if (static_cast<std::size_t>(std::popcount(active)) >= pass.active.size()) return false;
    set_active(pass, active, moves);
    return true;
  }

  void shrink_alone(Pass& pass) const {
    if (pass.known_zero_before) return;
    Pass small = pass;
    if (!shrink(small, needed(pass), Moves(pass))) return;
    if (!choice_.forces(Rewrite::kSmallTile) && small.predicted_s >= kClearly * pass.predicted_s)
      return;
    pass = std::move(small);
    plan_.rewrites.add(Rewrite::kSmallTile);
  }

  // Puts the cheapest of what `give` finds for flips of positions from `least` on in place of a
  // pass and of one that only moves.
  template <class Give>
  void exchange(std::size_t pass, std::size_t moves, Give give) {
    std::optional<Two> best;
    double best_s = choice_.forces(Rewrite::kTakenMoves)
                        ? std::numeric_limits<double>::infinity()
                        : plan_.passes[pass].predicted_s + plan_.passes[moves].predicted_s;
    const auto look = [&](int least) {
      std::optional<Two> two = give(least);
      if (!two) return;
      const double seconds = two->first.predicted_s + two->second.predicted_s;
      if (seconds >= kClearly * best_s) return;
      best_s = seconds;
      best = std::move(two);
    };
    for (int least = plan_.tile_qubits; least >= cost_.small_tile_qubits; --least) look(least);
    look(plan_.row_bits);
    if (!best) return;
    plan_.passes[pass] = std::move(best->first);
    plan_.passes[moves] = std::move(best->second);
    plan_.rewrites.add(Rewrite::kTakenMoves);
  }

  // Takes flips out of the actions, from the front or from the end, that can be done before or
  // after all the others. Those of targets below `least` stay.
  std::vector<Action> take_flips(Pass& pass, int least, bool at_start) const {
    std::vector<Action> taken, left;
    std::uint64_t changed = 0, read = 0;  // by what stays
    if (!at_start) std::reverse(pass.actions.begin(), pass.actions.end());
    for (const Action& a : pass.actions) {
      if (is_single_flip(a) && a.targets[0] >= least && !(a.control_mask & row()) &&
          !(a.target_mask() & (changed | read)) && !(a.control_mask & changed)) {
        taken.push_back(a);
        continue;
      }
      left.push_back(a);
      if (a.kind == ActionKind::kPhase) {
        for (std::uint32_t t = a.first; t < a.first + a.count; ++t) read |= plan_.terms[t].mask;
      } else {
        changed |= a.target_mask();
        read |= a.control_mask;
      }
    }
    if (!at_start) {
      std::reverse(left.begin(), left.end());
      std::reverse(taken.begin(), taken.end());
    }
    pass.actions = std::move(left);
    return taken;
  }

  // The last flips of a pass, and moves of positions that it does not need, into the one after it.
  std::optional<Two> take_last(const Pass& pass, const Pass& after, int least) const {
    if (pass.known_zero_before || pass.store_flips) return std::nullopt;
    Pass left = pass, taken;
    taken.actions = take_flips(left, least, false);
    const Moves all(pass);
    std::uint64_t active = row() | targets_of(left);
    while (all(active) & ~active) active |= all(active);
    Moves stay = all, go = all;
    for (int p = 0; p < 64; ++p) (active >> p & 1 ? go : stay).to[p] = static_cast<std::uint8_t>(p);
    for (Action& flip : taken.actions) flip = at_positions(flip, stay);
    set_positions(taken, go.moved(), go);
    if (!shrink(left, active, stay)) return std::nullopt;
    return both_of(std::move(left), taken, one_after_other(taken, after));
  }

  // The first flips of a pass into the one before it.
  std::optional<Two> take_first(const Pass& pass, const Pass& before, int least) const {
    if (pass.known_zero_before) return std::nullopt;
    Pass left = pass, taken;
    taken.actions = take_flips(left, least, true);
    if (!shrink(left, needed(left), Moves(pass))) return std::nullopt;
    return both_of(std::move(left), taken, one_after_other(before, taken));
  }

  static std::optional<Two> both_of(Pass left, const Pass& taken, std::optional<Pass> moves) {
    if (!moves) return std::nullopt;
    const auto gates = static_cast<std::uint32_t>(taken.actions.size());
    left.num_gates -= std::min(left.num_gates, gates);
    moves->num_gates += gates;
    return Two{std::move(left), std::move(*moves)};
  }

  Plan& plan_;
  const CostModel& cost_;
  const RewriteChoice& choice_;
  static constexpr double kClearly = 0.995;  // predictions are not better than that
};

}  // namespace

void widen_moves(Plan& plan, const CostModel& cost, const RewriteChoice& choice) {
  if (plan.shard_bits == 0 && cost.price && cost.move_positions > 0)
    Widener(plan, cost, choice).run();
}

}  // namespace tilewave::statevec::detail
