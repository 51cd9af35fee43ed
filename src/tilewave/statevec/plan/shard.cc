// A segment runs every action whose targets are local and that no skipped action holds back; the
// remote wires may be controls and bits of phases. Remote sets are found by exclusion: of all
// wires, leave out the one that costs the least work, again and again until shard_bits are out,
// keeping several sets. A beam over segments keeps the splits with the least work left; among those
// that finish, the one that moves the fewest amplitudes wins. With k bits changed each rank sends
// 1 - 2^-k of its amplitudes. Cost: beam^2 x shard_bits x wires sweeps over the actions a segment.
#include "tilewave/statevec/plan/shard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/beam_steps.h"
#include "tilewave/statevec/plan/remaining.h"

namespace tilewave::statevec::detail {

namespace {

constexpr std::size_t kWindow = 4096;  // actions looked at ahead

// Work that can run with these wires remote.
float work(const std::vector<Need>& needs, const Remaining& remaining, std::uint64_t remote,
           std::uint64_t all) {
  float sum = 0;
  std::uint64_t changed = 0, read = 0;  // wires of skipped actions
  const std::size_t count = std::min(remaining.size(), kWindow);
  for (std::size_t k = 0; k < count; ++k) {
    const Need& a = needs[remaining[k]];
    if (!(a.x & (changed | read | remote)) && !(a.z & changed)) {
      sum += a.weight;
      continue;
    }
    changed |= a.x;
    read |= a.z;
    if (!(all & ~(changed | read | remote))) break;
  }
  return sum;
}

// Of the beam.
struct Node {
  std::size_t number;  // of its segment; of the one before until it is in the beam
  Segment segment;     // in the beam without its actions
  bool runs;           // whether it has any
  Remaining remaining;
  std::uint64_t zero = 0;  // wires still known to be |0>
  double moved = 0;        // share of its amplitudes a rank has sent
};

class Splitter {
 public:
  Splitter(const std::vector<Need>& needs, const ShardOptions& options)
      : needs_(needs), options_(options), all_(low_mask(options.num_wires)) {}

  std::vector<Segment> run() {
    if (needs_.empty()) return {};
    BeamSteps<Segment> steps;
    std::vector<Node> beam;
    beam.push_back({BeamSteps<Segment>::kStart,
                    {options_.remote, {}},
                    false,
                    Remaining(needs_),
                    options_.zero_wires});
    std::unique_ptr<Node> best;
    int more = 1;  // levels after the first that finishes: a longer split may move less
    while (!beam.empty() && (!best || more-- > 0)) {
      check_interrupt();
      std::vector<std::unique_ptr<Node>> next;
      for (const Node& node : beam) {
        const bool is_first = node.number == BeamSteps<Segment>::kStart;
        std::vector<std::uint64_t> sets = remote_sets(node);
        if (is_first) sets.push_back(options_.remote);
        bool runs = false;
        const auto consider = [&](std::uint64_t remote) {
          auto child = extend(node, remote);
          if (!child->runs && !is_first) return;
          runs = runs || child->runs;
          if (child->remaining.empty()) {
            if (!best || child->moved < best->moved) best = std::move(child);
          } else {
            next.push_back(std::move(child));
          }
        };
        for (const std::uint64_t remote : sets) consider(remote);
        if (!runs) consider(running_next(node));
      }
      std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) {
        const std::int64_t left = a->remaining.weight(), other = b->remaining.weight();
        return left < other || (left == other && a->moved < b->moved);
      });
      next.erase(std::unique(next.begin(), next.end(),
                             [](const auto& a, const auto& b) {
                               return a->remaining.weight() == b->remaining.weight() &&
                                      a->segment.remote == b->segment.remote;
                             }),
                 next.end());
      if (next.size() > options_.beam) next.resize(options_.beam);
      beam.clear();
      for (const auto& child : next) {
        beam.push_back({0,
                        {child->segment.remote, {}},
                        child->runs,
                        std::move(child->remaining),
                        child->zero,
                        child->moved});
        beam.back().number = steps.add(child->number, std::move(child->segment));
      }
    }
    TW_CHECK(best != nullptr, "no split of the circuit over ranks was found");
    std::vector<Segment> segments = steps.take(steps.add(best->number, std::move(best->segment)));
    if (segments.front().actions.empty()) segments.erase(segments.begin());
    return segments;
  }

 private:
  // A set that lets the next action run, of wires that are remote already where it can be.
  std::uint64_t running_next(const Node& node) const {
    std::uint64_t remote = 0;
    const std::uint64_t may = all_ & ~needs_[node.remaining[0]].x;
    for (const std::uint64_t wires : {may & node.segment.remote, may & ~node.segment.remote}) {
      for_each_bit(wires, [&](int w) {
        if (std::popcount(remote) < options_.shard_bits) remote |= bit(w);
      });
    }
    return remote;
  }

  std::vector<std::uint64_t> remote_sets(const Node& node) const {
    struct Candidate {
      std::uint64_t remote;
      float work;
      int kept;
    };
    std::uint64_t all = all_;
    if (!node.runs) all &= ~(options_.low & ~node.zero);
    if (std::popcount(all) < 2 * options_.shard_bits) all = all_;
    std::vector<Candidate> sets = {{0, 0, 0}};
    for (int size = 1; size <= options_.shard_bits; ++size) {
      std::vector<Candidate> grown;
      for (const Candidate& set : sets) {
        for_each_bit(all & ~set.remote, [&](int w) {
          const std::uint64_t remote = set.remote | bit(w);
          grown.push_back({remote, work(needs_, node.remaining, remote, all_),
                           std::popcount(remote & node.segment.remote)});
        });
      }
      std::sort(grown.begin(), grown.end(), [](const Candidate& a, const Candidate& b) {
        if (a.work != b.work) return a.work > b.work;
        if (a.kept != b.kept) return a.kept > b.kept;
        return a.remote > b.remote;
      });
      grown.erase(
          std::unique(grown.begin(), grown.end(),
                      [](const Candidate& a, const Candidate& b) { return a.remote == b.remote; }),
          grown.end());
      if (grown.size() > 2 * options_.beam) grown.resize(2 * options_.beam);
      sets = std::move(grown);
    }
    std::vector<std::uint64_t> remotes;
    for (const Candidate& set : sets) remotes.push_back(set.remote);
    return remotes;
  }

  std::unique_ptr<Node> extend(const Node& node, std::uint64_t remote) const {
    auto child =
        std::make_unique<Node>(Node{node.number, {remote, {}}, false, node.remaining, node.zero});
    child->segment.actions = child->remaining.take(needs_, all_ & ~remote, all_).actions;
    child->runs = !child->segment.actions.empty();
    const std::uint64_t leaving = remote & ~node.segment.remote;
    const std::uint64_t entering = node.segment.remote & ~remote;
    const int free =
        std::min(std::popcount(leaving & node.zero), std::popcount(entering & node.zero));
    child->moved = node.moved + 1 - std::ldexp(1, free - std::popcount(leaving));
    for (const std::uint32_t k : child->segment.actions) child->zero &= ~needs_[k].x;
    return child;
  }

  const std::vector<Need>& needs_;
  const ShardOptions& options_;
  std::uint64_t all_;
};

}  // namespace

std::vector<Segment> split_shards(const std::vector<Need>& needs, const ShardOptions& options) {
  const int local = options.num_wires - options.shard_bits;
  int widest = 1;
  for (const Need& need : needs) widest = std::max(widest, std::popcount(need.x));
  if (local < widest) {
    fail(ExitCode::kUsage, 1ull << options.shard_bits, " ranks are too many for ",
         options.num_wires, " qubits (a gate changes ", widest, " of them at once): use at most ",
         1ull << std::max(0, options.num_wires - widest));
  }
  return Splitter(needs, options).run();
}

Handover hand_over(const std::vector<Need>& needs, const Segment& segment, const Segment& next,
                   int row, WirePass& last) {
  Handover over;
  over.leaving = next.remote & ~segment.remote;
  std::uint64_t needed = last.row, wanted = 0;
  for (const std::uint32_t k : last.actions) needed |= needs[k].x;
  // wires that leave take the places of wires the last pass does not need
  std::uint64_t spare = last.active & ~needed & ~over.leaving;
  for_each_bit(over.leaving & ~last.active, [&](int w) {
    if (!spare) return;
    last.active = (last.active & ~(spare & (~spare + 1))) | bit(w);
    spare &= spare - 1;
  });
  // the row of the next segment: wires it works on, then those on the row already
  for (const std::uint32_t k : next.actions) wanted |= needs[k].x;
  const std::uint64_t stay = last.active & ~over.leaving;
  for (const std::uint64_t pool : {stay & wanted & last.row, stay & wanted, stay & last.row}) {
    for_each_bit(pool & ~over.next_row, [&](int w) {
      if (std::popcount(over.next_row) < row) over.next_row |= bit(w);
    });
  }
  return over;
}

namespace {

std::uint64_t targets_of(const std::vector<Need>& needs,
                         const std::vector<std::uint32_t>& actions) {
  std::uint64_t targets = 0;
  for (const std::uint32_t k : actions) targets |= needs[k].x;
  return targets;
}

float weight_of(const std::vector<Need>& needs, const WirePass& pass) {
  float sum = 0;
  for (const std::uint32_t k : pass.actions) sum += needs[k].weight;
  return sum;
}

// Passes of a segment that follows a pass.
std::size_t count_passes(const std::vector<Need>& needs, ScheduleOptions limits, int row,
                         const Segment& segment, const Segment& next, WirePass last) {
  std::vector<Need> own;
  for (const std::uint32_t k : next.actions) own.push_back(needs[k]);
  limits.wires = low_mask(limits.num_wires) & ~next.remote;
  limits.first_row = hand_over(needs, segment, next, row, last).next_row;
  return schedule(own, limits).size();
}

}  // namespace

bool defer_passes(const std::vector<Need>& needs, const ScheduleOptions& limits, int row,
                  std::size_t at, bool forced, std::vector<Segment>& segments,
                  std::vector<WirePass>& passes) {
  bool any = false;
  const Segment& segment = segments[at];
  const std::uint64_t all = low_mask(limits.num_wires);
  const std::uint64_t later = at + 2 < segments.size() ? segments[at + 2].remote : all;
  while (passes.size() > 1) {
    const WirePass &last = passes.back(), &before = passes[passes.size() - 2];
    if (!forced && weight_of(needs, last) > 0.6f * weight_of(needs, before)) break;
    const Segment& next = segments[at + 1];
    const std::uint64_t own = targets_of(needs, last.actions);
    Segment merged;
    std::merge(next.actions.begin(), next.actions.end(), last.actions.begin(), last.actions.end(),
               std::back_inserter(merged.actions));
    // wires that are remote or may be, best first: they need not move, or not again; the pass that
    // is the last one then can move them up
    std::uint64_t may = all & ~next.remote & ~own & ~targets_of(needs, next.actions);
    merged.remote = next.remote & ~own;
    const int wanted = std::popcount(next.remote);
    for (const std::uint64_t pool :
         {may & segment.remote, may & later & before.active & ~before.row, may & before.active,
          may & later, may}) {
      for (std::uint64_t left = pool & ~merged.remote;
           left && std::popcount(merged.remote) < wanted;) {
        const std::uint64_t w = bit(63 - std::countl_zero(left));
        merged.remote |= w;
        left &= ~w;
      }
    }
    const auto moving = [&](std::uint64_t remote) {
      return std::popcount(remote & ~segment.remote) + std::popcount(later & all & ~remote);
    };
    if (std::popcount(merged.remote) < wanted) break;
    if (!forced && (moving(merged.remote) > moving(next.remote) ||
                    count_passes(needs, limits, row, segment, merged, before) >
                        count_passes(needs, limits, row, segment, next, last))) {
      break;
    }
    segments[at + 1] = std::move(merged);
    passes.pop_back();
    any = true;
  }
  return any;
}

}  // namespace tilewave::statevec::detail
