#include "tilewave/stabilizer/sparse_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"

namespace tilewave::stabilizer {
namespace {

using P = PrimKind;

// A hash of a set that is linear: the hash of a symmetric difference is the XOR of the hashes.
struct SetHash {
  std::uint64_t a = 0, b = 0;
  bool operator==(const SetHash&) const = default;
  SetHash operator^(const SetHash& o) const { return {a ^ o.a, b ^ o.b}; }
};
struct SetHashHash {
  std::size_t operator()(const SetHash& h) const { return h.a; }
};
SetHash hash_of(const SymptomSet& set) {
  SetHash h;
  for (Symptom s : set) {
    const Philox4x32 r = philox4x32(
        {{static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(s >> 32), 1, 2}}, 3, 4);
    h.a ^= (std::uint64_t{r.v[0]} << 32) | r.v[1];
    h.b ^= (std::uint64_t{r.v[2]} << 32) | r.v[3];
  }
  return h;
}

// The rates of a Pauli channel as a Poisson process of its Paulis: p has 4^n entries (index: x and
// z bits), the identity first. False when the channel has no such form.
bool poisson_rates(const double* p, int size, double* rates) {
  std::array<double, 16> log_eigenvalue{};
  const auto sign = [&](int j, int k) { return std::popcount(unsigned(j & k)) % 2 ? -1.0 : 1.0; };
  for (int k = 0; k < size; ++k) {
    double drop = 0;  // 1 - eigenvalue
    for (int j = 1; j < size; ++j) drop += p[j] * (1 - sign(j, k));
    if (drop >= 1 - 1e-9) return false;
    log_eigenvalue[k] = std::log1p(-drop);
  }
  for (int j = 1; j < size; ++j) {
    double sum = 0;
    for (int k = 0; k < size; ++k) sum += sign(j, k) * log_eigenvalue[k];
    rates[j] = sum / size;
    if (rates[j] < -1e-12) return false;
    if (rates[j] < 1e-14) rates[j] = 0;
  }
  return true;
}

class Builder : public SensitivityVisitor {
 public:
  Builder(const StabProgram* program, SymptomKind kind, std::uint64_t num_detectors,
          std::uint64_t num_observables)
      : program_(program), kind_(kind) {
    out_.num_detectors = num_detectors;
    out_.num_bits = num_detectors + num_observables;
    if (out_.num_bits >= (std::uint64_t{1} << 31)) {
      throw Error(ExitCode::kResources,
                  "the sparse engine holds at most 2^31 output bits a shot, this circuit makes " +
                      std::to_string(out_.num_bits) + ": use --engine frame");
    }
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const double* probability = program_->probabilities(p);
    const auto list = program_->list(p);
    switch (p.kind) {
      case P::kPauli1: {
        // index: x + 2 z, so X 1, Z 2, Y 3
        const double channel[4] = {0, probability[0], probability[2], probability[1]};
        for (std::uint32_t q : list)
          pauli_channel(channel, 1, {&walk.x(q), &walk.z(q), nullptr, nullptr});
        break;
      }
      case P::kPauli2: {
        double channel[16] = {};
        static constexpr int kIndex[4] = {0, 1, 3, 2};
        for (int k = 1; k < 16; ++k)
          channel[kIndex[k >> 2] + 4 * kIndex[k & 3]] = probability[k - 1];
        for (std::size_t i = 0; i < list.size(); i += 2) {
          pauli_channel(
              channel, 2,
              {&walk.x(list[i]), &walk.z(list[i]), &walk.x(list[i + 1]), &walk.z(list[i + 1])});
        }
        break;
      }
      case P::kRecordFlip:
        for (std::uint32_t k = 1; k <= p.count; ++k) single(probability[0], walk.record(k));
        break;
      case P::kCorrelated: {
        SymptomSet set;
        for (std::size_t i = 0; i < list.size(); i += 2)
          toggle(set, walk.flips(static_cast<Pauli>(list[i + 1]), list[i]));
        chain_.push_back({probability[0], std::move(set)});
        if (!p.flag) close_chain();
        break;
      }
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
    if (p == 0.5) {
      add_coin(set);
      return;
    }
    if (p > 0.5) {
      toggle(always_, set);
      p = 1 - p;
    }
    if (p > 0) mechanism(hash_of(set), -std::log1p(-2 * p) / 2, [&] { return set; });
  }

  SparseProgram finish();
  void close_chain() {
    if (chain_.size() == 1) {
      single(chain_[0].first, chain_[0].second);
    } else {
      double before = 1;
      for (std::size_t i = chain_.size(); i-- > 0;) {
        const double p = chain_[i].first;
        chain_[i].first = before * p;
        before *= 1 - p;
      }
      disjoint(std::move(chain_));
    }
    chain_.clear();
  }
  bool chain_open() const { return !chain_.empty(); }

 private:
  using Branches = std::vector<std::pair<double, SymptomSet>>;
  struct Mechanism {
    double rate;
    std::vector<std::uint32_t> bits;
  };

  std::uint32_t bit_of(Symptom s) const {
    return static_cast<std::uint32_t>(
        s & kObservableBit ? out_.num_detectors + (s & ~kObservableBit) : s);
  }
  std::vector<std::uint32_t> bits_of(const SymptomSet& set) const {
    std::vector<std::uint32_t> bits;
    bits.reserve(set.size());
    for (Symptom s : set) bits.push_back(bit_of(s));
    return bits;
  }
  void add_coin(const SymptomSet& set) {
    if (!set.empty()) out_.coins.push_back(far(bits_of(set)));
  }
  SparseList far(const std::vector<std::uint32_t>& bits) {
    SparseList l{static_cast<std::uint32_t>(out_.far.size()),
                 static_cast<std::uint32_t>(bits.size())};
    TW_CHECK(out_.far.size() + bits.size() < ~std::uint32_t{0}, "sparse program too large");
    out_.far.insert(out_.far.end(), bits.begin(), bits.end());
    return l;
  }
  template <class MakeSet>
  void mechanism(const SetHash& hash, double rate, MakeSet make) {
    if (hash == SetHash{} || rate == 0) return;
    const auto [it, fresh] = index_.emplace(hash, static_cast<std::uint32_t>(mechanisms_.size()));
    if (fresh) {
      mechanisms_.push_back({rate, bits_of(make())});
    } else {
      mechanisms_[it->second].rate += rate;
    }
  }

  // sets: flips of X and Z on the first qubit, then on the second; bit g of an index selects
  // sets[g].
  void pauli_channel(const double* channel, int num_qubits, std::array<const SymptomSet*, 4> sets) {
    const int size = 1 << (2 * num_qubits);
    if (last_size_ != size || !std::equal(channel, channel + size, last_channel_.begin())) {
      std::copy(channel, channel + size, last_channel_.begin());
      last_size_ = size;
      last_rates_[0] = 0;
      last_is_poisson_ = poisson_rates(channel, size, last_rates_.data());
    }
    const auto make = [&](int index) {
      SymptomSet set;
      for (int g = 0; g < 2 * num_qubits; ++g) {
        if ((index >> g) & 1) toggle(set, *sets[g]);
      }
      return set;
    };
    if (last_is_poisson_) {
      std::array<SetHash, 16> hash{};
      for (int g = 0; g < 2 * num_qubits; ++g) {
        const SetHash h = hash_of(*sets[g]);
        for (int k = 0; k < (1 << g); ++k) hash[(1 << g) + k] = hash[k] ^ h;
      }
      for (int k = 1; k < size; ++k) mechanism(hash[k], last_rates_[k], [&] { return make(k); });
      return;
    }
    Branches branches;
    for (int k = 1; k < size; ++k) branches.push_back({channel[k], make(k)});
    // A channel of one Pauli with p >= 1/2 is a certain flip and a rare one.
    int nonzero = 0, which = 0;
    for (int k = 1; k < size; ++k) {
      if (channel[k] > 0) ++nonzero, which = k;
    }
    if (nonzero == 1) {
      single(channel[which], branches[which - 1].second);
    } else {
      disjoint(std::move(branches));
    }
  }

  void disjoint(Branches branches) {
    std::erase_if(branches, [](const auto& b) { return b.first == 0 || b.second.empty(); });
    if (branches.empty()) return;
    double total = 0;
    for (const auto& b : branches) total += b.first;
    total = std::min(total, 1.0);
    std::vector<SparseBranch>& site = pending_[total].emplace_back();
    double sum = 0;
    for (std::size_t k = 0; k < branches.size(); ++k) {
      sum += branches[k].first;
      const SparseList l = far(bits_of(branches[k].second));
      const bool last = k + 1 == branches.size();
      site.push_back(
          {last ? 1u << 24 : static_cast<std::uint32_t>(std::lround(sum / total * 0x1p24)), l.first,
           l.count});
    }
    out_.sites_per_shot += total;
  }

  void add_group(std::uint32_t width, const std::vector<const Mechanism*>& members);

  const StabProgram* program_;
  SymptomKind kind_;
  SparseProgram out_;
  std::unordered_map<SetHash, std::uint32_t, SetHashHash> index_;
  std::vector<Mechanism> mechanisms_;
  SymptomSet always_;
  Branches chain_;
  std::map<double, std::vector<std::vector<SparseBranch>>> pending_;
  std::array<double, 16> last_channel_{}, last_rates_{};
  int last_size_ = 0;
  bool last_is_poisson_ = false;
};

// P(N <= k) for a Poisson number of mean mu, over every k whose probability matters in double
// precision.
PoissonTable poisson_table(double mu) {
  PoissonTable t;
  const double reach = 12 * std::sqrt(mu) + 40;
  t.first = static_cast<std::uint64_t>(std::max(0.0, std::floor(mu - reach)));
  const auto last = static_cast<std::uint64_t>(std::ceil(mu + reach));
  double sum = 0;
  for (std::uint64_t k = t.first; k <= last; ++k) {
    const auto n = static_cast<double>(k);
    sum += std::exp(n * std::log(mu) - mu - std::lgamma(n + 1));
    t.upto.push_back(sum);
  }
  for (double& u : t.upto) u /= sum;
  t.upto.back() = 2;
  return t;
}

void Builder::add_group(std::uint32_t width, const std::vector<const Mechanism*>& members) {
  if (members.empty()) return;
  const auto n = static_cast<std::uint32_t>(members.size());
  SparseGroup g;
  g.width = width;
  g.first = static_cast<std::uint32_t>(out_.alias.size());
  g.count = n;
  for (const Mechanism* m : members) g.rate += m->rate;
  if (width) {
    g.first_bit = static_cast<std::uint32_t>(out_.bits.size());
    for (const Mechanism* m : members)
      out_.bits.insert(out_.bits.end(), m->bits.begin(), m->bits.end());
  } else {
    g.first_bit = static_cast<std::uint32_t>(out_.lists.size());
    for (const Mechanism* m : members) out_.lists.push_back(far(m->bits));
  }
  // Alias table (Walker): each bucket keeps a share of its own mechanism and gives the rest to
  // another.
  std::vector<double> share(n);
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t k = 0; k < n; ++k) {
    share[k] = members[k]->rate / g.rate * n;
    (share[k] < 1 ? small : large).push_back(k);
  }
  out_.alias.resize(out_.alias.size() + n);
  AliasEntry* alias = out_.alias.data() + g.first;
  for (std::uint32_t k = 0; k < n; ++k) alias[k] = {~std::uint32_t{0}, k};
  while (!small.empty() && !large.empty()) {
    const std::uint32_t s = small.back(), l = large.back();
    small.pop_back();
    alias[s] = {static_cast<std::uint32_t>(std::min(4294967295.0, share[s] * 0x1p32)), l};
    share[l] -= 1 - share[s];
    if (share[l] < 1) {
      large.pop_back();
      small.push_back(l);
    }
  }
  out_.groups.push_back(g);
}

SparseProgram Builder::finish() {
  if (chain_open()) close_chain();
  // Neighbours in the output are neighbours in the table.
  std::vector<const Mechanism*> order;
  for (const Mechanism& m : mechanisms_) order.push_back(&m);
  std::sort(order.begin(), order.end(),
            [](const Mechanism* a, const Mechanism* b) { return a->bits < b->bits; });
  for (std::uint32_t width = 0; width <= 4; ++width) {
    std::vector<const Mechanism*> members;
    for (const Mechanism* m : order) {
      if ((m->bits.size() <= 4 ? m->bits.size() : 0) == width) members.push_back(m);
    }
    add_group(width, members);
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
  out_.always = bits_of(always_);
  for (const SparseList& c : out_.coins) out_.coin_flips_per_shot += 0.5 * c.count;
  // A unit is so many shots that its rows fill about half of a second-level cache.
  const std::uint64_t row = std::max<std::uint64_t>(1, out_.row_bytes());
  out_.log2_unit = static_cast<std::uint32_t>(
      std::clamp<int>(std::bit_width((std::uint64_t{1} << 20) / row) - 1, 6, 13));
  for (SparseGroup& g : out_.groups) {
    out_.events_per_shot += g.rate;
    g.poisson = static_cast<std::uint32_t>(out_.poissons.size());
    out_.poissons.push_back(poisson_table(std::ldexp(g.rate, static_cast<int>(out_.log2_unit))));
  }
  return std::move(out_);
}

std::uint64_t branches_of(const StabProgram& program, std::uint32_t block) {
  std::uint64_t total = 0;
  for (const Prim& p : program.blocks[block]) {
    if (p.kind == P::kPauli1) total += 3 * p.count;
    if (p.kind == P::kPauli2) total += 15 * (p.count / 2);
    if (p.kind == P::kRecordFlip || p.kind == P::kCorrelated) total += p.count;
    if (p.kind == P::kHerald) total += 4 * p.count;
    if (p.kind == P::kRepeat) {
      total = circuit::saturating_add(
          total, circuit::saturating_mul(program.repeats[p.b], branches_of(program, p.a)));
    }
  }
  return total;
}

}  // namespace

std::uint64_t count_branches(const StabProgram& program) { return branches_of(program, 0); }

SparseProgram build_sparse(const StabProgram& program, SymptomKind kind) {
  const bool records = kind == SymptomKind::kRecords;
  Builder builder(&program, kind, records ? program.counts.measurements : program.counts.detectors,
                  records ? 0 : program.counts.observables);
  SensitivityWalk(program, kind, builder).run();
  return builder.finish();
}

SparseProgram build_sparse(std::span<const IndependentError> errors, std::uint64_t num_detectors,
                           std::uint64_t num_observables) {
  Builder builder(nullptr, SymptomKind::kDetectors, num_detectors, num_observables);
  for (const IndependentError& e : errors) {
    SymptomSet set;
    for (std::uint32_t b : e.bits) {
      toggle(set, {b < num_detectors ? Symptom{b} : kObservableBit | (b - num_detectors)});
    }
    builder.single(e.probability, set);
  }
  return builder.finish();
}

std::string describe(const SparseProgram& program) {
  std::string out;
  const auto line = [&](const std::string& text) { out.append(text).append("\n"); };
  line("output bits " + std::to_string(program.num_bits));
  line("shots a unit " + std::to_string(std::uint64_t{1} << program.log2_unit));
  line("events a shot " + std::to_string(program.events_per_shot) + " of " +
       std::to_string(program.alias.size()) + " mechanisms");
  for (const SparseGroup& g : program.groups) {
    line("  " + (g.width ? std::to_string(g.width) : std::string("more than 4")) + " bits: " +
         std::to_string(g.count) + " mechanisms, " + std::to_string(g.rate) + " events a shot");
  }
  line("disjoint channels " + std::to_string(program.sites.size()) + " places, " +
       std::to_string(program.sites_per_shot) + " hits a shot");
  line("coins " + std::to_string(program.coins.size()) + ", " +
       std::to_string(program.coin_flips_per_shot) + " flips a shot");
  return out;
}

}  // namespace tilewave::stabilizer
