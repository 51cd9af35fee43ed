#include "tilewave/stabilizer/error_analysis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <unordered_map>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/decompose.h"
#include "tilewave/stabilizer/pauli_channel.h"
#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {
namespace {

using circuit::DemInstruction;
using circuit::DemKind;
using circuit::DemTarget;
using circuit::ErrorModel;
using P = PrimKind;

struct SetHasher {
  std::size_t operator()(const SymptomSet& set) const {
    std::uint64_t h = set.size();
    for (Symptom s : set) h = (h ^ s) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    return h;
  }
};

struct ErrorEntry {
  double probability = 0;
  std::vector<SymptomSet> parts;  // how the channel's own components suggest to split it
};
using Errors = std::unordered_map<SymptomSet, ErrorEntry, SetHasher>;

// A stretch of the model, later things first while it is being made.
struct Node {
  Errors errors;
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

  ErrorModel run() {
    walk_.run();
    close_chain();
    ErrorModel model;
    std::uint64_t offset = 0;
    if (options_.decompose_errors) collect_known(root_);
    print(root_, offset, model.instructions);
    for (std::uint64_t k = 0; k < program_.counts.observables; ++k) {
      if (seen_observables_.size() <= k || !seen_observables_[k]) {
        model.instructions.push_back(
            {DemKind::kLogicalObservable, {}, {{DemTarget::Kind::kObservable, k}}, 0, {}, {}});
      }
    }
    return model;
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const double* probability = program_.probabilities(p);
    const auto list = program_.list(p);
    switch (p.kind) {
      case P::kPauli1: {
        const double channel[4] = {0, probability[0], probability[2], probability[1]};
        for (std::uint32_t q : list)
          pauli_channel(channel, 1, {&walk.x(q), &walk.z(q)}, "PAULI_CHANNEL_1");
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
              {&walk.x(list[i]), &walk.z(list[i]), &walk.x(list[i + 1]), &walk.z(list[i + 1])},
              p.flag ? "DEPOLARIZE2" : "PAULI_CHANNEL_2");
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
      case P::kHerald:
        for (std::uint32_t k = 0; k < p.count; ++k) {
          // Branches that flip the same count together.
          const Pauli paulis[4] = {Pauli::kI, Pauli::kX, Pauli::kY, Pauli::kZ};
          std::vector<std::pair<SymptomSet, double>> branches;
          for (int j = 0; j < 4; ++j) {
            SymptomSet set = walk.record(p.count - k);
            toggle(set, walk.flips(paulis[j], list[k]));
            check_disjoint(probability[j], p.flag ? "HERALDED_ERASE" : "HERALDED_PAULI_CHANNEL_1");
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

  void add(double p, const SymptomSet& set, std::vector<SymptomSet> parts) {
    if (p == 0 || set.empty()) return;
    ErrorEntry& e = current_->errors[set];
    e.probability = e.probability * (1 - p) + p * (1 - e.probability);
    if (e.parts.empty()) e.parts = std::move(parts);
  }

  void check_disjoint(double p, const char* what) {
    if (p <= options_.approximate_disjoint_errors) return;
    throw Error(
        ExitCode::kInput,
        std::string(what) +
            " has disjoint branches, which an error model of independent errors only approximates: "
            "use --approximate_disjoint_errors");
  }

  // Components of a branch that are worth suggesting: each flips something, none more than two
  // detectors.
  std::vector<SymptomSet> parts_of(int index, int num_qubits,
                                   const std::array<const SymptomSet*, 4>& sets) {
    std::vector<SymptomSet> parts;
    if (!options_.decompose_errors) return parts;
    for (int g = 0; g < 2 * num_qubits; ++g) {
      if ((index >> g) & 1 && !sets[g]->empty()) parts.push_back(*sets[g]);
    }
    return parts;
  }

  void pauli_channel(const double* channel, int num_qubits, std::array<const SymptomSet*, 4> sets,
                     const char* what) {
    const int size = 1 << (2 * num_qubits);
    std::array<double, 16> rates{};
    const auto set_of = [&](int index) {
      SymptomSet set;
      for (int g = 0; g < 2 * num_qubits; ++g) {
        if ((index >> g) & 1) toggle(set, *sets[g]);
      }
      return set;
    };
    int nonzero = 0, which = 0;
    double total = 0;
    for (int k = 1; k < size; ++k) {
      total += channel[k];
      if (channel[k] > 0) ++nonzero, which = k;
    }
    if (nonzero == 1) return add(channel[which], set_of(which), parts_of(which, num_qubits, sets));
    const bool uniform =
        nonzero == size - 1 &&
        std::all_of(channel + 1, channel + size, [&](double p) { return p == channel[1]; });
    const double limit = (size - 1.0) / size;
    if (uniform && total >= limit - 1e-12) {
      if (total > limit + 1e-12) {
        throw Error(ExitCode::kInput, std::string("DEPOLARIZE") + (size == 4 ? "1" : "2") +
                                          " mixes more than completely (p above " +
                                          (size == 4 ? "3/4" : "15/16") +
                                          "): it has no model of independent errors");
      }
      for (int g = 0; g < 2 * num_qubits; ++g) add(0.5, *sets[g], {});  // complete mixing
      return;
    }
    const bool exact = (size == 4 || uniform) && poisson_rates(channel, size, rates.data());
    if (exact) {
      for (int k = 1; k < size; ++k) {
        add(-std::expm1(-2 * rates[k]) / 2, set_of(k), parts_of(k, num_qubits, sets));
      }
      return;
    }
    // Branches that flip the same exclude each other: their probabilities add.
    std::map<SymptomSet, std::pair<double, int>> branches;
    for (int k = 1; k < size; ++k) {
      if (channel[k] == 0) continue;
      check_disjoint(channel[k], what);
      const auto [it, fresh] = branches.try_emplace(set_of(k), channel[k], k);
      if (!fresh) it->second.first += channel[k];
    }
    for (const auto& [set, branch] : branches) {
      add(branch.first, set, parts_of(branch.second, num_qubits, sets));
    }
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
    for (ChainLink& link : chain_) add(link.probability, link.set, std::move(link.parts));
    chain_.clear();
  }

  // Moves absolute detector numbers down: a node was walked at its last iteration, it is printed at
  // its first.
  void shift_node(Node& node, std::uint64_t by) {
    const auto moved = [by](SymptomSet set) {
      for (Symptom& s : set) {
        if (!(s & kObservableBit)) s -= by;
      }
      return set;
    };
    Errors errors;
    for (auto& [set, e] : node.errors) {
      for (SymptomSet& part : e.parts) part = moved(part);
      errors.emplace(moved(set), std::move(e));
    }
    node.errors = std::move(errors);
    for (DemInstruction& d : node.notes) {
      for (DemTarget& t : d.targets) t.index -= by;
    }
    for (auto& child : node.body) {
      child->start -= by;
      shift_node(*child, by);
    }
  }

  void collect_known(const Node& node) {
    for (const auto& [set, e] : node.errors) {
      if (e.probability > 0) known_.add(set);
    }
    for (const auto& child : node.body) collect_known(*child);
  }

  std::vector<SymptomSet> decomposed(const SymptomSet& set, const ErrorEntry& e) {
    if (!options_.decompose_errors || count_detectors(set) <= 2) return {set};
    if (auto parts = known_.split(set, false)) return *parts;
    // The channel's own components, joined where they share detectors.
    std::vector<SymptomSet> own;
    bool good = !e.parts.empty();
    for (const SymptomSet& part : e.parts) {
      good &= count_detectors(part) <= 2 && count_detectors(part) > 0;
      own.push_back(part);
    }
    if (good && !options_.block_remnant_edges) return own;
    if (auto parts = known_.split(set, !options_.block_remnant_edges)) return *parts;
    if (options_.ignore_decomposition_failures) return {set};
    throw Error(ExitCode::kInput,
                "an error cannot be split into parts that flip at most two detectors: " +
                    names_of(set) + ": use --ignore_decomposition_failures");
  }

  void print(const Node& node, std::uint64_t& offset, std::vector<DemInstruction>& out) {
    std::vector<std::pair<const SymptomSet*, const ErrorEntry*>> order;
    for (const auto& [set, e] : node.errors) {
      order.emplace_back(&set, &e);
      for (Symptom s : set) {
        if (!(s & kObservableBit)) {
          flipped_detectors_.push_back(s);
        } else {
          const auto k = static_cast<std::size_t>(s & ~kObservableBit);
          if (seen_observables_.size() <= k) seen_observables_.resize(k + 1);
          seen_observables_[k] = true;
        }
      }
    }
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return *a.first < *b.first; });
    for (const auto& [set, e] : order) {
      DemInstruction d;
      d.args = {e->probability};
      bool first = true;
      for (const SymptomSet& part : decomposed(*set, *e)) {
        if (!first) d.targets.push_back({DemTarget::Kind::kSeparator, 0});
        first = false;
        for (Symptom s : part) {
          if (s & kObservableBit)
            d.targets.push_back({DemTarget::Kind::kObservable, s & ~kObservableBit});
          else
            d.targets.push_back({DemTarget::Kind::kDetector, s - offset});
        }
      }
      out.push_back(std::move(d));
    }
    // Everything that can flip this node's detectors happens before or in it and is in the lists
    // already, except inside loops, where an earlier iteration stands for later ones: those are
    // declared once more.
    std::sort(flipped_detectors_.begin(), flipped_detectors_.end());
    flipped_detectors_.erase(std::unique(flipped_detectors_.begin(), flipped_detectors_.end()),
                             flipped_detectors_.end());
    for (auto it = node.notes.rbegin(); it != node.notes.rend(); ++it) {
      DemInstruction d = *it;
      if (d.kind == DemKind::kDetector) {
        const std::uint64_t index = d.targets[0].index;
        if (d.args.empty() &&
            std::binary_search(flipped_detectors_.begin(), flipped_detectors_.end(), index))
          continue;
        d.targets[0].index -= offset;
      }
      out.push_back(std::move(d));
    }
    for (auto child = node.body.rbegin(); child != node.body.rend(); ++child) {
      const Node& c = **child;
      if (c.repeat == 1) {
        print(c, offset, out);
        continue;
      }
      if (c.start > offset) {
        out.push_back({DemKind::kShiftDetectors, {}, {}, c.start - offset, {}, {}});
        offset = c.start;
      }
      DemInstruction repeat;
      repeat.kind = DemKind::kRepeat;
      repeat.count = c.repeat;
      std::uint64_t inner = offset;
      print(c, inner, repeat.body);
      repeat.body.push_back({DemKind::kShiftDetectors, {}, {}, c.start + c.stride - inner, {}, {}});
      out.push_back(std::move(repeat));
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
  std::vector<Symptom> flipped_detectors_;
  std::vector<bool> seen_observables_;
};

}  // namespace

ErrorModel analyze_errors(const StabProgram& program, const AnalysisOptions& options) {
  return Analyzer(program, options).run();
}

}  // namespace tilewave::stabilizer
