#include "tilewave/stabilizer/sparse_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/stabilizer/pauli_channel.h"
#include "tilewave/stabilizer/segment_walk.h"
#include "tilewave/stabilizer/set_numbers.h"
#include "tilewave/stabilizer/sparse_tables.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;

constexpr std::size_t kMostMechanisms = 0xFFFF'FFFE;
constexpr std::size_t kNewMechanism = 20;  // a mechanism made costs as much as so many symptoms

class Builder : public SegmentVisitor {
 public:
  Builder(const StabProgram* program, std::uint64_t num_detectors, std::uint64_t num_observables)
      : program_(program) {
    open_segment();
    out_.num_detectors = num_detectors;
    out_.num_bits = num_detectors + num_observables;
    if (out_.num_bits >= (std::uint64_t{1} << 31)) {
      throw Error(ExitCode::kResources,
                  "the sparse engine holds at most 2^31 output bits a shot, this circuit makes " +
                      std::to_string(out_.num_bits) + ": use --engine frame");
    }
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const auto probability = program_->probabilities(p);
    const auto list = program_->list(p);
    switch (p.kind) {
      case P::kPauli1: {
        // index: x + 2 z, so X 1, Z 2, Y 3
        const double channel[4] = {0, probability[0], probability[2], probability[1]};
        for (std::uint32_t q : list) pauli_channel(channel, 4, {&walk.x(q), &walk.z(q)});
        break;
      }
      case P::kPauli2: {
        double channel[16] = {};
        static constexpr int kIndex[4] = {0, 1, 3, 2};
        for (int k = 1; k < 16; ++k)
          channel[kIndex[k >> 2] + 4 * kIndex[k & 3]] = probability[k - 1];
        for (std::size_t i = 0; i < list.size(); i += 2) {
          pauli_channel(
              channel, 16,
              {&walk.x(list[i]), &walk.z(list[i]), &walk.x(list[i + 1]), &walk.z(list[i + 1])});
        }
        break;
      }
      case P::kRecordFlip:
        for (std::uint32_t k = 1; k <= p.count; ++k) single(probability[0], walk.record(k));
        break;
      case P::kCorrelated:
        add_link(p, walk);
        break;
      case P::kHerald:
        for (std::uint32_t k = 0; k < p.count; ++k) {
          Branches branches;
          const Pauli paulis[4] = {Pauli::kI, Pauli::kX, Pauli::kY, Pauli::kZ};
          for (int j = 0; j < 4; ++j) {
            SymptomSet set = walk.record(p.count - k);
            toggle(set, walk.flips(paulis[j], list[k]));
            branches.push_back({probability[j], std::move(set)});
          }
          disjoint(std::move(branches));
        }
        break;
      default:
        break;
    }
  }

  void coin(const Prim*, std::uint32_t, const SymptomSet& flips) override { add_coin(flips); }

  void single(double p, const SymptomSet& set) {
    if (p == 0 || set.empty()) return;
    spend(set.size());
    if (p == 0.5) {
      add_coin(set);
      return;
    }
    if (p > 0.5) {
      toggle(always_, set);
      ++always_changes_;
      p = 1 - p;
    }
    if (p > 0) mechanism(hash_of(set), -std::log1p(-2 * p) / 2, [&] { return set; });
  }

  void limit_work(std::uint64_t most_symptoms) { most_work_ = most_symptoms; }
  SparseProgram finish();

 private:
  using Branches = std::vector<std::pair<double, SymptomSet>>;
  struct Mechanism {
    double rate;
    SymptomSet set;
  };
  // What a stretch of the circuit contributes; `repeats` copies, each `stride` detectors earlier.
  struct Segment {
    SetNumbers numbers;  // of mechanisms by their sets
    std::vector<Mechanism> mechanisms;
    std::vector<Branches> sites;
    std::vector<SymptomSet> coins;
  };

  std::size_t new_segment() override {
    segments_.emplace_back();
    return segments_.size() - 1;
  }
  void chain(std::vector<ChainLink> links) override {
    if (links.size() == 1) return single(links[0].probability, links[0].flips);
    Branches branches;
    for (ChainLink& link : links) branches.push_back({link.probability, std::move(link.flips)});
    disjoint(std::move(branches));
  }
  std::uint64_t outside_changes() const override { return always_changes_; }
  // Mechanisms are then a process of a higher rate.
  bool can_multiply(std::size_t segment) const override {
    return segments_[segment].sites.empty() && segments_[segment].coins.empty();
  }
  void multiply(std::size_t segment, std::uint64_t times) override {
    for (Mechanism& m : segments_[segment].mechanisms) m.rate *= static_cast<double>(times);
  }
  // Notes that so many symptoms are looked at.
  void spend(std::size_t symptoms) {
    work_ += symptoms;
    if (work_ > most_work_) throw TooMuchWork{};
  }
  [[noreturn]] void throw_too_large() const override {
    throw Error(ExitCode::kResources,
                "the program of the sparse engine has 2^32 parts or more: use --engine frame or "
                "shorten the REPEAT blocks");
  }
  std::uint32_t bit_of(Symptom s, std::uint64_t shift) const {
    return static_cast<std::uint32_t>(
        s & kObservableBit ? out_.num_detectors + (s & ~kObservableBit) : s - shift);
  }
  SparseList far(const SymptomSet& set, std::uint64_t shift) {
    SparseList l{static_cast<std::uint32_t>(out_.far.size()),
                 static_cast<std::uint32_t>(set.size())};
    if (out_.far.size() + set.size() >= ~std::uint32_t{0}) throw_too_large();
    for (Symptom s : set) out_.far.push_back(bit_of(s, shift));
    return l;
  }
  void add_coin(const SymptomSet& set) {
    spend(set.size());
    if (!set.empty()) segments_.back().coins.push_back(set);
  }
  template <class MakeSet>
  void mechanism(const SetHash& hash, double rate, MakeSet make) {
    if (hash == SetHash{} || rate == 0) return;
    Segment& segment = segments_.back();
    if (segment.numbers.size() >= kMostMechanisms) throw_too_large();
    const auto [number, fresh] = segment.numbers.number_of(hash);
    if (fresh) {
      spend(kNewMechanism);
      segment.mechanisms.push_back({rate, make()});
    } else {
      segment.mechanisms[number].rate += rate;
    }
  }
  void pauli_channel(const double* channel, int size, const BranchSets& sets) {
    for (std::size_t g = 0; g < sets.num_generators(); ++g) spend(sets.generator(g).size());
    spend(static_cast<std::size_t>(size));
    if (last_size_ != size || !std::equal(channel, channel + size, last_channel_.begin())) {
      std::copy(channel, channel + size, last_channel_.begin());
      last_size_ = size;
      last_rates_[0] = 0;
      last_is_poisson_ = poisson_rates(channel, size, last_rates_.data());
    }
    const auto count = static_cast<std::size_t>(size);
    if (last_is_poisson_) {
      for (std::size_t k = 1; k < count; ++k)
        mechanism(sets.hash(k), last_rates_[k], [&] { return sets.set(k); });
      return;
    }
    // A channel of one Pauli with p >= 1/2 is a certain flip and a rare one.
    std::size_t nonzero = 0, which = 0;
    for (std::size_t k = 1; k < count; ++k) {
      if (channel[k] > 0) ++nonzero, which = k;
    }
    if (nonzero == 1) {
      single(channel[which], sets.set(which));
      return;
    }
    Branches branches;
    for (std::size_t k = 1; k < count; ++k) {
      if (channel[k] > 0) branches.push_back({channel[k], sets.set(k)});
    }
    disjoint(std::move(branches));
  }

  void disjoint(Branches branches) {
    for (const auto& b : branches) spend(b.second.size());
    std::erase_if(branches, [](const auto& b) { return b.first == 0 || b.second.empty(); });
    if (!branches.empty()) segments_.back().sites.push_back(std::move(branches));
  }
  void add_site(const Branches& branches, std::uint64_t shift) {
    double total = 0;
    for (const auto& b : branches) total += b.first;
    total = std::min(total, 1.0);
    std::vector<SparseBranch>& site = pending_[total].emplace_back();
    double sum = 0;
    for (std::size_t k = 0; k < branches.size(); ++k) {
      sum += branches[k].first;
      const SparseList l = far(branches[k].second, shift);
      const bool last = k + 1 == branches.size();
      site.push_back(
          {last ? 1u << 24 : static_cast<std::uint32_t>(std::lround(sum / total * 0x1p24)), l.first,
           l.count});
    }
    for (const auto& b : branches)
      out_.site_flips_per_shot += b.first * static_cast<double>(b.second.size());
    out_.sites_per_shot += total;
  }

  void often_to_coins();
  void add_groups(const Segment& segment, std::vector<std::uint32_t>* groups);
  std::uint32_t add_group(std::uint32_t width, bool fixed,
                          std::span<const Mechanism* const> members);

  const StabProgram* program_;
  SparseProgram out_;
  std::vector<Segment> segments_;
  SymptomSet always_;
  std::uint64_t always_changes_ = 0;
  std::map<double, std::vector<std::vector<SparseBranch>>> pending_;
  std::array<double, 16> last_channel_{}, last_rates_{};
  int last_size_ = 0;
  bool last_is_poisson_ = false;
  std::uint64_t work_ = 0, most_work_ = ~std::uint64_t{0};  // symptoms
};

constexpr std::size_t kTableMechanisms = 4096;  // of one group: tables of at most 100 kB

std::uint32_t Builder::add_group(std::uint32_t width, bool fixed,
                                 std::span<const Mechanism* const> members) {
  const auto n = static_cast<std::uint32_t>(members.size());
  SparseGroup g;
  g.width = width;
  g.fixed = fixed;
  g.first = static_cast<std::uint32_t>(out_.alias.size());
  g.count = n;
  for (const Mechanism* m : members) {
    g.rate += m->rate;
    g.flips += m->rate * static_cast<double>(m->set.size());
  }
  g.first_bit = static_cast<std::uint32_t>(width ? out_.bits.size() : out_.lists.size());
  const auto marked = [&](Symptom s) {
    return bit_of(s, 0) | (s & kObservableBit ? kFixedBit : 0);
  };
  for (const Mechanism* m : members) {
    if (!width)
      out_.lists.push_back(
          {static_cast<std::uint32_t>(out_.far.size()), static_cast<std::uint32_t>(m->set.size())});
    for (Symptom s : m->set) (width ? out_.bits : out_.far).push_back(marked(s));
  }
  std::vector<double> share(n);
  for (std::uint32_t k = 0; k < n; ++k) share[k] = members[k]->rate / g.rate * n;
  const std::vector<AliasEntry> alias = alias_table(std::move(share));
  out_.alias.insert(out_.alias.end(), alias.begin(), alias.end());
  out_.groups.push_back(g);
  return static_cast<std::uint32_t>(out_.groups.size() - 1);
}

// Neighbours in the output are neighbours in a table; a large table is cut.
void Builder::add_groups(const Segment& segment, std::vector<std::uint32_t>* groups) {
  std::vector<const Mechanism*> members[10];
  for (const Mechanism& m : segment.mechanisms) {
    const std::size_t width = m.set.size() <= 4 ? m.set.size() : 0;
    members[2 * width + ((m.set.back() & kObservableBit) ? 1 : 0)].push_back(&m);
  }
  for (std::uint32_t k = 0; k < 10; ++k) {
    std::sort(members[k].begin(), members[k].end(),
              [](const Mechanism* a, const Mechanism* b) { return a->set < b->set; });
    const std::size_t n = members[k].size(), cuts = (n + kTableMechanisms - 1) / kTableMechanisms;
    for (std::size_t c = 0; c < cuts; ++c) {
      const std::size_t first = n * c / cuts, last = n * (c + 1) / cuts;
      groups->push_back(
          add_group(k / 2, k % 2, std::span(members[k]).subspan(first, last - first)));
    }
  }
}

// An odd number of events at rate r has probability (1 - exp(-2 r)) / 2: one half, as far as double
// precision goes, when r is large.
void Builder::often_to_coins() {
  constexpr double kAlwaysHalf = 20;
  for (Segment& segment : segments_) {
    std::erase_if(segment.mechanisms, [&](Mechanism& m) {
      if (m.rate < kAlwaysHalf) return false;
      segment.coins.push_back(std::move(m.set));
      return true;
    });
  }
}

SparseProgram Builder::finish() {
  end_chain();
  for (Segment& segment : segments_) segment.numbers = {};  // all are in: the memory is free
  often_to_coins();
  std::vector<std::vector<std::uint32_t>> groups(segments_.size());
  for (std::size_t k = 0; k < segments_.size(); ++k) add_groups(segments_[k], &groups[k]);
  for (const SegmentInstance& in : instances_) {
    const Segment& segment = segments_[in.segment];
    for (std::uint64_t r = 0; r < in.repeats; ++r) {
      const std::uint64_t shift = in.shift + r * in.stride;
      for (std::uint32_t g : groups[in.segment])
        out_.tiles.push_back({g, static_cast<std::uint32_t>(shift)});
      for (const Branches& site : segment.sites) add_site(site, shift);
      for (const SymptomSet& coin : segment.coins) {
        SymptomSet moved;
        for (Symptom s : coin) moved.push_back(s & kObservableBit ? s : s - shift);
        out_.coins.push_back(far(moved, 0));
      }
    }
  }
  for (const auto& [probability, sites] : pending_) {
    SparseSiteGroup g;
    g.probability = probability;
    g.inv_log = 1 / std::log1p(-probability);
    g.first_site = static_cast<std::uint32_t>(out_.sites.size());
    g.num_sites = static_cast<std::uint32_t>(sites.size());
    for (const auto& site : sites) {
      out_.sites.push_back({static_cast<std::uint32_t>(out_.branches.size()),
                            static_cast<std::uint32_t>(site.size())});
      out_.branches.insert(out_.branches.end(), site.begin(), site.end());
    }
    out_.site_groups.push_back(g);
  }
  for (Symptom s : always_) out_.always.push_back(bit_of(s, 0));
  for (const SparseList& c : out_.coins) out_.coin_flips_per_shot += 0.5 * c.count;
  set_unit(out_, usual_unit(out_));
  for (const SparseTile& t : out_.tiles) {
    const SparseGroup& g = out_.groups[t.group];
    out_.events_per_shot += g.rate;
    out_.event_flips_per_shot += g.flips;
  }
  // Row by row from the first output bit on: the tiles of one stretch of the rows follow each
  // other.
  std::stable_sort(out_.tiles.begin(), out_.tiles.end(),
                   [](const SparseTile& a, const SparseTile& b) { return a.shift > b.shift; });
  return std::move(out_);
}

}  // namespace

std::uint32_t usual_unit(const SparseProgram& program) {
  const std::uint64_t row = std::max<std::uint64_t>(1, program.row_bytes());
  return static_cast<std::uint32_t>(
      std::clamp<int>(std::bit_width((std::uint64_t{1} << 20) / row) - 1, 6, 13));
}

void set_unit(SparseProgram& program, std::uint32_t log2_unit) {
  program.log2_unit = log2_unit;
  program.poissons.clear();
  for (SparseGroup& g : program.groups) {
    g.poisson = static_cast<std::uint32_t>(program.poissons.size());
    program.poissons.push_back(poisson_table(std::ldexp(g.rate, static_cast<int>(log2_unit))));
  }
}

SparseProgram build_sparse(const StabProgram& program, SymptomKind kind) {
  return *build_sparse_within(program, kind, ~std::uint64_t{0});
}

std::optional<SparseProgram> build_sparse_within(const StabProgram& program, SymptomKind kind,
                                                 std::uint64_t most_work) {
  TW_CHECK(!program.has_leakage, "leakage is no set of independent errors");
  const bool records = kind == SymptomKind::kRecords;
  Builder builder(&program, records ? program.counts.measurements : program.counts.detectors,
                  kind == SymptomKind::kDetectors ? program.counts.observables : 0);
  SensitivityWalk walk(program, kind, builder);
  builder.limit_work(most_work);
  walk.limit_work(saturating_multiply(4, most_work));  // a step there costs a quarter
  try {
    walk.run();
    return builder.finish();
  } catch (const TooMuchWork&) {
    return std::nullopt;
  }
}

SymptomSet symptoms_of(const IndependentError& error, std::uint64_t num_detectors) {
  SymptomSet set;
  for (const std::uint32_t b : error.bits)
    set.toggle_one(b < num_detectors ? Symptom{b} : kObservableBit | (b - num_detectors));
  return set;
}

SparseProgram build_sparse(std::span<const IndependentError> errors, std::uint64_t num_detectors,
                           std::uint64_t num_observables) {
  Builder builder(nullptr, num_detectors, num_observables);
  for (const IndependentError& e : errors)
    builder.single(e.probability, symptoms_of(e, num_detectors));
  return builder.finish();
}

}  // namespace tilewave::stabilizer
