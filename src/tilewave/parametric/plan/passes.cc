// See passes.h.
#include "tilewave/parametric/plan/passes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/parametric/plan/waiting.h"

namespace tilewave::parametric {
namespace {

Touch touch_of(const Action& a) { return {a.moved, a.moved | a.mask}; }

class Scheduler {
 public:
  Scheduler(const Actions& actions, int lane_bits, int row_bits, const std::vector<bool>& is_read,
            std::size_t most_cost)
      : actions_(actions), is_read_(is_read), most_cost_(most_cost) {
    out_.num_wires = std::max(actions.num_wires, lane_bits + 1);
    out_.lane_bits = lane_bits;
    out_.row_bits = std::min(row_bits, out_.num_wires - lane_bits);
    all_ = low_mask(out_.num_wires);
    zeros_ = all_ & ~low_mask(lane_bits);
    always_ = low_mask(std::min(lane_bits + kKeptLowWires, out_.num_wires));
  }

  Passes run() {
    std::vector<std::uint32_t> left(actions_.actions.size());
    for (std::size_t k = 0; k < left.size(); ++k) left[k] = static_cast<std::uint32_t>(k);
    do {
      const std::uint64_t active = choose(left);
      std::vector<std::uint32_t> taken, rest;
      split(left, active, &taken, &rest);
      TW_CHECK(left.empty() || !taken.empty(), "every pass runs some action");
      emit(active, taken);
      left = std::move(rest);
    } while (!left.empty());
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
    for (const std::uint32_t k : left) {
      const Action& a = actions_.actions[k];
      if (cost < most_cost_ && !(a.moved & ~active) && waiting.lets(touch_of(a))) {
        work += a.kind == ActionKind::kPhase ? 1 : 4;
        cost += a.kind == ActionKind::kPhase || a.kind == ActionKind::kFlip ? 1 : 4;
        if (taken) taken->push_back(k);
        continue;
      }
      waiting.add(touch_of(a));
      if (rest) {
        rest->push_back(k);
      } else if (cost >= most_cost_ || (waiting.moved & active) == active ||
                 !(~waiting.moved & all_)) {
        break;  // nothing later can run
      }
    }
    return work;
  }

  std::uint64_t choose(const std::vector<std::uint32_t>& left) const {
    if (most_active() >= out_.num_wires) return all_;
    std::uint64_t best = 0;
    std::size_t best_work = 0;
    // matrices need their wires together, so the first that waits may always begin
    const int step = std::max(1, out_.num_wires / 8);
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
      std::size_t work = split(left, active, nullptr, nullptr);
      while (std::popcount(active) < most_active()) {
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
        work = next_work;
      }
      if (best && work <= best_work) continue;
      best = active;
      best_work = work;
    }
    return best;
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
  const std::size_t most_cost_;
  Passes out_;
  std::uint64_t all_, always_, rows_ = 0, zeros_;
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
                   const std::vector<bool>& is_read, std::size_t most_cost) {
  return Scheduler(actions, lane_bits, row_bits, is_read, most_cost).run();
}

}  // namespace tilewave::parametric
