#include "tilewave/stabilizer/fault_sites.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/segment_walk.h"
#include "tilewave/stabilizer/sparse_tables.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;

class FaultBuilder : public SegmentVisitor {
 public:
  FaultBuilder(const StabProgram* program, std::uint64_t num_detectors,
               std::uint64_t num_observables)
      : program_(program) {
    out_.coins.num_detectors = num_detectors;
    out_.num_bits = out_.coins.num_bits = num_detectors + num_observables;
    if (out_.num_bits >= kFixedBit) throw_too_large();
    open_segment();
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const auto probability = program_->probabilities(p);
    const auto list = program_->list(p);
    switch (p.kind) {
      case P::kPauli1: {
        // generators x, z
        static constexpr std::uint32_t kPaulis[3] = {1, 3, 2};
        const std::uint32_t channel = add_channel(probability, kPaulis, 2);
        for (std::uint32_t q : list) place(channel, {&walk.x(q), &walk.z(q)});
        break;
      }
      case P::kPauli2: {
        static constexpr std::uint32_t kPaulis[4] = {0, 1, 3, 2};
        std::array<std::uint32_t, 15> pairs{};
        for (std::uint32_t k = 1; k < 16; ++k)
          pairs[k - 1] = kPaulis[k >> 2] | (kPaulis[k & 3] << 2);
        const std::uint32_t channel = add_channel(probability, pairs, 4);
        for (std::size_t i = 0; i < list.size(); i += 2) {
          place(channel,
                {&walk.x(list[i]), &walk.z(list[i]), &walk.x(list[i + 1]), &walk.z(list[i + 1])});
        }
        break;
      }
      case P::kRecordFlip: {
        for (std::uint32_t k = 1; k <= p.count; ++k) flip(probability[0], walk.record(k));
        break;
      }
      case P::kHerald: {
        // the record is 1 with every outcome; generators record, x, z
        static constexpr std::uint32_t kOutcomes[4] = {1, 3, 7, 5};
        const std::uint32_t channel = add_channel(probability, kOutcomes, 3);
        for (std::uint32_t k = 0; k < p.count; ++k)
          place(channel, {&walk.record(p.count - k), &walk.x(list[k]), &walk.z(list[k])});
        break;
      }
      case P::kCorrelated:
        add_link(p, walk);
        break;
      default:
        break;
    }
  }
  void coin(const Prim*, std::uint32_t, const SymptomSet& flips) override {
    if (!flips.empty()) segments_.back().coins.push_back(flips);
  }

  /// A place with one outcome.
  void flip(double probability, const SymptomSet& set) {
    static constexpr std::uint32_t kFlip[1] = {1};
    place(add_channel(std::span(&probability, 1), kFlip, 1), {&set});
  }

  FaultProgram finish();

 private:
  struct Segment {
    std::vector<FaultSite> sites;  // that flip something
    std::vector<SymptomSet> coins;
    std::map<double, std::uint64_t> places;  // of every probability, those that flip nothing too
  };

  std::size_t new_segment() override {
    segments_.emplace_back();
    return segments_.size() - 1;
  }
  [[noreturn]] void throw_too_large() const override {
    fail(ExitCode::kResources,
         "the places of noise of this circuit and what they flip do not fit the tables of shots "
         "with a given number of faults (2^31 bits, 2^32 parts): shorten its REPEAT blocks, or ask "
         "for detectors rather than records");
  }

  std::uint32_t bit_of(Symptom s) const {
    if (s & kObservableBit)
      return static_cast<std::uint32_t>(out_.coins.num_detectors + (s & ~kObservableBit)) |
             kFixedBit;
    return static_cast<std::uint32_t>(s);
  }

  // A channel whose outcome k has probability p[k] and adds the generators selectors[k]; the number of
  // channels where it never fires.
  std::uint32_t add_channel(std::span<const double> p, std::span<const std::uint32_t> selectors,
                            std::uint32_t num_generators, bool one_each = false) {
    std::vector<double> key(p.begin(), p.end());
    for (const std::uint32_t s : selectors) key.push_back(s);
    key.push_back(one_each ? -1 : num_generators);
    const auto [it, fresh] =
        channel_of_.emplace(std::move(key), static_cast<std::uint32_t>(out_.channels.size()));
    if (!fresh) return it->second;
    FaultChannel c;
    for (const double chance : p) c.probability += chance;
    c.probability = std::min(c.probability, 1.0);
    // Sums of equal shares, such as 15 times p / 15, are one class with p; those that make up 1 are 1.
    constexpr double kClose = 1e-14;
    if (c.probability > 1 - kClose) c.probability = 1;
    const auto near = probability_of_.lower_bound(c.probability * (1 - kClose));
    if (near != probability_of_.end() && near->first <= c.probability * (1 + kClose)) {
      c.probability = near->first;
    } else {
      probability_of_.emplace(c.probability, 0);
    }
    c.first = static_cast<std::uint32_t>(out_.alias.size());
    c.num_generators = num_generators;
    c.one_each = one_each;
    std::vector<double> share;
    double sum = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      if (p[k] <= 0) continue;
      share.push_back(p[k]);
      sum += p[k];
      out_.selectors.push_back(selectors[k]);
    }
    for (double& s : share) s *= static_cast<double>(share.size()) / sum;
    c.count = static_cast<std::uint32_t>(share.size());
    const std::vector<AliasEntry> alias = alias_table(std::move(share));
    out_.alias.insert(out_.alias.end(), alias.begin(), alias.end());
    out_.channels.push_back(c);
    return it->second;
  }

  void place(std::uint32_t channel, std::span<const SymptomSet* const> generators) {
    const FaultChannel& c = out_.channels[channel];
    if (c.probability <= 0) return;
    ++segments_.back().places[c.probability];
    if (std::all_of(generators.begin(), generators.end(),
                    [](const SymptomSet* set) { return set->empty(); }))
      return;
    segments_.back().sites.push_back({channel, static_cast<std::uint32_t>(out_.generators.size())});
    for (const SymptomSet* set : generators) out_.generators.push_back(far(*set));
  }
  void place(std::uint32_t channel, std::initializer_list<const SymptomSet*> generators) {
    place(channel, std::span(generators.begin(), generators.size()));
  }
  SparseList far(const SymptomSet& set) {
    if (out_.far.size() + set.size() >= ~std::uint32_t{0} ||
        out_.generators.size() >= ~std::uint32_t{0})
      throw_too_large();
    const SparseList list{static_cast<std::uint32_t>(out_.far.size()),
                          static_cast<std::uint32_t>(set.size())};
    for (const Symptom s : set) out_.far.push_back(bit_of(s));
    return list;
  }

  // One place, whose outcomes are the links.
  void chain(std::vector<ChainLink> links) override {
    std::reverse(links.begin(), links.end());
    std::vector<double> p;
    std::vector<std::uint32_t> numbers;
    std::vector<const SymptomSet*> sets;
    for (const ChainLink& link : links) {
      p.push_back(link.probability);
      numbers.push_back(static_cast<std::uint32_t>(sets.size()));
      sets.push_back(&link.flips);
    }
    place(add_channel(p, numbers, static_cast<std::uint32_t>(sets.size()), true), sets);
  }

  const StabProgram* program_;
  FaultProgram out_;
  std::vector<Segment> segments_;
  std::map<std::vector<double>, std::uint32_t> channel_of_;
  std::map<double, int> probability_of_;
};

FaultProgram FaultBuilder::finish() {
  end_chain();
  std::map<double, std::uint64_t> places;
  std::map<double, std::vector<FaultSpan>> spans;
  std::vector<std::map<double, std::pair<std::uint32_t, std::uint32_t>>> sites_of(segments_.size());
  for (std::size_t k = 0; k < segments_.size(); ++k) {
    std::vector<FaultSite>& sites = segments_[k].sites;
    const auto chance = [&](const FaultSite& s) { return out_.channels[s.channel].probability; };
    std::stable_sort(sites.begin(), sites.end(),
                     [&](const FaultSite& a, const FaultSite& b) { return chance(a) < chance(b); });
    for (const FaultSite& s : sites) {
      const auto number = static_cast<std::uint32_t>(out_.sites.size());
      ++sites_of[k].emplace(chance(s), std::pair(number, 0u)).first->second.second;
      out_.sites.push_back(s);
    }
    sites = {};
  }
  for (const SegmentInstance& in : instances_) {
    const Segment& segment = segments_[in.segment];
    for (const auto& [chance, count] : segment.places) places[chance] += count * in.repeats;
    for (const auto& [chance, run] : sites_of[in.segment]) {
      spans[chance].push_back({0, run.first, run.second, in.repeats, in.shift, in.stride});
      out_.moves |= in.shift > 0 || (in.stride > 0 && in.repeats > 1);
    }
    for (std::uint64_t r = 0; r < in.repeats; ++r) {
      const std::uint64_t shift = in.shift + r * in.stride;
      for (const SymptomSet& coin : segment.coins) {
        out_.coins.coins.push_back({static_cast<std::uint32_t>(out_.coins.far.size()),
                                    static_cast<std::uint32_t>(coin.size())});
        if (out_.coins.far.size() + coin.size() >= ~std::uint32_t{0}) throw_too_large();
        for (const Symptom s : coin) {
          const std::uint32_t bit = bit_of(s);
          out_.coins.far.push_back(bit & kFixedBit ? bit & ~kFixedBit
                                                   : bit - static_cast<std::uint32_t>(shift));
        }
      }
    }
  }
  for (const auto& [chance, count] : places) {
    out_.classes.push_back({chance, count});
    out_.first_span.push_back(static_cast<std::uint32_t>(out_.spans.size()));
    std::uint64_t start = 0;
    for (FaultSpan& span : spans[chance]) {
      span.start = start;
      start += span.num_sites * span.repeats;
      out_.spans.push_back(span);
    }
  }
  out_.first_span.push_back(static_cast<std::uint32_t>(out_.spans.size()));
  for (const SparseList& c : out_.coins.coins) out_.coins.coin_flips_per_shot += 0.5 * c.count;
  set_unit(out_.coins, usual_unit(out_.coins));
  return std::move(out_);
}

}  // namespace

std::uint64_t FaultProgram::num_places() const {
  std::uint64_t sum = 0;
  for (const FaultClass& c : classes) sum += c.count;
  return sum;
}

FaultProgram build_faults(const StabProgram& program, SymptomKind kind) {
  if (program.has_leakage) {
    fail(ExitCode::kInput, program.name,
         ": the circuit has leakage, whose faults are not independent of each other: shots with a "
         "given number of them cannot be drawn");
  }
  const bool records = kind == SymptomKind::kRecords;
  FaultBuilder builder(&program, records ? program.counts.measurements : program.counts.detectors,
                       records ? 0 : program.counts.observables);
  SensitivityWalk(program, kind, builder).run();
  return builder.finish();
}

FaultProgram build_faults(std::span<const IndependentError> errors, std::uint64_t num_detectors,
                          std::uint64_t num_observables) {
  FaultBuilder builder(nullptr, num_detectors, num_observables);
  for (const IndependentError& e : errors)
    builder.flip(e.probability, symptoms_of(e, num_detectors));
  return builder.finish();
}

std::string describe(const FaultProgram& program, const FaultNumbers& numbers) {
  char line[160];
  std::snprintf(line, sizeof line,
                "places of noise %llu in %zu classes of equal probability, %zu tables of what they "
                "flip\n",
                static_cast<unsigned long long>(program.num_places()), program.classes.size(),
                program.sites.size());
  std::string text = line;
  std::snprintf(line, sizeof line, "faults a shot %s, which has probability %.6g\n",
                words_of(numbers.asked()).c_str(), numbers.weight());
  text += line;
  return text + "coins " + std::to_string(program.coins.coins.size()) + "\n";
}

}  // namespace tilewave::stabilizer
