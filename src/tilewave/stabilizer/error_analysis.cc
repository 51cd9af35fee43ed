#include "tilewave/stabilizer/error_analysis.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tilewave/base/error.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/decompose.h"
#include "tilewave/stabilizer/error_chain.h"
#include "tilewave/stabilizer/loop_period.h"
#include "tilewave/stabilizer/model_tree.h"
#include "tilewave/stabilizer/pauli_channel.h"
#include "tilewave/stabilizer/sensitivity.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {
namespace {

using circuit::DemInstruction;
using circuit::DemKind;
using circuit::DemTarget;
using circuit::ErrorModel;
using circuit::StabKind;
using P = PrimKind;

// The most branches that are walked one by one: a model of so many errors takes tens of gigabytes.
constexpr std::uint64_t kMostBranches = std::uint64_t{1} << 32;

// The branches of a channel: probabilities by the number that BranchSets gives them. Which
// generator comes first decides how branches are split (decompose.h): Z for depolarizing channels
// and heralds, whose record is last; X of the second qubit for those with a probability for each
// Pauli.
struct Branches {
  std::array<double, 16> given{};
  std::array<double, 16> independent{};
  std::size_t size = 4;
  bool exact = false;  // the channel is made of these independent errors
};

class Analyzer : public SensitivityVisitor {
 public:
  Analyzer(const StabProgram& program, const AnalysisOptions& options)
      : program_(program), options_(options), walk_(program, SymptomKind::kDetectors, *this) {
    open();
  }

  void run(circuit::DemSink& sink) {
    walk_.run();
    close_chain();
    if (options_.decompose_errors)
      split_errors(root_, {options_.ignore_decomposition_failures, options_.block_remnant_edges});
    print_model(root_, program_.tags, sink);
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const auto probability = program_.probabilities(p);
    const auto list = program_.list(p);
    switch (p.kind) {
      case P::kPauli1: {
        const bool z_first = kind_of(p) == StabKind::kDepolarize1;
        Branches branches;
        branches.given = {0, probability[0], probability[2], probability[1]};
        if (z_first) std::swap(branches.given[1], branches.given[2]);
        make_independent(p, branches);
        for (std::uint32_t q : list) {
          const SymptomSet *x = &walk.x(q), *z = &walk.z(q);
          channel(p, branches, z_first ? BranchSets{z, x} : BranchSets{x, z});
        }
        break;
      }
      case P::kPauli2: {
        const bool uniform = kind_of(p) == StabKind::kDepolarize2;
        Branches branches;
        branches.size = 16;
        static constexpr std::size_t kIndex[4] = {0, 1, 3, 2};
        for (std::size_t k = 1; k < 16; ++k)
          branches.given[4 * kIndex[k >> 2] + kIndex[k & 3]] = probability[k - 1];
        make_independent(p, branches);
        for (std::size_t i = 0; i < list.size(); i += 2) {
          const SymptomSet *x0 = &walk.x(list[i]), *z0 = &walk.z(list[i]),
                           *x1 = &walk.x(list[i + 1]), *z1 = &walk.z(list[i + 1]);
          channel(p, branches, uniform ? BranchSets{z0, x0, z1, x1} : BranchSets{x1, z1, x0, z0});
        }
        break;
      }
      case P::kRecordFlip:
        for (std::uint32_t k = 1; k <= p.count; ++k) add(probability[0], walk.record(k), tag_of(p));
        break;
      case P::kCorrelated:
        chain_.push_back({probability[0], walk.flips(p), &p});
        if (!p.flag) close_chain();
        break;
      case P::kHerald: {
        Branches branches;
        branches.size = 8;
        branches.given = {
            0, 0, 0, 0, probability[0], probability[3], probability[1], probability[2]};
        branches.exact = one_branch(branches);
        for (std::uint32_t k = 0; k < p.count; ++k)
          channel(p, branches, {&walk.z(list[k]), &walk.x(list[k]), &walk.record(p.count - k)});
        break;
      }
      default:
        break;
    }
  }

  void coin(const Prim* p, std::uint32_t qubit, const SymptomSet& flips) override {
    if (!options_.allow_gauge_detectors || (flips.back() & kObservableBit)) {
      throw_random_symptoms(flips, p ? program_.place(*p) : "", p != nullptr, qubit);
    }
    const SymptomSet gauge = flips;
    add(0.5, gauge, p ? tag_of(*p) : 0);
    walk_.remove_gauge(gauge);
  }

  void detector(const Prim& p, const SensitivityWalk& walk) override {
    // A detector nothing flips and that has no place is still declared; whether that is so is known
    // at the end.
    note(p, DemKind::kDetector, p.b, DemTarget{DemTarget::Kind::kDetector, walk.num_detectors()});
  }
  void observable(const Prim& p) override {
    note(p, DemKind::kLogicalObservable, 0, DemTarget{DemTarget::Kind::kObservable, p.a});
  }
  void shift(const Prim& p) override { note(p, DemKind::kShiftDetectors, p.b, {}); }

  void loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk) override {
    if (!options_.fold_loops) return SensitivityVisitor::loop(p, iterations, walk);
    // The nodes of every iteration, until a period is found: its last iterations are the loop.
    ModelNodes* const outer = nodes_;
    std::vector<Iteration> walked;
    LoopPeriod finder;
    std::optional<FoldPlace> place;  // once the period is known
    bool folded = false;
    for (std::uint64_t k = 0; k < iterations; ++k) {
      if (!folded && !place) {
        if (const std::uint64_t period = finder.find(walk, p.a, k, chain_hash()))
          place = fold_place(k - period, period);
      }
      if (!folded && place && k == place->iterations && iterations - k >= place->period) {
        const std::uint64_t times = 1 + (iterations - k) / place->period;
        ModelNodes last;
        const auto first = walked.end() - static_cast<std::ptrdiff_t>(place->period);
        for (auto it = first; it != walked.end(); ++it) append(last, std::move(it->nodes));
        const std::uint64_t detectors = first->detectors - walk.num_detectors(),
                            records = first->records - walk.num_records();
        for (auto it = walked.begin(); it != first; ++it) append(*outer, std::move(it->nodes));
        outer->push_back(make_loop(std::move(last), times, detectors));
        outer->back()->tag = program_.tags[tag_of(p)];
        walk.shift_detectors(p.a, (times - 1) * detectors, (times - 1) * records);
        shift_chain((times - 1) * detectors);
        walked.clear();
        folded = true;
        k += (times - 1) * place->period;
        if (k == iterations) break;
      }
      if (!folded && finder.gave_up()) throw_no_period(program_, p, k);
      walked.push_back({{}, walk.num_detectors(), walk.num_records()});
      nodes_ = &walked.back().nodes;
      open();
      walk.block(p.a);
    }
    for (Iteration& iteration : walked) append(*outer, std::move(iteration.nodes));
    nodes_ = outer;
    if (nodes_->back()->repeat > 1) open();
    current_ = nodes_->back().get();
  }

 private:
  std::uint32_t tag_of(const Prim& p) const { return program_.source(p).tag; }
  StabKind kind_of(const Prim& p) const { return program_.source(p).kind; }
  std::string name_of(const Prim& p) const {
    return std::string(circuit::stabilizer_op(kind_of(p)).name);
  }

  void open() {
    nodes_->push_back(std::make_unique<ModelNode>());
    current_ = nodes_->back().get();
  }

  void note(const Prim& p, DemKind kind, std::uint32_t num_args, std::optional<DemTarget> target) {
    DemInstruction d;
    d.kind = kind;
    d.args.assign(program_.params.begin() + p.param, program_.params.begin() + p.param + num_args);
    if (target) d.targets = {*target};
    d.tag = program_.tags[tag_of(p)];
    current_->notes.push_back(std::move(d));
  }

  void add(double p, const SymptomSet& set, std::uint32_t tag) {
    if (p == 0 || set.empty()) return;
    current_->errors.add(p, hash_of(set), tag, [&]() -> const SymptomSet& { return set; });
  }

  // What is compared is what the circuit says: of HERALDED_ERASE(p) the p, not a branch of p / 4.
  void check_disjoint(double probability, const Prim& p) const {
    const double limit = options_.approximate_disjoint_errors;
    if (probability <= limit) return;
    const auto number = [](double x) { return language::shortest_number(x); };
    fail(ExitCode::kInput,
         program_.place(p) + name_of(p) +
             (limit == 0 ? " has disjoint branches, which an error model of independent errors "
                           "only approximates: use --approximate_disjoint_errors"
                         : " has disjoint branches and among them a probability of " +
                               number(probability) + ", above the " + number(limit) +
                               " of --approximate_disjoint_errors: raise that"));
  }

  // The only branch of a channel is an independent error.
  static bool one_branch(Branches& b) {
    if (std::count_if(b.given.begin(), b.given.end(), [](double x) { return x > 0; }) > 1)
      return false;
    b.independent = b.given;
    return true;
  }
  void make_independent(const Prim& p, Branches& b) const {
    b.exact = one_branch(b);
    if (b.exact) return;
    const bool uniform =
        kind_of(p) == StabKind::kDepolarize1 || kind_of(p) == StabKind::kDepolarize2;
    if (b.size == 4 || uniform) {
      b.exact = independent_errors(b.given.data(), static_cast<int>(b.size), b.independent.data());
    }
    if (uniform && !b.exact) {
      fail(ExitCode::kInput, program_.place(p), name_of(p), " mixes more than completely (p above ",
           b.size == 4 ? "3/4" : "15/16",
           "): it has no model of independent errors, make p smaller");
    }
  }

  // Branches that flip the same exclude each other where the channel is no product of independent
  // errors: their probabilities add.
  void channel(const Prim& p, const Branches& b, const BranchSets& sets) {
    std::array<double, 16> probabilities = b.independent;
    if (!b.exact) {
      probabilities = b.given;
      for (std::size_t k = 1; k < b.size; ++k) {
        if (b.given[k] == 0) continue;
        check_disjoint(p.kind == P::kHerald && p.flag ? 4 * b.given[k] : b.given[k], p);
        for (std::size_t j = 1; j < k; ++j) {
          if (probabilities[j] == 0 || !(sets.hash(j) == sets.hash(k))) continue;
          probabilities[j] += b.given[k];
          probabilities[k] = 0;
          break;
        }
      }
    }
    // A Pauli error given by itself has no other branches.
    const StabKind kind = kind_of(p);
    const bool alone =
        kind == StabKind::kXError || kind == StabKind::kYError || kind == StabKind::kZError;
    std::optional<ChannelParts> parts;
    if (options_.decompose_errors && !alone) parts.emplace(sets);
    for (std::size_t k = 1; k < b.size; ++k) {
      if (probabilities[k] == 0 || sets.hash(k) == SetHash{}) continue;
      if (!parts || parts->parts(k).size() == 1) {
        current_->errors.add(probabilities[k], sets.hash(k), tag_of(p),
                             [&] { return sets.set(k); });
        continue;
      }
      std::array<SetHash, 16> hashes;
      std::size_t num = 0;
      for (std::uint8_t part : parts->parts(k)) hashes[num++] = sets.hash(part);
      current_->errors.add(probabilities[k], hash_of_parts({hashes.data(), num}), tag_of(p), [&] {
        std::vector<Symptom> list;
        for (std::uint8_t part : parts->parts(k)) {
          if (!list.empty()) list.push_back(kNextPart);
          const SymptomSet set = sets.set(part);
          list.insert(list.end(), set.begin(), set.end());
        }
        return list;
      });
    }
  }

  void close_chain() {
    if (chain_.size() > 1) {
      disjoint_links(chain_);
      for (const ChainLink& link : chain_)
        check_disjoint(link.probability, *chain_.front().prim);  // the last of them
    }
    for (const ChainLink& link : chain_) add(link.probability, link.flips, tag_of(*link.prim));
    chain_.clear();
  }
  SetHash chain_hash() const {
    SetHash out;
    for (std::size_t k = 0; k < chain_.size(); ++k) {
      const auto place = reinterpret_cast<std::uintptr_t>(chain_[k].prim);
      out = out ^ hash_at(hash_at(hash_of(chain_[k].flips, walk_.position()), place), ~k);
    }
    return out;
  }
  void shift_chain(std::uint64_t by) {
    for (ChainLink& link : chain_) {
      for (Symptom& s : link.flips) {
        if (!(s & kObservableBit)) s -= by;
      }
    }
  }

  // Where a loop is folded whose state repeats with `period` from iteration `first` on: after so
  // many iterations, of which the last are the loop's body. That is where two walks through the
  // states meet of which one takes two steps for each of the other and which are compared after
  // every step, so that the text has the loops of the `stim` package.
  struct FoldPlace {
    std::uint64_t iterations, period;
  };
  static FoldPlace fold_place(std::uint64_t first, std::uint64_t period) {
    for (std::uint64_t slow = first;; ++slow) {
      for (std::uint64_t fast = std::max<std::uint64_t>(2 * slow, 1); fast <= 2 * slow + 2;
           ++fast) {
        if ((fast - slow) % period == 0) return {fast, fast - slow};
      }
    }
  }
  // One iteration of a loop, and where it ended.
  struct Iteration {
    ModelNodes nodes;
    std::uint64_t detectors, records;
  };

  const StabProgram& program_;
  const AnalysisOptions& options_;
  SensitivityWalk walk_;
  ModelNodes root_;
  ModelNodes* nodes_ = &root_;    // being made
  ModelNode* current_ = nullptr;  // the last stretch
  std::vector<ChainLink> chain_;
};

}  // namespace

void analyze_errors(const StabProgram& program, const AnalysisOptions& options,
                    circuit::DemSink& sink) {
  TW_CHECK(!program.has_leakage, "leakage has no error model");
  const double disjoint = options.approximate_disjoint_errors;
  if (!(disjoint >= 0 && disjoint <= 1)) {  // nor one that is no number
    fail(ExitCode::kUsage, "approximate_disjoint_errors is ", std::to_string(disjoint),
         ": give a probability, from 0 to 1");
  }
  if (!options.fold_loops && count_branches(program) > kMostBranches) {
    fail(ExitCode::kResources,
         "the unrolled circuit has more than 2^32 places of errors, too many for an error model: "
         "use --fold_loops");
  }
  if (!options.fold_loops) need_walkable(program, "use --fold_loops");
  Analyzer(program, options).run(sink);
}

ErrorModel analyze_errors(const StabProgram& program, const AnalysisOptions& options) {
  circuit::ModelSink sink;
  analyze_errors(program, options, sink);
  return sink.take();
}

}  // namespace tilewave::stabilizer
