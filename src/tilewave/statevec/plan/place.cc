// Every wire has a position. A pass maps its actions from wires to positions, groups phases into
// blocks, and chooses where its wires go on store: the row of the next pass needs `row` wires of
// this one on the low positions.
//
// Phase blocks: terms wait in a phase polynomial until an action changes one of their wires; then
// all waiting terms are written as one block (a block costs the same however many terms it has) or,
// with late_phases, those of the wires about to change. A lift that meets only a linear term of its
// own wire takes it along as its pre-phase. What still waits at the end of a pass moves on to the
// next.
#include "tilewave/statevec/plan/place.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/pass_price.h"
#include "tilewave/statevec/plan/pass_rows.h"
#include "tilewave/statevec/plan/phase_state.h"
#include "tilewave/statevec/plan/search.h"

namespace tilewave::statevec::detail {

namespace {

class Placer {
 public:
  Placer(const Lowered& lowered, int num_qubits, const PlanOptions& options)
      : in_(lowered),
        options_(options),
        n_(num_qubits),
        local_(n_ - options.cost.shard_bits),
        tile_(std::min(options.cost.tile_qubits, local_)),
        row_(std::min(options.cost.row_bits, tile_)),
        waiting_(num_qubits),
        pos_(n_),
        wire_at_(n_),
        home_(n_) {
    plan_.num_qubits = n_;
    plan_.precision = options.precision;
    plan_.tile_qubits = tile_;
    plan_.row_bits = row_;
    plan_.shard_bits = n_ - local_;
    plan_.layout_before = options.layout;
    plan_.matrices = lowered.matrices;
    plan_.num_circuit_gates = lowered.num_gates;
    known_ = options.from_zeros ? low_mask(n_) : options.known_zero;
    plan_.from_zeros = known_ == low_mask(n_) && options.layout.is_identity(n_);
    flips_ = lowered.flips;
    for (int w = 0; w < n_; ++w) {
      pos_[w] = options.layout.position[w];
      wire_at_[pos_[w]] = w;
    }
    for (int q = 0; q < n_; ++q) home_[lowered.wire_of[q]] = q;
  }

  Plan run(std::vector<WirePass> passes) {
    passes = limited(std::move(passes));
    choose_rows(passes, in_, n_, options_.cost);
    for (std::size_t k = 0; k < passes.size(); ++k) {
      const bool last = k + 1 == passes.size();
      add_pass(passes[k], last ? 0 : passes[k + 1].row, last);
    }
    return end();
  }

  Plan run_segments(const std::vector<Need>& needs, std::vector<Segment> segments,
                    const ScheduleOptions& limits);

 private:
  std::vector<WirePass> limited(std::vector<WirePass> passes) {
    const std::size_t before = passes.size();
    passes = limit_growth(std::move(passes), in_, options_.precision,
                          options_.rewrites.forces(Rewrite::kSplit));
    if (passes.size() > before) plan_.rewrites.add(Rewrite::kSplit);
    return passes;
  }

  Plan end() {
    if (plan_.passes.empty() && in_.global_turns) {  // nothing but a global phase
      WirePass all;
      for (int p = 0; p < tile_; ++p) all.active |= bit(wire_at_[p]);
      add_pass(all, 0, true);
    }
    if (options_.restore_layout) restore();
    finish();
    return std::move(plan_);
  }

  std::uint64_t wires_at(std::uint64_t positions) const {
    std::uint64_t mask = 0;
    for_each_bit(positions, [&](int p) { mask |= bit(wire_at_[p]); });
    return mask;
  }

  std::uint64_t positions(std::uint64_t wires) const {
    std::uint64_t mask = 0;
    for_each_bit(wires, [&](int w) { mask |= bit(pos_[w]); });
    return mask;
  }

  // Writes the waiting terms with one of `wires` as one block.
  void write_phase_block(Pass& pass, std::uint64_t wires) {
    std::vector<PhaseTerm> terms;
    for_each_bit(wires, [&](int w) {
      waiting_.take_terms_with(w, [&](std::uint64_t mask, std::uint64_t turns) {
        terms.push_back({positions(mask), turns});
      });
    });
    if (terms.empty()) return;
    Action action;
    action.kind = ActionKind::kPhase;
    action.first = static_cast<std::uint32_t>(plan_.terms.size());
    action.count = static_cast<std::uint32_t>(terms.size());
    plan_.terms.insert(plan_.terms.end(), terms.begin(), terms.end());
    pass.actions.push_back(action);
  }

  // Runs the actions of a pass in an order with few phase blocks: every round takes all terms that
  // are free into the waiting polynomial and writes every other free action no waiting term holds
  // back; when nothing more is free, the waiting terms are written as one block.
  void add_actions(Pass& pass, const std::vector<std::uint32_t>& indices) {
    std::vector<std::uint32_t> remaining = indices;
    std::size_t first = 0;  // those before it are done
    while (first < remaining.size()) {
      std::uint64_t changed = 0, read = 0;  // wires of skipped actions
      std::uint64_t held = 0;               // targets that wait for phases only
      std::size_t kept = first, end = first;
      // once every wire is held back nothing later can run
      for (; end < remaining.size() && (low_mask(n_) & ~changed); ++end) {
        now_and_then_.step();
        const std::uint32_t k = remaining[end];
        const Action& a = in_.actions[k];
        if (a.kind == ActionKind::kPhase) {
          const PhaseTerm& t = in_.terms[a.first];
          if (!(t.mask & changed)) {
            waiting_.add(t.mask, t.turns);
            continue;
          }
          read |= t.mask;
        } else {
          const std::uint64_t targets = a.target_mask();
          if (!(targets & (changed | read)) && !(a.control_mask & changed)) {
            if (!is_held(a)) {
              write_action(pass, a);
              continue;
            }
            held |= targets;
          }
          changed |= targets;
          read |= a.control_mask;
        }
        remaining[kept++] = k;
      }
      const bool waits = kept > first || end < remaining.size();
      // what was skipped moves up to what was not looked at
      const auto skipped = remaining.begin() + static_cast<std::ptrdiff_t>(kept);
      std::move_backward(remaining.begin() + static_cast<std::ptrdiff_t>(first), skipped,
                         remaining.begin() + static_cast<std::ptrdiff_t>(end));
      first += end - kept;
      if (waits) write_phase_block(pass, options_.cost.late_phases ? held : low_mask(n_));
    }
  }

  bool is_held(const Action& a) const {
    bool held = false;
    for_each_bit(a.target_mask(), [&](int w) {
      held |= waiting_.is_nonlinear_in(w) || (waiting_.linear(w) && a.kind != ActionKind::kLift);
    });
    return held;
  }

  void write_action(Pass& pass, Action action) {
    if (action.kind == ActionKind::kLift) {
      action.pre_turns = waiting_.take_linear(action.targets[0]);
      pass.scale *= 1 / std::sqrt(1 + action.m[0] * action.m[0]);
    }
    touched_ |= action.target_mask();
    action.control_value = positions(action.control_value);
    action.control_mask = positions(action.control_mask);
    for (int k = 0; k < action.num_targets; ++k) {
      action.targets[k] = static_cast<std::uint8_t>(pos_[action.targets[k]]);
    }
    pass.actions.push_back(action);
  }

  // Gives every active wire a position: `low` wires on the row, wires that can go home on the last
  // pass, wires that leave this rank on top, others stay.
  void choose_dest(Pass pass, std::uint64_t active, std::uint64_t low, bool last,
                   std::uint64_t leaving = 0) {
    const std::uint64_t slots = positions(active);
    std::vector<int> to(n_, -1);
    std::uint64_t free_slots = slots;
    const auto assign = [&](int w, int p) {
      to[w] = p;
      free_slots &= ~bit(p);
    };
    if (last) {
      for_each_bit(active, [&](int w) {
        if (slots >> home_[w] & 1) assign(w, home_[w]);
      });
    } else {
      std::uint64_t top = slots;
      while (std::popcount(top) > std::popcount(leaving & active)) top &= top - 1;
      for_each_bit(leaving & active, [&](int w) {
        if (top >> pos_[w] & 1) assign(w, pos_[w]);
      });
      for_each_bit(leaving & active, [&](int w) {
        if (to[w] < 0) assign(w, 63 - std::countl_zero(free_slots & top));
      });
      for_each_bit(low, [&](int w) {
        if (to[w] < 0 && (free_slots & low_mask(row_)) >> pos_[w] & 1) assign(w, pos_[w]);
      });
      for_each_bit(low, [&](int w) {
        if (to[w] < 0 && (free_slots & low_mask(row_))) {
          assign(w, std::countr_zero(free_slots & low_mask(row_)));
        }
      });
    }
    for_each_bit(active, [&](int w) {
      if (to[w] < 0 && (free_slots >> pos_[w] & 1)) assign(w, pos_[w]);
    });
    for_each_bit(active, [&](int w) {
      if (to[w] < 0) assign(w, std::countr_zero(free_slots));
    });
    store(std::move(pass), active, to, last && options_.restore_layout);
  }

  // Ends a pass: moves wires, applies pending flips of active wires if asked, and keeps the known
  // zeros up to date.
  void store(Pass pass, std::uint64_t active, const std::vector<int>& to, bool apply_flips) {
    std::uint64_t known = known_ & ~positions(active);
    if (apply_flips) {
      for_each_bit(flips_ & active, [&](int w) { pass.store_flips |= bit(to[w]); });
      touched_ |= flips_ & active;
      flips_ &= ~active;
    }
    for (int p = 0; p < n_; ++p) {
      const int w = wire_at_[p];
      if (!(active >> w & 1)) continue;
      pass.active.push_back(static_cast<std::uint8_t>(p));
      pass.dest.push_back(static_cast<std::uint8_t>(to[w]));
      if ((known_ >> p & 1) && !(touched_ >> w & 1)) known |= bit(to[w]);
    }
    pass.known_zero_before = known_;
    for_each_bit(active, [&](int w) { pos_[w] = to[w]; });
    for_each_bit(active, [&](int w) { wire_at_[pos_[w]] = w; });
    known_ = known;
    pass.known_zero_after = known;
    touched_ = 0;
    price_pass(pass, plan_, options_.cost);
    plan_.passes.push_back(std::move(pass));
  }

  void add_pass(const WirePass& wires, std::uint64_t next_row, bool last,
                std::uint64_t leaving = 0) {
    Pass pass;
    add_actions(pass, wires.actions);
    pass.num_gates = static_cast<std::uint32_t>(wires.actions.size());
    if (last) {
      write_phase_block(pass, low_mask(n_));
      const double angle =
          static_cast<double>(static_cast<std::int64_t>(in_.global_turns + waiting_.constant())) *
          0x1p-63 * std::numbers::pi;
      pass.scale *= cplx{std::cos(angle), std::sin(angle)};
    }
    choose_dest(std::move(pass), wires.active, next_row, last, leaving);
  }

  void exchange(const std::vector<std::pair<int, int>>& relabels,
                const std::vector<std::pair<int, int>>& swaps, std::uint64_t flips);
  void exchange_to(std::uint64_t remote);
  void bring_shards_home();
  void restore();
  void finish();

  const Lowered& in_;
  const PlanOptions& options_;
  int n_, local_, tile_, row_;
  Plan plan_;
  PhaseState waiting_;
  std::vector<int> pos_, wire_at_, home_;
  std::vector<std::size_t> returns_;  // of a wire: the next segment it is local in
  std::uint64_t known_ = 0, touched_ = 0, flips_ = 0;
  InterruptCounter now_and_then_{1U << 14};
};

// The segments of a sharded circuit: passes over the local wires of each, an exchange between two.
Plan Placer::run_segments(const std::vector<Need>& needs, std::vector<Segment> segments,
                          const ScheduleOptions& limits) {
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Segment segment = segments[s];
    const bool last_segment = s + 1 == segments.size();
    // when each wire is wanted next
    returns_.assign(static_cast<std::size_t>(n_), segments.size());
    for (std::size_t t = segments.size(); t-- > s + 1;) {
      for_each_bit(low_mask(n_) & ~segments[t].remote,
                   [&](int w) { returns_[static_cast<std::size_t>(w)] = t; });
    }
    exchange_to(segment.remote);
    std::vector<Need> own;
    own.reserve(segment.actions.size());
    for (const std::uint32_t k : segment.actions) own.push_back(needs[k]);
    ScheduleOptions here = limits;
    here.wires = low_mask(n_) & ~segment.remote;
    here.first_row = wires_at(low_mask(row_));
    if (!plan_.passes.empty()) {  // few positions on both sides of an exchange: more slices
      std::uint64_t active = 0;
      for (const int p : plan_.passes.back().active) active |= bit(p);
      here.near = wires_at(active);
    }
    std::vector<WirePass> passes = find_schedule(own, here, options_.memory);
    for (WirePass& pass : passes) {
      for (std::uint32_t& k : pass.actions) k = segment.actions[k];
    }
    const RewriteChoice& choice = options_.rewrites;
    if (!last_segment && choice.allows(Rewrite::kDeferred) &&
        defer_passes(needs, limits, row_, s, choice.forces(Rewrite::kDeferred), segments, passes))
      plan_.rewrites.add(Rewrite::kDeferred);
    passes = limited(std::move(passes));
    choose_rows(passes, in_, n_, options_.cost);
    Handover over;
    if (!last_segment && !passes.empty() && choice.allows(Rewrite::kHandedOver)) {
      over = hand_over(needs, segment, segments[s + 1], row_, passes.back());
      if (over.leaving & passes.back().active) plan_.rewrites.add(Rewrite::kHandedOver);
    }
    for (std::size_t k = 0; k < passes.size(); ++k) {
      const bool last = k + 1 == passes.size();
      add_pass(passes[k], last ? over.next_row : passes[k + 1].row, last && last_segment,
               last ? over.leaving : 0);
    }
  }
  return end();
}

void Placer::exchange(const std::vector<std::pair<int, int>>& relabels,
                      const std::vector<std::pair<int, int>>& swaps, std::uint64_t flips) {
  if (relabels.empty() && swaps.empty() && !flips) return;
  Exchange step;
  step.before_pass = static_cast<std::uint32_t>(plan_.passes.size());
  step.known_zero_before = known_;
  double parts = std::ldexp(1, n_ - std::popcount(known_));
  const auto swap_positions = [&](int a, int b, std::vector<Exchange::Pair>& list) {
    std::swap(wire_at_[a], wire_at_[b]);
    std::swap(pos_[wire_at_[a]], pos_[wire_at_[b]]);
    const std::uint64_t values = (known_ >> a & 1) << b | (known_ >> b & 1) << a;
    known_ = (known_ & ~(bit(a) | bit(b))) | values;
    list.emplace_back(static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b));
  };
  for (const auto& [a, b] : relabels) swap_positions(a, b, step.relabels);
  // of the amplitudes that can be non-zero, those stay whose two bits of every pair agree
  double stay = parts;
  for (const auto& [a, b] : swaps) {
    if ((known_ >> a & 1) + (known_ >> b & 1) < 2) stay /= 2;
    swap_positions(a, b, step.swaps);
  }
  for_each_bit(flips, [&](int p) {
    step.flips |= bit(p);
    known_ &= ~bit(p);
    flips_ &= ~bit(wire_at_[p]);
  });
  step.known_zero_after = known_;
  const double ranks = std::ldexp(1, n_ - local_);
  step.bytes = static_cast<double>(amplitude_bytes(options_.precision)) * (parts - stay);
  if (step.bytes > 0) {
    step.predicted_s =
        step.bytes / ranks / options_.cost.exchange_bandwidth + options_.cost.exchange_overhead_s;
  }
  plan_.exchanges.push_back(std::move(step));
}

void Placer::exchange_to(std::uint64_t remote) {
  const std::uint64_t shards = low_mask(n_) & ~low_mask(local_);
  std::uint64_t leaving = positions(remote) & low_mask(local_);
  std::uint64_t entering = shards & ~positions(remote);
  std::vector<std::pair<int, int>> swaps;
  // links of lower bits of the rank are the faster ones where they differ: for what is back soonest
  const auto pair = [&](std::uint64_t out, std::uint64_t in) {
    std::vector<int> order;
    for_each_bit(out, [&](int p) { order.push_back(p); });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return returns_[static_cast<std::size_t>(wire_at_[a])] <
             returns_[static_cast<std::size_t>(wire_at_[b])];
    });
    for (const int a : order) {
      if (!in) break;
      const int b = std::countr_zero(in);
      swaps.emplace_back(a, b);
      leaving &= ~bit(a), entering &= ~bit(b);
      in &= in - 1;
    }
  };
  pair(leaving & known_, entering & known_);  // both known to be zero: nothing moves
  pair(leaving, entering);
  exchange({}, swaps, 0);
}

// The shard positions hold their own qubits, without flips.
void Placer::bring_shards_home() {
  std::vector<std::pair<int, int>> relabels, swaps;
  // names first: what lives on some shard position and belongs on another
  std::vector<int> at(wire_at_);
  for (int p = local_; p < n_; ++p) {
    while (home_[at[p]] >= local_ && home_[at[p]] != p) {
      const int to = home_[at[p]];
      relabels.emplace_back(p, to);
      std::swap(at[p], at[to]);
    }
  }
  std::uint64_t flips = 0;
  for (int p = local_; p < n_; ++p) {
    int w = at[p];
    if (home_[w] != p) {
      for (w = 0; home_[w] != p;) ++w;
      swaps.emplace_back(pos_[w], p);
    }
    if (flips_ >> w & 1) flips |= bit(p);
  }
  exchange(relabels, swaps, flips);
}

// Passes that only move: each completes as many cycles of the remaining permutation as fit, then
// pieces of cycles.
void Placer::restore() {
  if (local_ < n_) bring_shards_home();
  while (true) {
    std::uint64_t misplaced = flips_;
    for (int w = 0; w < n_; ++w) {
      if (pos_[w] != home_[w]) misplaced |= bit(w);
    }
    if (!misplaced) return;
    std::uint64_t slots = low_mask(row_);
    const auto add_cycle = [&](int start, bool whole) {
      std::uint64_t cycle = 0;
      int w = start;
      do {
        cycle |= bit(pos_[w]);
        w = wire_at_[home_[w]];
      } while (w != start && (whole || std::popcount(slots | cycle) < tile_));
      if (std::popcount(slots | cycle) <= tile_) slots |= cycle;
    };
    for (bool whole : {true, false}) {
      for_each_bit(misplaced, [&](int w) {
        if (!(slots >> pos_[w] & 1) || whole) add_cycle(w, whole);
      });
    }
    std::uint64_t active = 0;
    for_each_bit(slots, [&](int p) { active |= bit(wire_at_[p]); });
    std::uint64_t padding = low_mask(local_) & ~slots;
    for (; std::popcount(active) < tile_; padding &= padding - 1)
      active |= bit(wire_at_[std::countr_zero(padding)]);
    choose_dest(Pass{}, active, 0, true);
  }
}

void Placer::finish() {
  for (int q = 0; q < n_; ++q) {
    const int w = in_.wire_of[q];
    plan_.layout_after.position[q] = static_cast<std::uint8_t>(pos_[w]);
    if (flips_ >> w & 1) plan_.layout_after.flips |= bit(q);
  }
  plan_.known_zero_after = known_;
  for (const Pass& pass : plan_.passes) plan_.predicted_s += pass.predicted_s;
  for (const Exchange& step : plan_.exchanges) plan_.predicted_s += step.predicted_s;
  plan_.predicted_s -= hidden_s(plan_, options_.cost.overlap);
}

}  // namespace

Plan place(const Lowered& lowered, std::vector<WirePass> passes, int num_qubits,
           const PlanOptions& options) {
  return Placer(lowered, num_qubits, options).run(std::move(passes));
}

Plan place_shards(const Lowered& lowered, const std::vector<Need>& needs,
                  const std::vector<Segment>& segments, const ScheduleOptions& limits,
                  const PlanOptions& options) {
  return Placer(lowered, limits.num_wires, options).run_segments(needs, segments, limits);
}

}  // namespace tilewave::statevec::detail
