// Simulated annealing over schedules with a given number of passes. A state is the set of active
// wires of each pass; what it is worth is the weight of the actions that are left after the last
// one, and a little of what is left in between. A step brings into one pass the wires that a
// waiting action misses and sends as many away, rather those that little is done on. Only actions
// that change wires count: a phase runs once those before it did, and is part of what the actions
// after it depend on. Several chains cool down side by side, with random numbers of their own.
#include "tilewave/statevec/plan/search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/statevec/plan/side_by_side.h"

namespace tilewave::statevec::detail {

namespace {

constexpr int kChains = 4;
constexpr std::size_t kMostMovers = 4096;
constexpr std::uint64_t kFewestSteps = 400;  // of a chain
constexpr int kCandidates = 4;  // of the wires to send away the one that least is done on
constexpr double kHot = 4, kWarm = 1.5, kCold = 0.3;  // temperatures, in mean weights of actions
constexpr int kSlices = 8;       // of the cooling, after which the chains are looked at
constexpr double kHopeless = 4;  // temperatures that a step is behind after two passes
constexpr double kInBetween = 0.1;

std::size_t number_of_movers(const std::vector<Need>& needs) {
  return static_cast<std::size_t>(
      std::count_if(needs.begin(), needs.end(), [](const Need& a) { return a.x != 0; }));
}

// Actions that change wires, and who has to wait for whom.
struct Graph {
  std::vector<std::uint64_t> targets;
  std::vector<double> weight;
  std::vector<std::uint64_t> key;      // random, to tell sets of actions apart
  std::vector<std::uint16_t> awaits;   // number of actions that each waits for
  std::vector<std::uint32_t> next_at;  // of action m: next[next_at[m]] to next[next_at[m + 1]]
  std::vector<std::uint16_t> next;     // those that wait for it
  double total = 0;

  Graph(const std::vector<Need>& needs, std::size_t movers) {
    std::array<int, 64> changer;  // the last action that changes a wire
    changer.fill(-1);
    std::array<std::vector<int>, 64> before_change;  // what the next one waits for besides
    std::vector<std::vector<std::uint16_t>> followers;
    std::vector<std::vector<std::uint64_t>> ancestors;  // bit sets
    std::vector<int> waits_for;
    const auto wait_for = [&waits_for](int m) {
      if (m >= 0 && std::find(waits_for.begin(), waits_for.end(), m) == waits_for.end()) {
        waits_for.push_back(m);
      }
    };
    std::mt19937_64 random(1);
    for (const Need& need : needs) {
      waits_for.clear();
      for_each_bit(need.x | need.z, [&](int w) { wait_for(changer[w]); });
      if (!need.x) {
        for_each_bit(need.z, [&](int w) {
          auto& list = before_change[w];
          for (int m : waits_for) {
            if (std::find(list.begin(), list.end(), m) == list.end()) list.push_back(m);
          }
        });
        continue;
      }
      for_each_bit(need.x, [&](int w) {
        for (int m : before_change[w]) wait_for(m);
      });
      const int self = static_cast<int>(targets.size());
      targets.push_back(need.x);
      weight.push_back(need.weight);
      total += need.weight;
      key.push_back(random());
      // only those that no other of them waits for
      std::sort(waits_for.begin(), waits_for.end(), std::greater<>());
      auto& earlier = ancestors.emplace_back((movers + 63) / 64);
      followers.emplace_back();
      awaits.push_back(0);
      for (int m : waits_for) {
        if (earlier[m / 64] >> m % 64 & 1) continue;
        for (std::size_t k = 0; k <= static_cast<std::size_t>(m) / 64; ++k) {
          earlier[k] |= ancestors[m][k];
        }
        earlier[m / 64] |= std::uint64_t{1} << m % 64;
        followers[m].push_back(static_cast<std::uint16_t>(self));
        ++awaits[self];
      }
      for_each_bit(need.x, [&](int w) {
        changer[w] = self;
        before_change[w].clear();
      });
      for_each_bit(need.z & ~need.x, [&](int w) { before_change[w].push_back(self); });
    }
    for (const auto& list : followers) {
      next_at.push_back(static_cast<std::uint32_t>(next.size()));
      next.insert(next.end(), list.begin(), list.end());
    }
    next_at.push_back(static_cast<std::uint32_t>(next.size()));
  }
  std::size_t size() const { return targets.size(); }
};

// Which actions are done between two passes.
struct Progress {
  std::vector<std::uint16_t> awaits;
  std::vector<std::uint16_t> ready;  // num_ready of them: not done, waiting for wires alone
  std::size_t num_ready = 0;
  std::uint64_t done = 0;  // keys of those done
  double left = 0;         // weight
};

class Chain {
 public:
  // sizes: wires of each pass
  Chain(const Graph& graph, const ScheduleOptions& options, std::vector<std::uint64_t> sets,
        std::vector<int> sizes, std::uint64_t seed)
      : graph_(&graph),
        options_(&options),
        all_(low_mask(options.num_wires) & options.wires),
        row_(std::popcount(options.first_row)),
        random_(seed),
        sets_(std::move(sets)),
        sizes_(std::move(sizes)),
        at_(sets_.size() + 1),
        tried_(sets_.size() + 1),
        use_(sets_.size()),
        tried_use_(sets_.size()),
        open_(graph.size() + 1) {
    make_valid();
    for (auto* all : {&at_, &tried_}) {
      for (Progress& at : *all) {
        at.awaits = graph.awaits;
        at.ready.resize(graph.size() + 1);
      }
    }
    at_[0].left = graph.total;
    for (std::size_t m = 0; m < graph.size(); ++m) {
      if (graph.awaits[m] == 0) at_[0].ready[at_[0].num_ready++] = static_cast<std::uint16_t>(m);
    }
    for (std::size_t p = 0; p < sets_.size(); ++p) run(at_[p], sets_[p], at_[p + 1], use_[p]);
  }

  bool is_complete() const { return at_.back().num_ready == 0; }
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
    for (double temperature = hot; steps > 0 && !is_complete(); --steps) {
      step(temperature);
      temperature *= cooling;
    }
  }

 private:
  using Use = std::array<float, 64>;

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

  // What is done in a pass with these wires. Whether an action is ready and has its wires is
  // anyone's guess, so it is written to both lists and counts in one or none.
  void run(const Progress& from, std::uint64_t set, Progress& to, Use& use) {
    std::copy(from.awaits.begin(), from.awaits.end(), to.awaits.begin());
    std::uint16_t* const ready = to.ready.data();
    std::uint16_t* const open = open_.data();
    std::size_t num_ready = 0, num_open = 0;
    const auto offer = [&](std::uint16_t m, bool is_ready) {
      const bool has_wires = (graph_->targets[m] & ~set) == 0;
      open[num_open] = ready[num_ready] = m;
      num_open += is_ready & has_wires;
      num_ready += is_ready & !has_wires;
    };
    for (std::size_t k = 0; k < from.num_ready; ++k) offer(from.ready[k], true);
    std::uint64_t done = from.done;
    double left = from.left;
    use.fill(0);
    while (num_open > 0) {
      const std::uint16_t m = open[--num_open];
      done ^= graph_->key[m];
      left -= graph_->weight[m];
      for_each_bit(graph_->targets[m],
                   [&](int w) { use[w] += static_cast<float>(graph_->weight[m]); });
      for (std::uint32_t k = graph_->next_at[m]; k < graph_->next_at[m + 1]; ++k) {
        const std::uint16_t follower = graph_->next[k];
        offer(follower, --to.awaits[follower] == 0);
      }
    }
    to.num_ready = num_ready;
    to.done = done;
    to.left = left;
  }

  // -ln of a number in (0, 1), to a few per cent and the same on every machine.
  double exponential() {
    const std::uint64_t bits = random_() | 1;
    const int zeros = std::countl_zero(bits);
    const double rest = static_cast<double>(bits << zeros << 1) * 0x1p-64;
    return 0.6931471805599453 * (zeros + 1 - rest);
  }

  // Another set for a pass, or 0.
  std::uint64_t other_set(std::size_t pass) {
    const std::uint64_t set = sets_[pass];
    const Progress& after = at_[pass + 1];
    std::uint64_t enter = 0;
    if (after.num_ready > 0 && below(8)) {
      enter = graph_->targets[after.ready[below(after.num_ready)]] & ~set;
    }
    if (!enter) {
      if (!(all_ & ~set)) return 0;
      enter = any_of(all_ & ~set);
    }
    std::uint64_t result = set | enter;
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

  void step(double temperature) {
    const std::size_t first = below(sets_.size());
    const std::uint64_t set = other_set(first);
    if (!set) return;
    run(at_[first], set, tried_[first + 1], tried_use_[first]);
    std::size_t last = first + 1;  // where the two ways meet, or the end
    while (last < sets_.size() && tried_[last].done != at_[last].done) {
      if (last > first + 1 && tried_[last].left - at_[last].left > kHopeless * temperature) return;
      run(tried_[last], sets_[last], tried_[last + 1], tried_use_[last]);
      ++last;
    }
    double change = 0;
    for (std::size_t p = first + 1; p <= last; ++p) {
      const double share = p == sets_.size() ? 1 : kInBetween / static_cast<double>(sets_.size());
      change += share * (tried_[p].left - at_[p].left);
    }
    if (change > 0 && change > temperature * exponential()) return;
    sets_[first] = set;
    for (std::size_t p = first + 1; p <= last; ++p) {
      std::swap(at_[p], tried_[p]);
      use_[p - 1] = tried_use_[p - 1];
    }
  }

  const Graph* graph_;
  const ScheduleOptions* options_;
  std::uint64_t all_;
  int row_;  // wires that a pass shares with the one before, at least
  std::mt19937_64 random_;
  std::vector<std::uint64_t> sets_;
  std::vector<int> sizes_;
  std::vector<Progress> at_, tried_;
  std::vector<Use> use_, tried_use_;
  std::vector<std::uint16_t> open_;
};

// No schedule has fewer passes: each brings in so many wires at most.
std::size_t fewest_passes(const Graph& graph, const ScheduleOptions& options) {
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
std::optional<Chain> one_pass_less(const Graph& graph, const ScheduleOptions& options,
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
Chain narrowed(const Graph& graph, const ScheduleOptions& options, Chain best) {
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

std::vector<WirePass> fewer_passes(const std::vector<Need>& needs, const ScheduleOptions& options,
                                   std::vector<WirePass> passes) {
  std::uint64_t steps = options.search_steps;
  const std::size_t movers = number_of_movers(needs);
  if (steps < kChains * kFewestSteps || movers == 0 || movers > kMostMovers) return passes;
  const Graph graph(needs, movers);
  const std::size_t fewest = fewest_passes(graph, options);
  while (passes.size() > fewest && steps >= kChains * kFewestSteps) {
    const auto found = one_pass_less(graph, options, passes, steps);
    if (!found) break;
    passes = schedule_with(needs, options, found->needed());
  }
  return passes;
}

std::vector<WirePass> narrower_passes(const std::vector<Need>& needs,
                                      const ScheduleOptions& options,
                                      std::vector<WirePass> passes) {
  const std::size_t movers = number_of_movers(needs);
  if (passes.size() < 2 || movers == 0 || movers > kMostMovers) return passes;
  const Graph graph(needs, movers);
  const Chain wide(graph, options, sets_without(passes, passes.size()),
                   std::vector<int>(passes.size(), options.tile), 1);
  return schedule_with(needs, options, narrowed(graph, options, wide).needed());
}

namespace {

// The schedules planned last.
class KeptSchedules {
 public:
  std::optional<std::vector<std::uint64_t>> find(const std::vector<Need>& needs,
                                                 const ScheduleOptions& options) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
      return e.options == options && e.needs == needs;
    });
    if (found == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found);
    return found->sets;
  }
  void keep(const std::vector<Need>& needs, const ScheduleOptions& options,
            const std::vector<WirePass>& passes) {
    Entry entry{needs, options, {}};
    for (const WirePass& pass : passes) entry.sets.push_back(pass.active);
    const std::lock_guard lock(mutex_);
    entries_.push_front(std::move(entry));
    if (entries_.size() > kMostEntries) entries_.pop_back();
  }

 private:
  static constexpr std::size_t kMostEntries = 64;

  struct Entry {
    std::vector<Need> needs;
    ScheduleOptions options;
    std::vector<std::uint64_t> sets;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // those used last first
};

}  // namespace

std::vector<WirePass> kept_schedule(const std::vector<Need>& needs,
                                    const ScheduleOptions& options) {
  constexpr std::size_t kMostNeeds = 20'000;  // of an entry: half a MB
  static KeptSchedules kept;
  const bool is_worth_it = options.num_wires > options.tile && needs.size() <= kMostNeeds;
  if (is_worth_it) {
    if (const auto sets = kept.find(needs, options)) return schedule_with(needs, options, *sets);
  }
  std::vector<WirePass> passes;
  if (options.narrow_tile > 0) {
    ScheduleOptions wide = options;
    wide.narrow_tile = 0;
    passes = narrower_passes(needs, options, kept_schedule(needs, wide));
  } else {
    passes = fewer_passes(needs, options, schedule(needs, options));
  }
  if (is_worth_it) kept.keep(needs, options, passes);
  return passes;
}

}  // namespace tilewave::statevec::detail
