// Greedy growth under a beam. For a set S of active wires one sweep over the remaining actions
// finds what can run: an action whose targets lie in S and whose wires no skipped action holds
// back. Two actions hold each other back on a wire if at least one changes it (phases and controls
// commute). S grows by the wire that frees most weight; when none frees anything, by the targets of
// the first action that waits for nothing else. A beam keeps the schedules with the least work left
// after every pass, starting each pass from several first wires, so the result is never longer than
// the plain greedy one.
#include "tilewave/statevec/plan/schedule.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/beam_steps.h"
#include "tilewave/statevec/plan/remaining.h"

namespace tilewave::statevec::detail {

namespace {

constexpr std::size_t kWindow = 4096;  // actions looked at ahead

struct Growth {
  const std::vector<Need>& needs;
  const Remaining& remaining;
  std::uint64_t all;           // wires
  std::uint64_t previous;      // active wires of the pass before
  std::uint64_t previous_row;  // those on its low positions
  int tile, row;
  std::uint64_t near;  // active rather than others where there is room

  // a set may hold at most tile - row wires that were not active before
  bool fits(std::uint64_t set) const {
    return std::popcount(set) <= tile && std::popcount(set & ~previous) <= tile - row;
  }

  // Grows `set` to a full tile. What runs under a set runs under every larger one, so only the
  // actions still skipped are looked at again, and a wire can free something only where one of them
  // waits for nothing but this wire: its gain is counted from there on.
  std::uint64_t grow(std::uint64_t set) const {
    Start start[64];
    Skipped open;
    const std::size_t window = std::min(remaining.size(), kWindow);
    while (std::popcount(set) < tile) {
      std::uint64_t changed = 0, read = 0, candidates = 0;
      std::uint64_t first_waiting = 0;  // targets of the first action that waits only for them
      const auto runs = [&](const Need& a, std::size_t at) {
        const bool free = !(a.x & (changed | read)) && !(a.z & changed);
        const std::uint64_t wants = a.x & ~set;
        if (free && !wants) return true;
        if (free && first_waiting == 0) first_waiting = a.x;
        if (free && std::has_single_bit(wants) && !(candidates & wants)) {
          candidates |= wants;
          start[std::countr_zero(wants)] = {at, changed, read};
        }
        changed |= a.x;
        read |= a.z;
        return false;
      };
      std::size_t kept = 0;
      for (const Need& a : open.actions) {
        if (!runs(a, kept)) open.actions[kept++] = a;
      }
      open.actions.resize(kept);
      // once every wire is held back nothing later can run, under a larger set a little more
      for (; open.next < window && (all & ~changed); ++open.next) {
        const Need& a = needs[remaining[open.next]];
        if (!runs(a, open.actions.size())) open.actions.push_back(a);
      }
      std::uint64_t best = 0;
      float best_gain = 0;
      for_each_bit(candidates & all, [&](int w) {
        const std::uint64_t candidate = set | bit(w);
        if (!fits(candidate)) return;
        const float gain = gain_of(open, candidate, start[w], window);
        if (gain > best_gain * 1.0001f) best_gain = gain, best = candidate;
      });
      if (!best && first_waiting && fits(set | first_waiting)) best = set | first_waiting;
      if (!best) break;
      set = best;
    }
    return set;
  }

  // A place among the skipped actions and the wires of those before it.
  struct Start {
    std::size_t at;
    std::uint64_t changed, read;
  };

  // Those looked at so far, and the next in `remaining`.
  struct Skipped {
    std::vector<Need> actions;
    std::size_t next = 0;
  };

  // Weight of the actions from `from` on that run under `active` and not under less.
  float gain_of(const Skipped& open, std::uint64_t active, Start from, std::size_t window) const {
    float gain = 0;
    // false once every active wire is held back
    const auto look = [&](const Need& a) {
      if (!(a.x & (from.changed | from.read | ~active)) && !(a.z & from.changed)) {
        gain += a.weight;
        return true;
      }
      from.changed |= a.x;
      from.read |= a.z;
      return (active & ~(from.changed | from.read)) != 0;
    };
    for (std::size_t k = from.at; k < open.actions.size(); ++k) {
      if (!look(open.actions[k])) return gain;
    }
    for (std::size_t k = open.next; k < window; ++k) {
      if (!look(needs[remaining[k]])) return gain;
    }
    return gain;
  }

  // Fills up: what is on the row stays there if it can, then wires of the pass before (no move
  // needed), then those near, then any.
  std::uint64_t pad(std::uint64_t set) const {
    for (std::uint64_t pool : {previous_row, previous, near & all, all}) {
      for_each_bit(pool & ~set, [&](int w) {
        if (fits(set | bit(w))) set |= bit(w);
      });
    }
    return set;
  }
};

// Of the beam.
struct Node {
  std::size_t number;  // of its pass; of the one before until it is in the beam
  WirePass pass;       // in the beam without its actions
  Remaining remaining;
};

}  // namespace

// The wires of `set` that its pass keeps on the row: those there already, then others both passes
// share.
static std::uint64_t choose_row(std::uint64_t set, std::uint64_t previous,
                                std::uint64_t previous_row, int row) {
  std::uint64_t chosen = 0;
  for (std::uint64_t pool : {previous_row & set, previous & set}) {
    for_each_bit(pool & ~chosen, [&](int w) {
      if (std::popcount(chosen) < row) chosen |= bit(w);
    });
  }
  return chosen;
}

std::vector<Need> needs_of(const Lowered& lowered) {
  constexpr float kPhase = 0.05f, kEachTarget = 2;  // the targets of a matrix
  std::vector<Need> needs;
  needs.reserve(lowered.actions.size());
  for (const Action& a : lowered.actions) {
    if (a.kind == ActionKind::kPhase) {
      needs.push_back({.z = lowered.terms[a.first].mask, .weight = kPhase});
    } else {
      const bool is_matrix = a.kind == ActionKind::kMatrix;
      needs.push_back({.x = a.target_mask(),
                       .z = a.control_mask,
                       .weight = is_matrix ? kEachTarget * static_cast<float>(a.num_targets) : 1});
    }
  }
  return needs;
}

std::vector<WirePass> schedule(const std::vector<Need>& needs, const ScheduleOptions& options) {
  if (needs.empty()) return {};
  BeamSteps<WirePass> steps;
  std::vector<Node> beam;
  beam.push_back(
      {BeamSteps<WirePass>::kStart, {options.first_row, options.first_row, {}}, Remaining(needs)});

  const int row = std::popcount(options.first_row);
  // the beam is as wide as planning stays a few milliseconds
  const std::size_t width = needs.size() <= 1200   ? options.beam
                            : needs.size() <= 3000 ? std::min<std::size_t>(options.beam, 2)
                                                   : 1;
  const std::uint64_t all = low_mask(options.num_wires) & options.wires;
  // Few threads: a team that waits for its slowest member loses more than planning takes.
  const auto movers = std::count_if(needs.begin(), needs.end(), [](const Need& a) { return a.x; });
  constexpr long kManyMovers = 40;
  const int num_threads = movers > kManyMovers ? std::min(8, omp_get_max_threads()) : 1;
  while (true) {
    check_interrupt();
    // Starts of every node: nothing, then the targets of the first actions that wait for nothing
    // but their targets. Growing a set is the work of planning: sets grow side by side.
    struct Task {
      const Node* node;
      std::uint64_t set;
    };
    std::vector<Task> tasks;
    for (const Node& node : beam) {
      const bool is_first = node.number == BeamSteps<WirePass>::kStart;
      const std::uint64_t start = options.fixed | (is_first ? options.first_row : 0);
      tasks.push_back({&node, start});
      if (width == 1) continue;
      const Growth growth{needs,         node.remaining, all, node.pass.active,
                          node.pass.row, options.tile,   row, options.near};
      std::uint64_t seen = 0, changed = 0, read = 0;
      std::size_t starts = 0;
      for (std::size_t k = 0; k < std::min(node.remaining.size(), kWindow) && starts < 2 * width;
           ++k) {
        const Need& a = needs[node.remaining[k]];
        const bool free = !(a.x & (changed | read)) && !(a.z & changed);
        if (free && (a.x & ~(seen | start))) {
          seen |= a.x;
          if (growth.fits(start | a.x)) {
            tasks.push_back({&node, start | a.x});
            ++starts;
          }
        }
        changed |= a.x;
        read |= a.z;
      }
    }
#pragma omp parallel for schedule(dynamic) num_threads(num_threads) if (tasks.size() > 1)
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const Node& node = *tasks[t].node;
      const Growth growth{needs,         node.remaining, all, node.pass.active,
                          node.pass.row, options.tile,   row, options.near};
      tasks[t].set = growth.pad(growth.grow(tasks[t].set));
    }
    std::vector<Task> chosen;
    for (std::size_t first = 0; first < tasks.size();) {
      std::size_t last = first;
      while (last < tasks.size() && tasks[last].node == tasks[first].node) ++last;
      const auto others = tasks.begin() + static_cast<std::ptrdiff_t>(first);
      std::sort(others + 1, tasks.begin() + static_cast<std::ptrdiff_t>(last),
                [](const Task& a, const Task& b) { return a.set < b.set; });
      for (std::size_t t = first; t < last; ++t) {
        if (t == first || tasks[t].set != tasks[t - 1].set) chosen.push_back(tasks[t]);
      }
      first = last;
    }
    std::vector<std::unique_ptr<Node>> next(chosen.size());
#pragma omp parallel for schedule(dynamic) num_threads(num_threads) if (chosen.size() > 1)
    for (std::size_t t = 0; t < chosen.size(); ++t) {
      const Node& node = *chosen[t].node;
      auto child = std::make_unique<Node>(Node{node.number, {}, node.remaining});
      child->pass = child->remaining.take(needs, chosen[t].set, low_mask(options.num_wires));
      child->pass.row = choose_row(chosen[t].set, node.pass.active, node.pass.row, row);
      next[t] = std::move(child);
    }
    for (const auto& child : next) {
      if (child->pass.actions.empty()) {
        const Remaining& left = child->remaining;
        fail(ExitCode::kUsage, "a gate changes ", std::popcount(needs[left[0]].x),
             " qubits, and a pass over tiles of ", options.tile, " qubits with rows of ", row,
             " brings in at most ", options.tile - row, ": describe a machine with larger tiles");
      }
      if (child->remaining.empty())
        return steps.take(steps.add(child->number, std::move(child->pass)));
    }
    std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) {
      return a->remaining.weight() < b->remaining.weight();
    });
    next.erase(std::unique(next.begin(), next.end(),
                           [](const auto& a, const auto& b) {
                             return a->remaining.weight() == b->remaining.weight() &&
                                    a->pass.active == b->pass.active;
                           }),
               next.end());
    if (next.size() > width) next.resize(width);
    beam.clear();
    for (const auto& child : next) {
      beam.push_back({0, {child->pass.active, child->pass.row, {}}, std::move(child->remaining)});
      beam.back().number = steps.add(child->number, std::move(child->pass));
    }
  }
}

std::vector<WirePass> schedule_with(const std::vector<Need>& needs, const ScheduleOptions& options,
                                    const std::vector<std::uint64_t>& sets) {
  const int row = std::popcount(options.first_row);
  const std::uint64_t all = low_mask(options.num_wires) & options.wires;
  Remaining remaining(needs);
  std::vector<WirePass> passes;
  WirePass before;
  before.active = before.row = options.first_row;
  for (const std::uint64_t set : sets) {
    check_interrupt();
    const bool is_narrow = std::popcount(set) <= options.narrow_tile &&
                           std::popcount(set & ~before.active) <= options.narrow_tile - row;
    const int tile = is_narrow ? options.narrow_tile : options.tile;
    const Growth growth{needs, remaining, all, before.active, before.row, tile, row, options.near};
    WirePass pass = remaining.take(needs, growth.pad(set), low_mask(options.num_wires));
    pass.row = choose_row(pass.active, before.active, before.row, row);
    before = {pass.active, pass.row, {}};
    passes.push_back(std::move(pass));
  }
  TW_CHECK(remaining.empty(), "a schedule leaves actions out");
  // One in between that runs nothing stays: the next may need it for its row.
  while (!passes.empty() && passes.back().actions.empty()) passes.pop_back();
  return passes;
}

// The actions of a pass that have to wait when those on `wire` do.
static std::vector<std::uint32_t> waiting_with(const WirePass& pass, const std::vector<Need>& needs,
                                               std::uint64_t wire) {
  std::vector<std::uint32_t> waiting;
  std::uint64_t changed = 0, read = 0;
  for (std::uint32_t k : pass.actions) {
    const Need& a = needs[k];
    if (!(a.x & (wire | changed | read)) && !(a.z & changed)) continue;
    waiting.push_back(k);
    changed |= a.x;
    read |= a.z;
  }
  return waiting;
}

void narrow(std::vector<WirePass>& passes, const std::vector<Need>& needs, int tile) {
  for (std::size_t p = 0; p < passes.size(); ++p) {
    WirePass& pass = passes[p];
    WirePass* const next = p + 1 < passes.size() ? &passes[p + 1] : nullptr;
    while (std::popcount(pass.active) > tile) {
      std::uint64_t best = 0;
      std::vector<std::uint32_t> fewest;
      for_each_bit(pass.active & ~pass.row & ~(next ? next->row : 0), [&](int w) {
        std::vector<std::uint32_t> waiting = waiting_with(pass, needs, bit(w));
        const bool can_wait = std::all_of(waiting.begin(), waiting.end(), [&](std::uint32_t k) {
          return next && !(needs[k].x & ~next->active);
        });
        if (!can_wait || (best && waiting.size() >= fewest.size())) return;
        best = bit(w);
        fewest = std::move(waiting);
      });
      if (!best || fewest.size() == pass.actions.size()) break;
      pass.active &= ~best;
      if (fewest.empty()) continue;
      std::vector<std::uint32_t> stay, later;
      std::set_difference(pass.actions.begin(), pass.actions.end(), fewest.begin(), fewest.end(),
                          std::back_inserter(stay));
      std::merge(next->actions.begin(), next->actions.end(), fewest.begin(), fewest.end(),
                 std::back_inserter(later));
      pass.actions = std::move(stay);
      next->actions = std::move(later);
    }
  }
}

double most_growth_bits(Precision precision) { return precision == Precision::kSingle ? 90 : 900; }

double growth_bits(const Action& a, const std::optional<PairFactors>& factors) {
  if (a.kind == ActionKind::kLift) return 0.5 * std::log2(1 + a.m[0] * a.m[0]);
  return factors ? -std::log2(factors->scale) : 0;
}

constexpr double kEarlyGrowthBits = 1.2;

std::vector<WirePass> limit_growth(std::vector<WirePass> passes, const Lowered& lowered,
                                   Precision precision, bool early) {
  const double most_bits = early ? kEarlyGrowthBits : most_growth_bits(precision);
  std::vector<WirePass> out;
  for (WirePass& pass : passes) {
    double bits = 0;
    std::size_t first = 0;
    for (std::size_t k = 0; k < pass.actions.size(); ++k) {
      const Action& a = lowered.actions[pass.actions[k]];
      const double more = growth_bits(a, pair_factors_of(a, lowered.matrices));
      bits += more;
      if (bits <= most_bits || more == 0) continue;
      WirePass part{pass.active, pass.row, {}};
      part.actions.assign(pass.actions.begin() + static_cast<std::ptrdiff_t>(first),
                          pass.actions.begin() + static_cast<std::ptrdiff_t>(k));
      out.push_back(std::move(part));
      first = k;
      bits = more;
    }
    if (first > 0) {
      pass.actions.erase(pass.actions.begin(),
                         pass.actions.begin() + static_cast<std::ptrdiff_t>(first));
    }
    out.push_back(std::move(pass));
  }
  return out;
}

}  // namespace tilewave::statevec::detail
