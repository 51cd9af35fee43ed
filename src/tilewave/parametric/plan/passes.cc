// See passes.h.
#include "tilewave/parametric/plan/passes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/plan/waiting.h"

namespace tilewave::parametric {
namespace {

constexpr std::size_t kBeamWidth = 16;
// Of a search, at 2 ns or so: a second, or as long as a value with its gradient takes at 2 TB/s.
constexpr double kMostLooks = 5e8, kLooksPerAmplitude = 0.01;
constexpr double kMostWork = 1e6;  // states for a unit of work: a pass does as much as it can

Touch touch_of(const Action& a) { return {a.moved, a.moved | a.mask}; }

class Scheduler {
 public:
  Scheduler(const Actions& actions, int lane_bits, int row_bits, const std::vector<bool>& is_read,
            const PassOptions& options)
      : actions_(actions), is_read_(is_read), options_(options) {
    out_.num_wires = std::max({actions.num_wires, lane_bits + 1, options.least_wires});
    out_.lane_bits = lane_bits;
    out_.row_bits = std::min(row_bits, out_.num_wires - lane_bits);
    all_ = low_mask(out_.num_wires);
    zeros_ = options.from_zero ? all_ & ~low_mask(lane_bits) : 0;
    always_ = low_mask(std::min(lane_bits + kKeptLowWires, out_.num_wires));
  }

  Passes run() {
    std::vector<std::uint32_t> left(actions_.actions.size());
    for (std::size_t k = 0; k < left.size(); ++k) left[k] = static_cast<std::uint32_t>(k);
    for (const std::uint64_t active : choose(left)) {
      std::vector<std::uint32_t> taken, rest;
      split(left, active, &taken, &rest);
      emit(active, taken);
      left = std::move(rest);
    }
    out_.zeros = zeros_;
    out_.num_reads = static_cast<std::uint32_t>(out_.read_angle.size());
    return std::move(out_);
  }

 private:
  int most_active() const { return out_.lane_bits + out_.row_bits; }

  // How much runs with these wires active, of a window of what is left.
  std::size_t split(const std::vector<std::uint32_t>& left, std::uint64_t active,
                    std::vector<std::uint32_t>* taken, std::vector<std::uint32_t>* rest) const {
    Waiting waiting;
    std::size_t work = 0, cost = 0;
    std::uint64_t looks = 0;
    for (const std::uint32_t k : left) {
      const Action& a = actions_.actions[k];
      ++looks;
      if (cost < options_.most_cost && !(a.moved & ~active) && waiting.lets(touch_of(a))) {
        work += a.kind == ActionKind::kPhase ? 1 : 4;
        cost += a.kind == ActionKind::kPhase || a.kind == ActionKind::kFlip ? 1 : 4;
        if (taken) taken->push_back(k);
        continue;
      }
      waiting.add(touch_of(a));
      if (rest) {
        rest->push_back(k);
      } else if (cost >= options_.most_cost || (waiting.moved & active) == active ||
                 !(~waiting.moved & all_)) {
        break;  // nothing later can run
      }
    }
    looks_ += looks;
    return work;
  }

  // The wires of a pass for what is left, grown from several wires by what runs with one more.
  std::vector<std::uint64_t> candidates(const std::vector<std::uint32_t>& left, int step) const {
    if (most_active() >= out_.num_wires) return {all_};
    std::vector<std::uint64_t> found;
    std::set<std::uint64_t> seen;  // two that meet go on alike
    // matrices need their wires together, so the first that waits may always begin
    for (int start = -1; start < out_.num_wires; start += step) {
      std::uint64_t active = always_;
      if (start < 0 && !left.empty()) {
        active |= actions_.actions[left.front()].moved;
        if (std::popcount(active) > most_active())
          active = low_mask(out_.lane_bits) | actions_.actions[left.front()].moved;
      } else if (start >= 0) {
        active |= bit(start);
      }
      if (std::popcount(active) > most_active()) continue;
      bool meets = false;
      while (!meets && std::popcount(active) < most_active()) {
        std::uint64_t next = 0;
        std::size_t next_work = 0;
        for (int w = 0; w < out_.num_wires; ++w) {
          if (active & bit(w)) continue;
          const std::size_t more = split(left, active | bit(w), nullptr, nullptr);
          if (next && more <= next_work) continue;
          next = bit(w);
          next_work = more;
        }
        active |= next;
        meets = !seen.insert(active).second;
      }
      if (!meets) found.push_back(active);
    }
    return found;
  }

  struct Plan {
    std::vector<std::uint32_t> left;  // what has not run
    std::size_t work = 0;             // that has run
    std::uint64_t zeros = 0;          // wires that are still |0>
    double moved = 0;                 // how many states were read and written
    std::vector<std::uint64_t> passes;
  };

  Plan longer(const Plan& plan, std::uint64_t active) const {
    Plan next = plan;
    next.left.clear();
    std::vector<std::uint32_t> taken;
    next.work += split(plan.left, active, &taken, &next.left);
    for (const std::uint32_t k : taken) next.zeros &= ~actions_.actions[k].moved;
    for (const std::uint64_t zeros : {plan.zeros, next.zeros})
      next.moved += std::ldexp(1.0, -std::popcount(zeros));
    next.passes.push_back(active);
    return next;
  }

  // A beam search for the passes that move the least: plans grow by a pass at a time, and those stay
  // whose states moved and work left, at `states_each` for a unit of work, are the least.
  Plan search(const Plan& start, std::size_t width, int step, double states_each) const {
    std::vector<Plan> plans{start};
    do {
      std::vector<Plan> grown;
      for (const Plan& plan : plans) {
        if (plan.left.empty() && !plan.passes.empty()) {
          grown.push_back(plan);
          continue;
        }
        for (const std::uint64_t active : candidates(plan.left, step)) {
          Plan next = longer(plan, active);
          if (next.left.size() < plan.left.size() || plan.left.empty())
            grown.push_back(std::move(next));
        }
      }
      TW_CHECK(!grown.empty(), "every pass runs some action");
      const auto cost = [&](const Plan& plan) {
        return plan.moved - states_each * static_cast<double>(plan.work);
      };
      std::stable_sort(grown.begin(), grown.end(), [&](const Plan& a, const Plan& b) {
        return cost(a) != cost(b) ? cost(a) < cost(b) : a.left < b.left;
      });
      const auto same = [](const Plan& a, const Plan& b) { return a.left == b.left; };
      grown.erase(std::unique(grown.begin(), grown.end(), same), grown.end());
      if (grown.size() > width) grown.resize(width);
      plans = std::move(grown);
    } while (!plans.front().left.empty());
    return std::move(plans.front());
  }

  // The wires of every pass.
  std::vector<std::uint64_t> choose(const std::vector<std::uint32_t>& all) const {
    const Plan start{all, 0, zeros_, 0, {}};
    const int step = std::max(1, out_.num_wires / 8);
    Plan best = search(start, 1, step, kMostWork);
    if (!options_.searches || out_.num_wires < kLeastSearchedWires || best.passes.size() < 2)
      return best.passes;
    // each plan of the beam looks as often as this one, and from `step` times as many wires
    const double each = static_cast<double>(looks_) * step;
    const double most =
        std::max(kMostLooks, kLooksPerAmplitude * std::ldexp(best.moved, out_.num_wires));
    const auto width = static_cast<std::size_t>(std::min<double>(kBeamWidth, most / each));
    if (width == 0) return best.passes;
    const double states_each = best.moved / static_cast<double>(best.work);
    const Plan other = search(start, width, 1, states_each);
    return (other.moved < best.moved ? other : best).passes;
  }

  // ---- a pass ----
  Bits place(std::uint64_t wires) const { return place_bits(wires, rows_, out_.lane_bits); }

  std::int32_t new_read(std::uint32_t angle) {
    if (!is_read_[angle]) return -1;
    out_.read_angle.push_back(angle);
    return static_cast<std::int32_t>(out_.read_angle.size() - 1);
  }

  void emit(std::uint64_t active, std::vector<std::uint32_t> left) {
    rows_ = active & ~low_mask(out_.lane_bits);
    Pass pass;
    pass.active = rows_;
    pass.zeros = zeros_;
    for (const std::uint32_t k : left) zeros_ &= ~actions_.actions[k].moved;
    pass.first_read = static_cast<std::uint32_t>(out_.read_angle.size());
    Queue<std::uint32_t> queue(std::move(left));
    while (!queue.empty()) {
      emit_phases(pass, queue);
      emit_movers(pass, queue);
    }
    pass.num_reads = static_cast<std::uint32_t>(out_.read_angle.size()) - pass.first_read;
    out_.passes.push_back(std::move(pass));
  }

  template <class F>
  void take(Queue<std::uint32_t>& queue, bool phases, F run) const {
    queue.take(
        all_, [&](std::uint32_t k) { return touch_of(actions_.actions[k]); },
        [&](std::uint32_t k) { return (actions_.actions[k].kind == ActionKind::kPhase) == phases; },
        [&](std::uint32_t k) { run(actions_.actions[k]); });
  }

  void emit_phases(Pass& pass, Queue<std::uint32_t>& queue) {
    TileOp op;
    op.kind = TileOpKind::kPhases;
    op.first = static_cast<std::uint32_t>(out_.terms.size());
    take(queue, true, [&](const Action& a) {
      out_.terms.push_back({place(a.mask), a.angle, new_read(a.angle)});
    });
    op.count = static_cast<std::uint32_t>(out_.terms.size()) - op.first;
    // those with the same highest bit of the row side by side
    std::stable_sort(out_.terms.begin() + op.first, out_.terms.end(),
                     [](const PhaseTerm& a, const PhaseTerm& b) { return a.on.row < b.on.row; });
    if (op.count) pass.ops.push_back(op);
  }

  void emit_movers(Pass& pass, Queue<std::uint32_t>& queue) {
    take(queue, false, [&](const Action& a) { pass.ops.push_back(mover(a)); });
  }

  TileOp mover(const Action& a) {
    TileOp op;
    op.controls = place(a.mask);
    op.values = place(a.value);
    if (a.kind == ActionKind::kMatrix) {
      op.kind = TileOpKind::kMatrix;
      op.first = static_cast<std::uint32_t>(out_.matrices.size());
      const FixedMatrix& m = actions_.matrices[a.matrix];
      TileMatrix placed;
      placed.entries = m.entries;
      placed.all = place(a.moved);
      for (std::size_t j = 0; j < std::size_t{1} << m.wires.size(); ++j) {
        std::uint64_t wires = 0;
        for (std::size_t k = 0; k < m.wires.size(); ++k) wires |= (j >> k & 1) << m.wires[k];
        placed.at.push_back(place(wires));
      }
      out_.matrices.push_back(std::move(placed));
      return op;
    }
    const Bits target = place(a.moved);
    op.on_lanes = target.lane != 0;
    op.target = std::countr_zero(op.on_lanes ? target.lane : target.row);
    op.kind = a.kind == ActionKind::kRotate ? TileOpKind::kRotate : TileOpKind::kFlip;
    if (a.kind == ActionKind::kRotate) {
      op.angle = static_cast<std::int32_t>(a.angle);
      op.read = new_read(a.angle);
    }
    return op;
  }

  const Actions& actions_;
  const std::vector<bool>& is_read_;
  const PassOptions options_;
  Passes out_;
  std::uint64_t all_, always_, rows_ = 0, zeros_;
  mutable std::uint64_t looks_ = 0;  // at actions: that is where the time goes
};

}  // namespace

Bits place_bits(std::uint64_t wires, std::uint64_t active, int lane_bits) {
  Bits b;
  b.lane = static_cast<std::uint32_t>(wires & low_mask(lane_bits));
  b.row = static_cast<std::uint32_t>(extract_bits(wires, active));
  b.outer = wires & ~active & ~low_mask(lane_bits);
  return b;
}

Passes make_passes(const Actions& actions, int lane_bits, int row_bits,
                   const std::vector<bool>& is_read, const PassOptions& options) {
  return Scheduler(actions, lane_bits, row_bits, is_read, options).run();
}

}  // namespace tilewave::parametric
