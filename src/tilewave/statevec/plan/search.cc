// Simulated annealing over schedules with a given number of passes. A state is the set of active
// wires of each pass; what it is worth is the weight of the actions that are left after the last
// one, and a little of what is left in between. A step brings into one pass the wires that a
// waiting action misses and sends as many away, rather those that little is done on; only actions
// on these wires are looked at again, and those that wait for one that moved. Only actions that
// change wires count: a phase runs once those before it did, and is part of what the actions after
// it depend on. Several chains cool down side by side, with random numbers of their own.
#include "tilewave/statevec/plan/search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/statevec/plan/dependence_graph.h"
#include "tilewave/statevec/plan/side_by_side.h"

namespace tilewave::statevec::detail {

namespace {

constexpr int kChains = 4;
constexpr std::size_t kMostMovers = 4096, kMostPasses = 60;
constexpr std::uint64_t kFewestSteps = 400;  // of a chain
constexpr int kCandidates = 4;  // of the wires to send away the one that least is done on
constexpr double kHot = 4, kWarm = 1.5, kCold = 0.3;  // temperatures, in mean weights of actions
constexpr int kSlices = 8;    // of the cooling, after which the chains are looked at
constexpr double kSlack = 3;  // temperatures by which a step may be too bad on the way
constexpr double kInBetween = 0.1;

// Whether there is something to move, and not more than the numbers of a chain hold.
bool can_search(const std::vector<Need>& needs, const std::vector<WirePass>& passes) {
  const std::size_t movers = number_of_movers(needs);
  return movers > 0 && movers <= kMostMovers && passes.size() <= kMostPasses;
}

// A schedule that changes step by step. Actions run in the first pass that has their wires and
// comes not before those of the actions they wait for, or are left (pass number: how many there
// are).
class Chain {
 public:
  // sizes: wires of each pass
  Chain(const DependenceGraph& graph, const ScheduleOptions& options,
        std::vector<std::uint64_t> sets, std::vector<int> sizes, std::uint64_t seed)
      : graph_(&graph),
        options_(&options),
        all_(low_mask(options.num_wires) & options.wires),
        row_(std::popcount(options.first_row)),
        random_(seed),
        sets_(std::move(sets)),
        sizes_(std::move(sizes)),
        use_(sets_.size() + 1),
        pass_(graph.size()),
        to_look_at_((graph.size() + 63) / 64) {
    make_valid();
    passes_of_.fill(0);
    for (std::size_t p = 0; p < sets_.size(); ++p) {
      for_each_bit(sets_[p], [&](int w) { passes_of_[w] |= bit(static_cast<int>(p)); });
    }
    const int left = static_cast<int>(sets_.size());
    for (int p = 0; p <= left; ++p) {
      const int between = std::min(p, left - 1);
      worth_.push_back((p == left ? 1 : 0) + kInBetween * between / left);
    }
    for (std::size_t m = 0; m < graph.size(); ++m) {
      pass_[m] = static_cast<std::uint8_t>(earliest(m));
      count(m, pass_[m], 1);
    }
  }

  bool is_complete() const { return num_left_ == 0; }
  const std::vector<std::uint64_t>& sets() const { return sets_; }
  const std::vector<int>& sizes() const { return sizes_; }

  // The wire of a pass that least is done on, of those that no row needs; 0: there is none.
  std::uint64_t least_used(std::size_t pass) const {
    std::uint64_t least = 0;
    for_each_bit(sets_[pass] & ~options_->fixed, [&](int w) {
      const std::uint64_t others = sets_[pass] & ~bit(w);
      if (!keeps_row(others, before(pass))) return;
      if (pass + 1 < sets_.size() && !keeps_row(sets_[pass + 1], others)) return;
      if (!least || use_[pass][w] < use_[pass][std::countr_zero(least)]) least = bit(w);
    });
    return least;
  }
  double use(std::size_t pass, std::uint64_t wire) const {
    return use_[pass][std::countr_zero(wire)];
  }

  // The sets without wires that nothing is done on and that the next pass does not keep.
  std::vector<std::uint64_t> needed() const {
    std::vector<std::uint64_t> sets(sets_.size());
    for (std::size_t p = sets.size(); p-- > 0;) {
      for_each_bit(sets_[p], [&](int w) {
        if (use_[p][w] > 0) sets[p] |= bit(w);
      });
      sets[p] |= options_->fixed;
      if (p + 1 == sets.size()) continue;
      const auto has_room = [&] {
        return std::popcount(sets[p + 1] & ~sets[p]) <= sizes_[p + 1] - row_;
      };
      for (std::uint64_t kept = sets_[p] & sets[p + 1] & ~sets[p]; !has_room(); kept &= kept - 1) {
        sets[p] |= kept & -kept;
      }
    }
    sets[0] |= options_->first_row;
    return sets;
  }

  void anneal(std::uint64_t steps, double hot, double cold) {
    const double cooling = std::pow(cold / hot, 1.0 / static_cast<double>(steps));
    InterruptCounter now_and_then(1024);
    for (double temperature = hot; steps > 0 && !is_complete(); --steps) {
      now_and_then.step();
      step(temperature);
      temperature *= cooling;
    }
  }

 private:
  using Use = std::array<float, 64>;  // weight of the actions on each wire

  std::uint64_t below(std::uint64_t limit) { return (random_() >> 32) * limit >> 32; }

  // One of the bits set, each as likely.
  std::uint64_t any_of(std::uint64_t mask) {
    for (std::uint64_t k = below(static_cast<std::uint64_t>(std::popcount(mask))); k > 0; --k) {
      mask &= mask - 1;
    }
    return mask & -mask;
  }

  std::uint64_t before(std::size_t pass) const {
    return pass ? sets_[pass - 1] : options_->first_row;
  }

  bool keeps_row(std::uint64_t set, std::uint64_t previous) const {
    return std::popcount(set & previous) >= row_;
  }

  // Full sets that keep as many wires from pass to pass as a row needs.
  void make_valid() {
    for (std::size_t p = 0; p < sets_.size(); ++p) {
      std::uint64_t& set = sets_[p];
      const std::uint64_t previous = before(p);
      while (std::popcount(set) > sizes_[p] || std::popcount(set & ~previous) > sizes_[p] - row_) {
        set &= ~any_of(set & ~previous & ~options_->fixed);
      }
      while (std::popcount(set) < std::min(sizes_[p], std::popcount(all_))) {
        const std::uint64_t kept = previous & ~set & all_;
        set |= any_of(kept ? kept : all_ & ~set);
      }
    }
  }

  // The first pass that the actions before this one allow.
  int allowed(std::size_t m) const {
    int pass = 0;
    for (const std::uint16_t other : graph_->before[m]) pass = std::max<int>(pass, pass_[other]);
    return pass;
  }

  // The first of them that has its wires.
  int earliest(std::size_t m) const {
    std::uint64_t passes = ~std::uint64_t{0} << allowed(m);
    for_each_bit(graph_->targets[m], [&](int w) { passes &= passes_of_[w]; });
    return passes ? std::countr_zero(passes) : static_cast<int>(sets_.size());
  }

  void count(std::size_t m, std::size_t pass, int sign) {
    for_each_bit(graph_->targets[m],
                 [&](int w) { use_[pass][w] += static_cast<float>(sign) * graph_->weight[m]; });
    if (pass == sets_.size()) num_left_ += sign;
  }

  void move(std::size_t m, int pass) {
    count(m, pass_[m], -1);
    count(m, static_cast<std::size_t>(pass), 1);
    pass_[m] = static_cast<std::uint8_t>(pass);
  }

  void look_at(std::size_t m) { to_look_at_[m / 64] |= std::uint64_t{1} << m % 64; }

  // Moves the actions to be looked at, and those that wait for them, to the passes where they now
  // run. Returns by how much less the schedule is worth, or that it is more than `most` at some
  // point.
  double settle(double most) {
    double change = 0;
    moved_.clear();
    for (std::size_t word = 0; word < to_look_at_.size(); ++word) {
      while (to_look_at_[word]) {
        const std::size_t m =
            word * 64 + static_cast<std::size_t>(std::countr_zero(to_look_at_[word]));
        to_look_at_[word] &= to_look_at_[word] - 1;
        const int pass = earliest(m);
        if (pass == pass_[m]) continue;
        change += graph_->weight[m] * (worth_[static_cast<std::size_t>(pass)] - worth_[pass_[m]]);
        moved_.emplace_back(static_cast<std::uint16_t>(m), pass_[m]);
        move(m, pass);
        if (change > most) {
          std::fill(to_look_at_.begin() + static_cast<std::ptrdiff_t>(word), to_look_at_.end(), 0);
          return change;
        }
        for (const std::uint16_t other : graph_->after[m]) look_at(other);
      }
    }
    return change;
  }

  // A pass and wires that it does not have: those of an action that waits only for them, or any.
  std::uint64_t wires_to_enter(std::size_t& pass) {
    constexpr int kTrials = 8;
    for (int k = 0; k < kTrials; ++k) {
      const std::size_t m = below(graph_->size());
      const auto first = static_cast<std::uint64_t>(allowed(m));
      if (first >= pass_[m]) continue;
      pass = first + below(pass_[m] - first);
      return graph_->targets[m] & ~sets_[pass];
    }
    pass = below(sets_.size());
    return any_of(all_ & ~sets_[pass]);
  }

  // The set of a pass with other wires, or 0.
  std::uint64_t with(std::size_t pass, std::uint64_t enter) {
    std::uint64_t result = sets_[pass] | enter;
    for (int k = std::popcount(enter); k > 0; --k) {
      const std::uint64_t leaving = result & ~enter & ~options_->fixed;
      if (!leaving) return 0;
      std::uint64_t least = any_of(leaving);
      for (int other = 1; other < kCandidates; ++other) {
        const std::uint64_t wire = any_of(leaving);
        if (use_[pass][std::countr_zero(wire)] < use_[pass][std::countr_zero(least)]) least = wire;
      }
      result &= ~least;
    }
    if (!keeps_row(result, before(pass))) return 0;
    if (pass + 1 < sets_.size() && !keeps_row(sets_[pass + 1], result)) return 0;
    return result;
  }

  // -ln of a number in (0, 1), to a few per cent and the same on every machine.
  double exponential() {
    const std::uint64_t bits = random_() | 1;
    const int zeros = std::countl_zero(bits);
    const double rest = static_cast<double>(bits << zeros << 1) * 0x1p-64;
    return 0.6931471805599453 * (zeros + 1 - rest);
  }

  void step(double temperature) {
    std::size_t pass = 0;
    const std::uint64_t enter = wires_to_enter(pass);
    const std::uint64_t set = enter ? with(pass, enter) : 0;
    if (!set) return;
    const std::uint64_t exchanged = set ^ sets_[pass], here = bit(static_cast<int>(pass));
    for_each_bit(exchanged, [&](int w) {
      const bool enters = (set >> w & 1) != 0;
      passes_of_[w] ^= here;
      for (const std::uint16_t m : graph_->on_wire[static_cast<std::size_t>(w)]) {
        if (enters ? pass_[m] > pass : pass_[m] == pass) look_at(m);
      }
    });
    const double most = temperature * exponential();
    if (settle(most + kSlack * temperature) <= most) {
      sets_[pass] = set;
      return;
    }
    for_each_bit(exchanged, [&](int w) { passes_of_[w] ^= here; });
    for (auto m = moved_.rbegin(); m != moved_.rend(); ++m) move(m->first, m->second);
  }

  const DependenceGraph* graph_;
  const ScheduleOptions* options_;
  std::uint64_t all_;
  int row_;  // wires that a pass shares with the one before, at least
  std::mt19937_64 random_;
  std::vector<std::uint64_t> sets_;
  std::vector<int> sizes_;
  std::array<std::uint64_t, 64> passes_of_;  // of each wire, as bits
  std::vector<double> worth_;                // lost by a unit of weight in each pass, or left
  std::vector<Use> use_;                     // in each pass, and left
  std::vector<std::uint8_t> pass_;           // of each action
  int num_left_ = 0;
  std::vector<std::uint64_t> to_look_at_;                      // bits
  std::vector<std::pair<std::uint16_t, std::uint8_t>> moved_;  // and where they were
};

// No schedule has fewer passes: each brings in so many wires at most.
std::size_t fewest_passes(const DependenceGraph& graph, const ScheduleOptions& options) {
  std::uint64_t wires = options.first_row;
  for (std::uint64_t targets : graph.targets) wires |= targets;
  const int more = std::popcount(wires) - options.tile;
  const int each = options.tile - std::popcount(options.first_row);
  return 1 + static_cast<std::size_t>(more > 0 ? (more + each - 1) / each : 0);
}

// The wires of each pass without one of them.
std::vector<std::uint64_t> sets_without(const std::vector<WirePass>& passes, std::size_t left_out) {
  std::vector<std::uint64_t> sets;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    if (p != left_out) sets.push_back(passes[p].active);
  }
  return sets;
}

// A chain that runs everything in a pass less, if one is found.
std::optional<Chain> one_pass_less(const DependenceGraph& graph, const ScheduleOptions& options,
                                   const std::vector<WirePass>& passes, std::uint64_t& steps) {
  std::vector<Chain> chains;
  for (std::uint64_t c = 0; c < kChains; ++c) {
    const std::size_t left_out = passes.size() - 1 - c % std::min<std::size_t>(3, passes.size());
    chains.emplace_back(graph, options, sets_without(passes, left_out),
                        std::vector<int>(passes.size() - 1, options.tile), c + 1);
  }
  const double mean = graph.total / static_cast<double>(graph.size());
  const std::uint64_t slice = steps / (kChains * kSlices);
  const double cooling = std::pow(kCold / kHot, 1.0 / kSlices);
  double temperature = kHot * mean;
  for (int k = 0; k < kSlices; ++k, temperature *= cooling) {
    side_by_side(kChains, [&](int c) {
      chains[static_cast<std::size_t>(c)].anneal(slice, temperature, temperature * cooling);
    });
    steps -= kChains * slice;
    for (Chain& chain : chains) {
      if (chain.is_complete()) return std::move(chain);
    }
  }
  return std::nullopt;
}

// A complete chain of which as many passes as can be have options.narrow_tile wires.
Chain narrowed(const DependenceGraph& graph, const ScheduleOptions& options, Chain best) {
  const double mean = graph.total / static_cast<double>(graph.size());
  const std::uint64_t slice = options.search_steps / (kChains * kSlices);
  std::vector<int> failures(best.sets().size());
  for (int round = 0; round < kSlices; ++round) {
    std::vector<std::pair<double, std::size_t>> wide;  // those that lose least first
    for (std::size_t p = 0; p < failures.size(); ++p) {
      if (best.sizes()[p] <= options.narrow_tile || failures[p] == 2) continue;
      if (const std::uint64_t wire = best.least_used(p)) {
        wide.emplace_back(best.use(p, wire) + 1e3 * failures[p], p);
      }
    }
    std::sort(wide.begin(), wide.end());
    if (wide.size() > kChains) wide.resize(kChains);
    if (wide.empty()) break;
    std::vector<Chain> chains;
    for (const auto& [use, p] : wide) {
      auto sets = best.sets();
      auto sizes = best.sizes();
      sets[p] &= ~best.least_used(p);
      sizes[p] = options.narrow_tile;
      chains.emplace_back(graph, options, std::move(sets), std::move(sizes),
                          static_cast<std::uint64_t>(round) * kChains + p);
    }
    const int count = static_cast<int>(chains.size());
    side_by_side(count, [&](int c) {
      chains[static_cast<std::size_t>(c)].anneal(slice, kWarm * mean, kCold * mean);
    });
    bool found = false;
    for (int c = 0; c < count; ++c) {
      if (!chains[c].is_complete()) ++failures[wide[c].second];
      if (chains[c].is_complete() && !std::exchange(found, true)) best = std::move(chains[c]);
    }
  }
  return best;
}

}  // namespace

Shortened fewer_passes(const std::vector<Need>& needs, const ScheduleOptions& options,
                       std::vector<WirePass> passes) {
  Shortened result{std::move(passes), {}};
  std::uint64_t steps = options.search_steps;
  if (steps < kChains * kFewestSteps || !can_search(needs, result.passes)) return result;
  const DependenceGraph graph = DependenceGraph::of(needs);
  const std::size_t fewest = fewest_passes(graph, options);
  while (result.passes.size() > fewest && steps >= kChains * kFewestSteps) {
    const auto found = one_pass_less(graph, options, result.passes, steps);
    if (!found) break;
    result.before = std::move(result.passes);
    result.passes = schedule_with(needs, options, found->needed());
  }
  return result;
}

std::vector<WirePass> narrower_passes(const std::vector<Need>& needs,
                                      const ScheduleOptions& options,
                                      std::vector<WirePass> passes) {
  if (passes.size() < 2 || !can_search(needs, passes)) return passes;
  const DependenceGraph graph = DependenceGraph::of(needs);
  const Chain wide(graph, options, sets_without(passes, passes.size()),
                   std::vector<int>(passes.size(), options.tile), 1);
  return schedule_with(needs, options, narrowed(graph, options, wide).needed());
}

std::vector<WirePass> find_schedule(const std::vector<Need>& needs, const ScheduleOptions& options,
                                    PlanMemory* memory) {
  if (options.num_wires <= options.tile) memory = nullptr;  // found as fast as looked up
  if (memory) {
    if (const auto sets = memory->find_schedule(needs, options))
      return schedule_with(needs, options, *sets);
  }
  const auto keep = [&](const ScheduleOptions& of, const std::vector<WirePass>& passes) {
    if (!memory) return;
    std::vector<std::uint64_t> active;
    for (const WirePass& pass : passes) active.push_back(pass.active);
    memory->keep_schedule(needs, of, std::move(active));
  };
  if (options.narrow_tile > 0) {
    ScheduleOptions wide = options;
    wide.narrow_tile = 0;
    std::vector<WirePass> passes =
        narrower_passes(needs, options, find_schedule(needs, wide, memory));
    keep(options, passes);
    return passes;
  }
  ScheduleOptions fewest = options, one_more = options;
  fewest.one_more = false;
  one_more.one_more = true;
  Shortened found = fewer_passes(needs, options, schedule(needs, options));
  if (found.before.empty()) found.before = found.passes;
  keep(fewest, found.passes);
  keep(one_more, found.before);
  return options.one_more ? found.before : found.passes;
}

}  // namespace tilewave::statevec::detail
