#include "tilewave/stabilizer/explain.h"

#include <algorithm>
#include <map>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/circuit/rotations.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/sensitivity.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {
namespace {

using circuit::StabilizerCircuit;
using circuit::StabInstruction;
using circuit::StabKind;
using circuit::StabTarget;
using K = StabKind;
using P = PrimKind;

constexpr std::uint64_t kMostErrors = 50'000'000;
constexpr std::uint64_t kNoRecord = ~std::uint64_t{0};

// An instruction in text order, as primitives number their sources.
struct Source {
  const StabilizerCircuit* block;
  const StabInstruction* op;
  std::uint32_t offset;  // in its block
  int parent;            // the REPEAT around it, or -1
  std::uint64_t ticks_before = 0;
  std::uint64_t body_ticks = 0;  // of one iteration of a REPEAT
};

// One error of one place; iterations of the loops around it, outermost first.
struct Location {
  std::uint32_t source = 0;
  std::uint32_t index = 0;  // which target, pair or product
  Pauli first = Pauli::kI, second = Pauli::kI;
  std::uint64_t record = kNoRecord;
  std::vector<std::uint64_t> iterations;
};

class Explainer : public SensitivityVisitor {
 public:
  Explainer(const StabilizerCircuit& circuit, const ExplainOptions& options)
      : options_(options),
        program_(lower(circuit, options.name)),
        walk_(program_, SymptomKind::kDetectors, *this) {
    if (count_branches(program_) > kMostErrors) {
      fail(ExitCode::kResources, "the unrolled circuit has more than ", kMostErrors,
           " errors to explain: shorten its REPEAT blocks");
    }
    need_walkable(program_, "shorten its REPEAT blocks");
    number(circuit, -1);
    std::vector<double> shift;
    place(circuit, shift);
    if (options.filter) {
      for (const circuit::FlatError& e : circuit::flatten(*options.filter).errors) {
        SymptomSet set(e.detectors.begin(), e.detectors.end());
        for (std::uint64_t l : e.observables) set.push_back(kObservableBit | l);
        found_.try_emplace(std::move(set));
      }
    }
  }

  std::string run() {
    walk_.run();
    std::string out;
    for (const auto& [set, locations] : found_) {
      out += "ExplainedError {\n    dem_error_terms:";
      for (Symptom s : set) {
        const std::uint64_t index = s & ~kObservableBit;
        out.append(s & kObservableBit ? " L" : " D").append(std::to_string(index));
        if (!(s & kObservableBit) && index < detector_coords_.size())
          coordinates(detector_coords_[index], out);
      }
      out += '\n';
      for (const Location& l : locations) print(l, out);
      if (locations.empty()) out += "    [no single circuit error had these exact symptoms]\n";
      out += "}\n";
    }
    return out;
  }

  void noise(const Prim& p, const SensitivityWalk& walk) override {
    const auto probability = program_.probabilities(p);
    const auto list = program_.list(p);
    constexpr Pauli kPaulis[4] = {Pauli::kI, Pauli::kX, Pauli::kY, Pauli::kZ};
    switch (p.kind) {
      case P::kPauli1:
        for (std::uint32_t i = 0; i < p.count; ++i) {
          for (int k = 1; k < 4; ++k) {
            if (probability[k - 1] > 0)
              add(p, i, kPaulis[k], Pauli::kI, walk.flips(kPaulis[k], list[i]));
          }
        }
        break;
      case P::kPauli2:
        for (std::uint32_t i = 0; i < p.count / 2; ++i) {
          for (int k = 1; k < 16; ++k) {
            if (probability[k - 1] == 0) continue;
            SymptomSet set = walk.flips(kPaulis[k >> 2], list[2 * i]);
            toggle(set, walk.flips(kPaulis[k & 3], list[2 * i + 1]));
            add(p, i, kPaulis[k >> 2], kPaulis[k & 3], std::move(set));
          }
        }
        break;
      case P::kRecordFlip:
        for (std::uint32_t back = 1; back <= p.count; ++back) {
          add(p, p.count - back, Pauli::kI, Pauli::kI, walk.record(back),
              walk.num_records() - back);
        }
        break;
      case P::kHerald:
        for (std::uint32_t i = p.count; i-- > 0;) {
          for (int k = 0; k < 4; ++k) {
            if (probability[k] == 0) continue;
            SymptomSet set = walk.record(p.count - i);
            toggle(set, walk.flips(kPaulis[k], list[i]));
            add(p, i, kPaulis[k], Pauli::kI, std::move(set), walk.num_records() - (p.count - i));
          }
        }
        break;
      case P::kCorrelated:
        add(p, 0, Pauli::kI, Pauli::kI, walk.flips(p));
        break;
      default:
        break;
    }
  }

  void coin(const Prim* p, std::uint32_t qubit, const SymptomSet& flips) override {
    const SymptomSet gauge = flips;
    if (gauge.back() & kObservableBit)
      throw_random_symptoms(gauge, p ? program_.place(*p) : "", p != nullptr, qubit);
    walk_.remove_gauge(gauge);
  }

  void loop(const Prim& p, std::uint64_t iterations, SensitivityWalk& walk) override {
    if (is_silent(program_, p.a)) return SensitivityVisitor::loop(p, iterations, walk);
    for (std::uint64_t k = iterations; k-- > 0;) {
      iterations_.push_back(k);
      walk.block(p.a);
      iterations_.pop_back();
    }
  }

 private:
  // Lists the instructions of a block; returns its ticks.
  std::uint64_t number(const StabilizerCircuit& block, int parent) {
    std::uint64_t ticks = 0;
    std::uint32_t offset = 0;
    for (const StabInstruction& op : block.instructions()) {
      const std::size_t at = sources_.size();
      sources_.push_back({&block, &op, offset++, parent, ticks, 0});
      if (op.kind == K::kTick) ++ticks;
      if (op.kind != K::kRepeat) continue;
      const std::uint64_t body = number(block.block(op), static_cast<int>(at));
      sources_[at].body_ticks = body;
      ticks = saturating_add(ticks, saturating_multiply(body, op.repeat));
    }
    return ticks;
  }

  static bool has_places(const StabilizerCircuit& block) {
    return std::ranges::any_of(block.instructions(), [&](const StabInstruction& op) {
      return op.kind == K::kDetector || op.kind == K::kQubitCoords || op.kind == K::kShiftCoords ||
             (op.kind == K::kRepeat && has_places(block.block(op)));
    });
  }

  // Coordinates of detectors and qubits, forwards through the unrolled circuit.
  void place(const StabilizerCircuit& block, std::vector<double>& shift) {
    const auto shifted = [&](std::span<const double> args) {
      std::vector<double> c(args.begin(), args.end());
      for (std::size_t k = 0; k < std::min(c.size(), shift.size()); ++k) c[k] += shift[k];
      return c;
    };
    for (const StabInstruction& op : block.instructions()) {
      const auto args = block.args(op);
      if (op.kind == K::kRepeat) {
        const std::uint64_t times = has_places(block.block(op)) ? op.repeat : 0;
        for (std::uint64_t k = 0; k < times; ++k) place(block.block(op), shift);
      } else if (op.kind == K::kDetector) {
        detector_coords_.push_back(shifted(args));
      } else if (op.kind == K::kQubitCoords) {
        for (const StabTarget& t : block.targets(op)) qubit_coords_[t.value] = shifted(args);
      } else if (op.kind == K::kShiftCoords) {
        shift.resize(std::max(shift.size(), args.size()));
        for (std::size_t k = 0; k < args.size(); ++k) shift[k] += args[k];
      }
    }
  }

  void add(const Prim& p, std::uint32_t index, Pauli first, Pauli second, SymptomSet set,
           std::uint64_t record = kNoRecord) {
    if (set.empty()) return;
    auto it = found_.find(set);
    if (it == found_.end()) {
      if (options_.filter) return;
      it = found_.try_emplace(std::move(set)).first;
    }
    Location l{p.source, index, first, second, record, iterations_};
    if (options_.single && !it->second.empty()) {
      if (cost(l) < cost(it->second[0])) it->second[0] = std::move(l);
      return;
    }
    it->second.push_back(std::move(l));
  }

  std::uint64_t ticks(const Location& l) const {
    std::uint64_t out = sources_[l.source].ticks_before;
    std::size_t depth = l.iterations.size();
    for (int at = sources_[l.source].parent; at >= 0;
         at = sources_[static_cast<std::size_t>(at)].parent) {
      const Source& loop = sources_[static_cast<std::size_t>(at)];
      out += loop.ticks_before + l.iterations[--depth] * loop.body_ticks;
    }
    return out;
  }
  // Fewer Paulis, then fewer measured ones, then earlier, then Z before X before Y.
  struct Cost {
    std::size_t paulis, measured;
    std::uint64_t ticks;
    std::vector<std::pair<int, std::uint32_t>> product;
    std::uint32_t source, index;
    auto operator<=>(const Cost&) const = default;
  };
  Cost cost(const Location& l) const {
    constexpr int kRank[4] = {0, 2, 3, 1};
    Cost out{0, measured(l).size(), ticks(l), {}, l.source, l.index};
    for (const StabTarget& t : paulis(l))
      out.product.emplace_back(kRank[static_cast<int>(t.pauli)], t.value);
    out.paulis = out.product.size();
    return out;
  }

  // Targets of the instruction that belong to this place.
  std::pair<std::size_t, std::size_t> target_range(const Location& l) const {
    const Source& s = sources_[l.source];
    const auto targets = s.block->targets(*s.op);
    switch (circuit::stabilizer_op(s.op->kind).targets) {
      case circuit::TargetRule::kPairs:
      case circuit::TargetRule::kMeasuredPairs:
        return {2 * l.index, 2 * l.index + 2};
      case circuit::TargetRule::kPaulis:
        return {0, targets.size()};
      case circuit::TargetRule::kProducts: {
        std::size_t first = 0;
        for (std::uint32_t k = 0;; ++k) {
          const std::size_t end = circuit::end_of_product(targets, first);
          if (k == l.index) return {first, end};
          first = end;
        }
      }
      default:
        return {l.index, l.index + 1};
    }
  }
  std::span<const StabTarget> targets_of(const Location& l) const {
    const Source& s = sources_[l.source];
    const auto [first, end] = target_range(l);
    return s.block->targets(*s.op).subspan(first, end - first);
  }
  std::vector<StabTarget> paulis(const Location& l) const {
    const auto targets = targets_of(l);
    const K kind = sources_[l.source].op->kind;
    if (kind == K::kCorrelatedError || kind == K::kElseCorrelatedError)
      return {targets.begin(), targets.end()};
    std::vector<StabTarget> out;
    if (l.first != Pauli::kI) out.push_back(circuit::pauli_target(l.first, targets[0].value));
    if (l.second != Pauli::kI) out.push_back(circuit::pauli_target(l.second, targets[1].value));
    return out;
  }
  // The measured observable; empty for heralds and constants.
  std::vector<StabTarget> measured(const Location& l) const {
    std::vector<StabTarget> out;
    if (l.record == kNoRecord) return out;
    const K kind = sources_[l.source].op->kind;
    const Pauli basis = circuit::basis_of(kind);
    if (basis == Pauli::kI && kind != K::kMPP) return out;
    for (const StabTarget& t : targets_of(l)) {
      if (t.kind == StabTarget::Kind::kCombiner) continue;
      out.push_back(basis == Pauli::kI ? t : circuit::pauli_target(basis, t.value, t.inverted));
    }
    return out;
  }

  static void coordinates(const std::vector<double>& c, std::string& out) {
    if (c.empty()) return;
    out += "[coords ";
    for (std::size_t k = 0; k < c.size(); ++k) {
      if (k) out += ',';
      out += language::shortest_number(c[k]);
    }
    out += ']';
  }
  void target(const StabTarget& t, std::string& out, bool constant = false) const {
    if (t.inverted) out += '!';
    if (t.kind == StabTarget::Kind::kPauli) out += "IXYZ"[static_cast<int>(t.pauli)];
    out += std::to_string(t.value);
    const auto it = qubit_coords_.find(t.value);
    if (it != qubit_coords_.end() && !constant) coordinates(it->second, out);
  }
  void product(const std::vector<StabTarget>& factors, std::string& out) const {
    for (std::size_t k = 0; k < factors.size(); ++k) {
      if (k) out += '*';
      target(factors[k], out);
    }
  }

  void print(const Location& l, std::string& out) const {
    const Source& s = sources_[l.source];
    const std::string& tag = s.block->tag(*s.op);
    const auto flipped = paulis(l), observable = measured(l);
    out += "    CircuitErrorLocation {\n";
    if (!tag.empty()) out.append("        noise_tag: ").append(tag).append("\n");
    if (!flipped.empty()) {
      out += "        flipped_pauli_product: ";
      product(flipped, out);
      out += '\n';
    }
    if (l.record != kNoRecord) {
      out.append("        flipped_measurement.measurement_record_index: ")
          .append(std::to_string(l.record))
          .append("\n");
      if (!observable.empty()) {
        out += "        flipped_measurement.measured_observable: ";
        product(observable, out);
        out += '\n';
      }
    }
    out.append("        Circuit location stack trace:\n            (after ")
        .append(std::to_string(ticks(l)))
        .append(" TICKs)\n");
    std::vector<std::uint32_t> frames{l.source};
    while (sources_[frames.back()].parent >= 0)
      frames.push_back(static_cast<std::uint32_t>(sources_[frames.back()].parent));
    for (std::size_t k = frames.size(); k-- > 0;) {
      const Source& frame = sources_[frames[k]];
      out.append("            at instruction #")
          .append(std::to_string(frame.offset + 1))
          .append(" (");
      if (k) {
        out.append("a REPEAT ").append(std::to_string(frame.op->repeat)).append(" block");
      } else {
        out += frame.block->name(*frame.op);
      }
      out += k + 1 == frames.size() ? ") in the circuit\n" : ") in the REPEAT block\n";
      if (k) {
        out.append("            after ")
            .append(std::to_string(l.iterations[frames.size() - 1 - k]))
            .append(" completed iterations\n");
      }
    }
    const auto [first, end] = target_range(l);
    out += "            at target";
    if (end == first + 1) {
      out.append(" #").append(std::to_string(end));
    } else {
      out.append("s #")
          .append(std::to_string(first + 1))
          .append(" to #")
          .append(std::to_string(end));
    }
    out.append(" of the instruction\n            resolving to ").append(s.block->name(*s.op));
    if (!tag.empty()) out.append("[").append(language::escape_tag(tag)).append("]");
    out += language::in_parentheses(s.block->args(*s.op));
    bool glue = false;
    for (const StabTarget& t : targets_of(l)) {
      const bool combiner = t.kind == StabTarget::Kind::kCombiner;
      if (combiner) {
        out += '*';
      } else {
        if (!glue) out += ' ';
        target(t, out, s.op->kind == K::kMpad);
      }
      glue = combiner;
    }
    out += "\n    }\n";
  }

  const ExplainOptions& options_;
  StabProgram program_;
  SensitivityWalk walk_;
  std::vector<Source> sources_;
  std::vector<std::vector<double>> detector_coords_;
  std::map<std::uint32_t, std::vector<double>> qubit_coords_;
  std::map<SymptomSet, std::vector<Location>> found_;
  std::vector<std::uint64_t> iterations_;
};

}  // namespace

std::string explain_errors(const StabilizerCircuit& circuit, const ExplainOptions& options) {
  return Explainer(circuit, options).run();
}

}  // namespace tilewave::stabilizer
