#include "tilewave/stabilizer/error_analysis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/decompose.h"
#include "tilewave/stabilizer/error_table.h"
#include "tilewave/stabilizer/pauli_channel.h"
#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {
namespace {

using circuit::DemInstruction;
using circuit::DemKind;
using circuit::DemTarget;
using circuit::ErrorModel;
using P = PrimKind;

// A stretch of the model, later things first while it is being made.
struct Node {
  ErrorTable errors;
  std::vector<DemInstruction> notes;  // detectors and shifts, absolute numbers, last first
  std::uint64_t repeat = 1, stride = 0,
                start = 0;  // a loop body: iterations, detectors of one, detectors before
  std::vector<std::unique_ptr<Node>> body;  // last first
};

class Analyzer : public SensitivityVisitor {
 public:
  Analyzer(const StabProgram& program, const AnalysisOptions& options)
      : program_(program), options_(options), walk_(program, SymptomKind::kDetectors, *this) {
    stack_ = &root_;
    open();
  }

  void run(circuit::DemSink& sink) {
    sink_ = &sink;
    walk_.run();
    close_chain();
    std::uint64_t offset = 0;
    if (options_.decompose_errors) collect_known(root_);
    print(root_, offset);
    // Observables that the circuit names and no error flips.
    std::set<std::uint64_t> named;
    for (const auto& block : program_.blocks) {
      for (const Prim& p : block) {
        if (p.kind == P::kObservable || p.kind == P::kObservablePauli) named.insert(p.a);
      }
    }
    for (std::uint64_t k : named) {
      if (seen_observables_.size() <= k || !seen_observables_[k]) {
        sink.instruction(
            {DemKind::kLogicalObservable, {}, {{DemTarget::Kind::kObservable, k}}, 0, {}, {}});
      }
    }
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const double* probability = program_.probabilities(p);
    const auto list = program_.list(p);
    switch (p.kind) {
      case P::kPauli1: {
        const double branches[4] = {0, probability[0], probability[2], probability[1]};
        const Channel channel(branches, 4, "PAULI_CHANNEL_1");
        for (std::uint32_t q : list) pauli_channel(channel, {&walk.x(q), &walk.z(q)});
        break;
      }
      case P::kPauli2: {
        double branches[16] = {};
        static constexpr int kIndex[4] = {0, 1, 3, 2};
        for (int k = 1; k < 16; ++k)
          branches[kIndex[k >> 2] + 4 * kIndex[k & 3]] = probability[k - 1];
        const Channel channel(branches, 16, p.flag ? "DEPOLARIZE2" : "PAULI_CHANNEL_2");
        for (std::size_t i = 0; i < list.size(); i += 2) {
          pauli_channel(channel, {&walk.x(list[i]), &walk.z(list[i]), &walk.x(list[i + 1]),
                                  &walk.z(list[i + 1])});
        }
        break;
      }
      case P::kRecordFlip:
        for (std::uint32_t k = 1; k <= p.count; ++k) add(probability[0], walk.record(k), {});
        break;
      case P::kCorrelated: {
        SymptomSet set;
        std::vector<SymptomSet> parts;
        for (std::size_t i = 0; i < list.size(); i += 2) {
          const Pauli pauli = static_cast<Pauli>(list[i + 1]);
          if (pauli != Pauli::kZ) parts.push_back(walk.x(list[i]));
          if (pauli != Pauli::kX) parts.push_back(walk.z(list[i]));
          toggle(set, walk.flips(pauli, list[i]));
        }
        chain_.push_back({probability[0], std::move(set), std::move(parts)});
        if (!p.flag) close_chain();
        break;
      }
      case P::kHerald: {
        const auto only_branch =
            std::count_if(probability, probability + 4, [](double x) { return x > 0; }) <= 1;
        for (std::uint32_t k = 0; k < p.count; ++k) {
          // Branches that flip the same count together.
          const Pauli paulis[4] = {Pauli::kI, Pauli::kX, Pauli::kY, Pauli::kZ};
          std::vector<std::pair<SymptomSet, double>> branches;
          for (int j = 0; j < 4; ++j) {
            SymptomSet set = walk.record(p.count - k);
            toggle(set, walk.flips(paulis[j], list[k]));
            if (!only_branch) {
              check_disjoint(probability[j],
                             p.flag ? "HERALDED_ERASE" : "HERALDED_PAULI_CHANNEL_1");
            }
            const auto it = std::find_if(branches.begin(), branches.end(),
                                         [&](const auto& b) { return b.first == set; });
            if (it == branches.end())
              branches.emplace_back(std::move(set), probability[j]);
            else
              it->second += probability[j];
          }
          for (const auto& [set, probability_of] : branches) add(probability_of, set, {});
        }
        break;
      }
      default:
        break;
    }
  }

  void coin(const Prim* p, std::uint32_t qubit, const SymptomSet& flips) override {
    if (!options_.allow_gauge_detectors || (flips.back() & kObservableBit)) {
      throw_random_symptoms(flips, p != nullptr, qubit);
    }
    const SymptomSet gauge = flips;
    add(0.5, gauge, {});
    walk_.remove_gauge(gauge);
  }

  void detector(const Prim& p, const SensitivityWalk& walk) override {
    DemInstruction d;
    d.kind = DemKind::kDetector;
    d.args.assign(program_.params.begin() + p.param, program_.params.begin() + p.param + p.b);
    d.targets = {{DemTarget::Kind::kDetector, walk.num_detectors()}};
    // A detector nothing flips and that has no place is still declared; whether that is so is known
    // at the end.
    current_->notes.push_back(std::move(d));
  }
  void shift(const Prim& p) override {
    DemInstruction d;
    d.kind = DemKind::kShiftDetectors;
    d.args.assign(program_.params.begin() + p.param, program_.params.begin() + p.param + p.b);
    current_->notes.push_back(std::move(d));
  }

  void loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk) override {
    if (!options_.fold_loops) return SensitivityVisitor::loop(p, iterations, walk);
    constexpr std::size_t kLongestPeriod = 6;
    std::vector<WalkState> states;
    std::uint64_t k = 0;
    while (k < iterations) {
      const std::uint64_t left = iterations - k;
      std::size_t period = 0;
      if (left >= 2 && chain_.empty()) {
        WalkState now = walk.state(p.a);
        for (std::size_t back = 1; back <= states.size() && !period; ++back) {
          if (states[states.size() - back] == now) period = back;
        }
        states.push_back(std::move(now));
        if (states.size() > kLongestPeriod) states.erase(states.begin());
      }
      const std::uint64_t more = period ? left / period : 0;
      if (more < 2) {
        walk.block(p.a), ++k;
        continue;
      }
      // One period as the body of a repeat block.
      Node* outer = stack_;
      auto node = std::make_unique<Node>();
      stack_ = node.get();
      open();
      const std::uint64_t detectors = walk.num_detectors(), records = walk.num_records();
      for (std::size_t i = 0; i < period; ++i) walk.block(p.a);
      close_chain();
      node->repeat = more;
      node->stride = detectors - walk.num_detectors();
      node->start = walk.num_detectors() - (more - 1) * node->stride;
      shift_node(*node, (more - 1) * node->stride);
      walk.shift_detectors(p.a, (more - 1) * node->stride,
                           (more - 1) * (records - walk.num_records()));
      stack_ = outer;
      stack_->body.push_back(std::move(node));
      open();
      k += more * period;
      states.clear();
    }
  }

 private:
  struct ChainLink {
    double probability;
    SymptomSet set;
    std::vector<SymptomSet> parts;
  };

  void open() {
    stack_->body.push_back(std::make_unique<Node>());
    current_ = stack_->body.back().get();
  }

  template <class Make>
  ErrorTable::Error* add(double p, const SetHash& hash, Make make) {
    if (p == 0 || hash == SetHash{}) return nullptr;
    ErrorTable::Error& e = current_->errors.at(hash, make);
    e.probability = e.probability * (1 - p) + p * (1 - e.probability);
    return &e;
  }
  void add(double p, const SymptomSet& set, const std::vector<SymptomSet>& parts) {
    note_parts(add(p, hash_of(set), [&] { return set; }), parts);
  }
  void add(double p, const BranchSets& sets, std::size_t branch) {
    ErrorTable::Error* e = add(p, sets.hash(branch), [&] { return sets.set(branch); });
    if (!e || !wants_parts(*e)) return;
    std::vector<SymptomSet> parts;
    sets.for_each_part(branch, [&](const SymptomSet& part) { parts.push_back(part); });
    note_parts(e, parts);
  }
  // Components of a branch that are worth suggesting, where an error will have to be split.
  bool wants_parts(const ErrorTable::Error& e) const {
    return options_.decompose_errors && e.num_parts == 0 && count_detectors(e.set()) > 2;
  }
  void note_parts(ErrorTable::Error* e, const std::vector<SymptomSet>& parts) {
    if (e && !parts.empty() && wants_parts(*e)) current_->errors.set_parts(*e, parts);
  }

  void check_disjoint(double p, const char* what) {
    if (p <= options_.approximate_disjoint_errors) return;
    throw Error(
        ExitCode::kInput,
        std::string(what) +
            " has disjoint branches, which an error model of independent errors only approximates: "
            "use --approximate_disjoint_errors");
  }

  // A channel of one instruction: its branches as independent errors where there is such a form.
  struct Channel {
    const char* name;
    int size;
    double branches[16] = {};     // as given
    double independent[16] = {};  // as independent errors
    bool exact = false;           // there are such
    bool complete = false;        // all branches are as likely as no error
    Channel(const double* p, int num, const char* what) : name(what), size(num) {
      std::copy(p, p + num, branches);
      int nonzero = 0, which = 0;
      double total = 0;
      for (int k = 1; k < num; ++k) {
        total += p[k];
        if (p[k] > 0) ++nonzero, which = k;
      }
      if (nonzero <= 1) {
        exact = true;
        independent[which] = p[which];
        return;
      }
      const bool uniform =
          nonzero == num - 1 && std::all_of(p + 1, p + num, [&](double x) { return x == p[1]; });
      const double limit = (num - 1.0) / num;
      if (uniform && total >= limit - 1e-12) {
        if (total > limit + 1e-12) {
          throw Error(ExitCode::kInput, std::string("DEPOLARIZE") + (num == 4 ? "1" : "2") +
                                            " mixes more than completely (p above " +
                                            (num == 4 ? "3/4" : "15/16") +
                                            "): it has no model of independent errors");
        }
        complete = true;
        return;
      }
      double rates[16] = {};
      exact = (num == 4 || uniform) && poisson_rates(p, num, rates);
      for (int k = 1; k < num && exact; ++k) independent[k] = -std::expm1(-2 * rates[k]) / 2;
    }
  };

  void pauli_channel(const Channel& c, const BranchSets& sets) {
    const auto size = static_cast<std::size_t>(c.size);
    if (c.complete) {
      for (std::size_t generator = 1; generator < size; generator *= 2) {
        add(0.5, sets.hash(generator), [&] { return sets.set(generator); });
      }
      return;
    }
    if (c.exact) {
      for (std::size_t k = 1; k < size; ++k) add(c.independent[k], sets, k);
      return;
    }
    // Branches that flip the same exclude each other: their probabilities add.
    std::map<SymptomSet, std::pair<double, std::size_t>> branches;
    for (std::size_t k = 1; k < size; ++k) {
      if (c.branches[k] == 0) continue;
      check_disjoint(c.branches[k], c.name);
      const auto [it, fresh] = branches.try_emplace(sets.set(k), c.branches[k], k);
      if (!fresh) it->second.first += c.branches[k];
    }
    for (const auto& [set, branch] : branches) add(branch.first, sets, branch.second);
  }

  void close_chain() {
    if (chain_.size() > 1) {
      double before = 1;
      for (std::size_t i = chain_.size(); i-- > 0;) {
        const double p = chain_[i].probability;
        chain_[i].probability = before * p;
        before *= 1 - p;
        check_disjoint(chain_[i].probability, "ELSE_CORRELATED_ERROR");
      }
    }
    for (const ChainLink& link : chain_) add(link.probability, link.set, link.parts);
    chain_.clear();
  }

  // Moves absolute detector numbers down: a node was walked at its last iteration, it is printed at
  // its first.
  void shift_node(Node& node, std::uint64_t by) {
    node.errors.shift(by);
    for (DemInstruction& d : node.notes) {
      for (DemTarget& t : d.targets) t.index -= by;
    }
    for (auto& child : node.body) {
      child->start -= by;
      shift_node(*child, by);
    }
  }

  void collect_known(const Node& node) {
    for (const ErrorTable::Error& e : node.errors) {
      if (e.probability > 0) known_.add(e.set());
    }
    for (const auto& child : node.body) collect_known(*child);
  }

  std::vector<SymptomSet> decomposed(const ErrorTable& errors, const ErrorTable::Error& e) {
    const SymptomSet set(e.set().begin(), e.set().end());
    if (auto parts = known_.split(set, false)) return *parts;
    // The channel's own components, joined where they share detectors.
    std::vector<SymptomSet> own = errors.parts(e);
    bool good = !own.empty();
    for (const SymptomSet& part : own)
      good &= count_detectors(part) <= 2 && count_detectors(part) > 0;
    if (good && !options_.block_remnant_edges) return own;
    if (auto parts = known_.split(set, !options_.block_remnant_edges)) return *parts;
    if (options_.ignore_decomposition_failures) return {set};
    throw Error(ExitCode::kInput,
                "an error cannot be split into parts that flip at most two detectors: " +
                    names_of(set) + ": use --ignore_decomposition_failures");
  }

  static void append(std::span<const Symptom> set, std::uint64_t offset, DemInstruction& d) {
    for (Symptom s : set) {
      if (s & kObservableBit)
        d.targets.push_back({DemTarget::Kind::kObservable, s & ~kObservableBit});
      else
        d.targets.push_back({DemTarget::Kind::kDetector, s - offset});
    }
  }

  // The errors of a table in the order of their sets.
  static std::vector<const ErrorTable::Error*> in_order(const ErrorTable& errors) {
    struct Key {
      Symptom first, second;  // most sets differ in these
      const ErrorTable::Error* error;
    };
    std::vector<Key> keys;
    keys.reserve(errors.size());
    for (const ErrorTable::Error& e : errors)
      keys.push_back({e.first[0], e.size > 1 ? e.first[1] : 0, &e});
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      if (a.first != b.first) return a.first < b.first;
      if (a.second != b.second) return a.second < b.second;
      const auto x = a.error->set(), y = b.error->set();
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    });
    std::vector<const ErrorTable::Error*> out;
    out.reserve(keys.size());
    for (const Key& k : keys) out.push_back(k.error);
    return out;
  }

  void note_observables(const ErrorTable::Error& e) {
    for (std::uint32_t s = e.size; s-- > 0 && (e.first[s] & kObservableBit);) {
      const auto k = static_cast<std::size_t>(e.first[s] & ~kObservableBit);
      if (seen_observables_.size() <= k) seen_observables_.resize(k + 1);
      seen_observables_[k] = true;
    }
  }

  // Whether one of the errors printed so far flips a detector.
  bool is_flipped(std::uint64_t detector) {
    if (!printed_.empty()) {
      for (const ErrorTable* table : printed_) {
        for (const ErrorTable::Error& e : *table) {
          for (Symptom s : e.set()) {
            if (!(s & kObservableBit)) flipped_detectors_.push_back(s);
          }
        }
      }
      printed_.clear();
      std::sort(flipped_detectors_.begin(), flipped_detectors_.end());
      flipped_detectors_.erase(std::unique(flipped_detectors_.begin(), flipped_detectors_.end()),
                               flipped_detectors_.end());
    }
    return std::binary_search(flipped_detectors_.begin(), flipped_detectors_.end(), detector);
  }

  void print(const Node& node, std::uint64_t& offset) {
    DemInstruction d;
    for (const ErrorTable::Error* e : in_order(node.errors)) {
      note_observables(*e);
      d.args.assign(1, e->probability);
      d.targets.clear();
      if (!options_.decompose_errors || count_detectors(e->set()) <= 2) {
        append(e->set(), offset, d);
      } else {
        for (const SymptomSet& part : decomposed(node.errors, *e)) {
          if (!d.targets.empty()) d.targets.push_back({DemTarget::Kind::kSeparator, 0});
          append({part.begin(), part.end()}, offset, d);
        }
      }
      sink_->instruction(d);
    }
    printed_.push_back(&node.errors);
    // Everything that can flip this node's detectors happens before or in it and is in the lists
    // already, except inside loops, where an earlier iteration stands for later ones: those are
    // declared once more.
    for (auto it = node.notes.rbegin(); it != node.notes.rend(); ++it) {
      DemInstruction note = *it;
      if (note.kind == DemKind::kDetector) {
        const std::uint64_t index = note.targets[0].index;
        if (note.args.empty() && is_flipped(index)) continue;
        note.targets[0].index -= offset;
      }
      sink_->instruction(note);
    }
    const auto shift = [&](std::uint64_t by) {
      sink_->instruction({DemKind::kShiftDetectors, {}, {}, by, {}, {}});
    };
    for (auto child = node.body.rbegin(); child != node.body.rend(); ++child) {
      const Node& c = **child;
      if (c.repeat == 1) {
        print(c, offset);
        continue;
      }
      if (c.start > offset) {
        shift(c.start - offset);
        offset = c.start;
      }
      std::uint64_t inner = offset;
      sink_->open_repeat({DemKind::kRepeat, {}, {}, c.repeat, {}, {}});
      print(c, inner);
      shift(c.start + c.stride - inner);
      sink_->close_repeat();
      offset = c.start + c.repeat * c.stride;
    }
  }

  const StabProgram& program_;
  const AnalysisOptions& options_;
  SensitivityWalk walk_;
  Node root_;
  Node* stack_;
  Node* current_ = nullptr;
  std::vector<ChainLink> chain_;
  KnownParts known_;
  circuit::DemSink* sink_ = nullptr;
  std::vector<const ErrorTable*> printed_;  // not yet in flipped_detectors_
  std::vector<Symptom> flipped_detectors_;  // sorted
  std::vector<bool> seen_observables_;
};

}  // namespace

void analyze_errors(const StabProgram& program, const AnalysisOptions& options,
                    circuit::DemSink& sink) {
  Analyzer(program, options).run(sink);
}

ErrorModel analyze_errors(const StabProgram& program, const AnalysisOptions& options) {
  circuit::ModelSink sink;
  analyze_errors(program, options, sink);
  return sink.take();
}

}  // namespace tilewave::stabilizer
