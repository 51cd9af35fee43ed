#include "tilewave/simulate/steered_clifford.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/philox.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/exact_branches.h"
#include "tilewave/simulate/program.h"
#include "tilewave/stabilizer/tableau.h"

namespace tilewave::simulate {
namespace {

using circuit::Clifford1;
using circuit::Op;
using circuit::OpKind;
using circuit::Pauli;
using stabilizer::Tableau;
using stabilizer::TableauGate;

// Of one core of an AMD EPYC, 2026-11-27, at 70 and 1,000 qubits: a step, and a row of the tableau in a
// measurement or a copy.
constexpr double kStep_s = 2e-8, kRow_s = 1.2e-8;
constexpr std::uint64_t kBlockShots = 16;
constexpr std::uint64_t kMostMeasurements = std::uint64_t{1} << 20;  // of a shot

// <P> in the state of a tableau: 1, -1, or 0 where the outcome of a measurement of P is random. Gates
// V with V P V^dagger = Z of one qubit go in front of it, and are taken back.
int mean_of(Tableau& tableau, const circuit::WidePauliTerm& term) {
  std::vector<std::uint32_t> on;
  std::vector<std::pair<Clifford1, std::uint32_t>> turned;
  for (std::size_t word = 0; word < std::max(term.x.size(), term.z.size()); ++word) {
    const std::uint64_t x = word < term.x.size() ? term.x[word] : 0;
    const std::uint64_t z = word < term.z.size() ? term.z[word] : 0;
    for_each_bit(x | z, [&](int b) {
      const auto q = static_cast<std::uint32_t>(64 * word) + static_cast<std::uint32_t>(b);
      on.push_back(q);
      if (!(x >> b & 1)) return;
      const bool is_y = z >> b & 1;
      turned.emplace_back(is_y ? Clifford1{Pauli::kX, Pauli::kY, false, true}    // sqrt(X)
                               : Clifford1{Pauli::kZ, Pauli::kX, false, false},  // H
                          q);
    });
  }
  if (on.empty()) return 1;
  const std::uint32_t last = on.back();
  on.pop_back();
  for (const auto& [c, q] : turned) tableau.apply(c, q);
  for (const std::uint32_t q : on) tableau.apply_controlled(Pauli::kZ, q, Pauli::kX, last);
  const int mean = tableau.is_random_z(last) ? 0 : tableau.outcome_z(last) ? -1 : 1;
  for (const std::uint32_t q : on) tableau.apply_controlled(Pauli::kZ, q, Pauli::kX, last);
  for (const auto& [c, q] : turned) tableau.apply(circuit::inverse(c), q);
  return mean;
}

// What an operation does to the tableau: gates, or the Pauli errors of one of the channels.
struct Step {
  Op op;
  std::uint32_t first_gate = 0, num_gates = 0;
};

class Steps final : public SteeredClifford, public std::enable_shared_from_this<Steps> {
 public:
  Steps(const Program& program, std::span<const circuit::ReadoutError> readout)
      : circuit_(*program.circuit),
        deferred_(program.deferred),
        readout_(readout.begin(), readout.end()),
        records_(program.records),
        read_(bits_read(program)),
        start_(circuit_.num_qubits()) {
    for (const auto& channel : circuit_.channels())
      errors_.push_back(circuit::pauli_probabilities(*channel));
  }

  bool translate(const Program& program, std::string& why_not) {
    for (const Op& op : program.ops) {
      if (const std::string reason = add(op); !reason.empty()) {
        why_not = (op.line ? "line " + std::to_string(op.line) + ": " : std::string()) + reason;
        return false;
      }
    }
    // what all shots begin with
    const auto is_shared = [](const Step& s) {
      return s.op.condition < 0 && (s.op.kind == OpKind::kGate || s.op.kind == OpKind::kMatrix);
    };
    for (; num_shared_ < steps_.size() && is_shared(steps_[num_shared_]); ++num_shared_)
      run_gates(steps_[num_shared_], start_);
    if (circuit_.num_qubits() > 0) start_.is_random_z(0);  // makes its rows now
    return true;
  }

  std::uint64_t num_bits() const override {
    return records_ ? circuit_.num_clbits() : circuit_.num_qubits();
  }
  std::size_t num_steps() const override { return steps_.size() + deferred_.size(); }
  double shot_s() const override {
    const double n = circuit_.num_qubits();
    const auto measured = static_cast<double>(
        deferred_.size() +
        static_cast<std::size_t>(std::count_if(steps_.begin(), steps_.end(), [](const Step& s) {
          return s.op.kind == OpKind::kMeasure || s.op.kind == OpKind::kReset;
        })));
    return kStep_s * static_cast<double>(num_steps()) + kRow_s * (1 + measured) * 2 * n;
  }
  std::unique_ptr<stabilizer::ShotSource> source() const override;

  // One shot; `bits` are zeros before.
  void run(std::uint64_t seed, std::uint64_t shot, Tableau& tableau, Bits& bits) const {
    Draws draws{seed, shot};
    run_steps(draws, tableau, bits);
    for (const DeferredMeasure& d : deferred_)
      set_bit(bits, d.clbit, measure(d.qubit, draws, tableau));
    for (std::uint32_t q = 0; !records_ && q < circuit_.num_qubits(); ++q)
      set_bit(bits, q, measure(q, draws, tableau));
  }

  std::vector<double> exact_means(const circuit::WidePauliSum& terms) const override {
    struct Path {
      Tableau tableau;
      Bits bits;
      std::size_t at;
      std::uint64_t jumps;
      double weight;
    };
    std::vector<double> sums(terms.size());
    std::uint64_t num_ends = 0;
    std::vector<Path> paths;
    paths.push_back({start_, Bits((circuit_.num_clbits() + 63) / 64), num_shared_, 0, 1});
    while (!paths.empty()) {
      Path path = std::move(paths.back());
      paths.pop_back();
      while (path.at < steps_.size() && path.weight >= kLeastOutcome) {
        const Step& step = steps_[path.at++];
        const Op& op = step.op;
        if (!holds(circuit_, op, path.bits)) continue;
        if (op.kind == OpKind::kChannel) {
          throw Error(ExitCode::kUsage,
                      "noise is drawn: ask for shots, or for a precision above 0");
        }
        if (op.kind != OpKind::kMeasure && op.kind != OpKind::kReset) {
          do_step(step, path.tableau, path.bits, path.at, path.jumps);
          continue;
        }
        check_interrupt();
        const std::uint32_t q = circuit_.targets(op)[0];
        const auto take = [&](Path& it, bool one) {
          if (op.kind == OpKind::kMeasure) {
            set_bit(it.bits, op.clbit, one);
          } else if (one) {
            it.tableau.apply_pauli(Pauli::kX, q);
          }
        };
        const auto wait = [&](Path it) {
          if (paths.size() > kMostOutcomes) fail_outcomes();
          paths.push_back(std::move(it));
        };
        // where later operations read the bit, those go on as well that have it wrong
        const auto misread = [&](Path& it) {
          if (op.kind != OpKind::kMeasure || readout_.empty() || !read_[op.clbit]) return;
          const bool one = get_bit(it.bits, op.clbit);
          const double p = one ? readout_[q].p0_given_1 : readout_[q].p1_given_0;
          if (p == 0) return;
          Path wrong = it;
          set_bit(wrong.bits, op.clbit, !one);
          wrong.weight *= p;
          it.weight *= 1 - p;
          wait(std::move(wrong));
        };
        path.jumps = 0;
        if (path.tableau.is_random_z(q)) {
          path.weight /= 2;
          Path other = path;
          other.tableau.measure_z(q, true);
          take(other, true);
          misread(other);
          wait(std::move(other));
        }
        take(path, path.tableau.measure_z(q, false));
        misread(path);
      }
      if (++num_ends > kMostOutcomes) fail_outcomes();  // those that are given up, too
      if (path.weight < kLeastOutcome) continue;
      for (std::size_t k = 0; k < terms.size(); ++k)
        sums[k] += path.weight * mean_of(path.tableau, terms[k]);
    }
    return sums;
  }

  ShotMeans means(const circuit::WidePauliSum& terms, std::uint64_t seed, std::uint64_t shots,
                  int num_threads) const override {
    // sums of a block are added in the order of blocks, whoever made them
    const std::uint64_t num_blocks = (shots + kBlockShots - 1) / kBlockShots;
    std::vector<double> block_squares(num_blocks);
    const auto threads = static_cast<int>(std::min<std::uint64_t>(
        static_cast<std::uint64_t>(runtime::wanted_num_threads(num_threads)), num_blocks));
    std::vector<std::vector<std::int64_t>> ones(static_cast<std::size_t>(threads)), any = ones;
    StopFlag stop;
    runtime::run_on_threads(threads, [&](int thread) {
      auto& own = ones[static_cast<std::size_t>(thread)];
      auto& own_any = any[static_cast<std::size_t>(thread)];
      own.resize(terms.size());
      own_any.resize(terms.size());
      Tableau tableau(0);
      Bits bits((circuit_.num_clbits() + 63) / 64);
      for (auto block = static_cast<std::uint64_t>(thread); block < num_blocks;
           block += static_cast<std::uint64_t>(threads)) {
        if (stop.wanted()) return;
        const std::uint64_t end = std::min(shots, (block + 1) * kBlockShots);
        for (std::uint64_t shot = block * kBlockShots; shot < end; ++shot) {
          std::fill(bits.begin(), bits.end(), 0);
          Draws draws{seed, shot};
          run_steps(draws, tableau, bits);
          double sum = 0;
          for (std::size_t k = 0; k < terms.size(); ++k) {
            const int mean = mean_of(tableau, terms[k]);
            own[k] += mean;
            own_any[k] += mean * mean;
            sum += terms[k].coefficient * mean;
          }
          block_squares[block] += sum * sum;
        }
      }
    });
    stop.rethrow();
    ShotMeans found{std::vector<double>(terms.size()), std::vector<double>(terms.size()), 0};
    const auto count = static_cast<double>(shots);
    for (std::size_t k = 0; k < terms.size(); ++k) {
      for (std::size_t thread = 0; thread < ones.size(); ++thread) {
        found.values[k] += static_cast<double>(ones[thread][k]);
        found.squares[k] += static_cast<double>(any[thread][k]);
      }
      found.values[k] *= terms[k].coefficient / count;
      found.squares[k] *= terms[k].coefficient * terms[k].coefficient / count;
    }
    for (const double squares : block_squares) found.sum_squares += squares / count;
    return found;
  }

 private:
  // The random numbers of a shot, one after the other.
  struct Draws {
    std::uint64_t seed, shot, next = 1;
    double uniform() { return random_uniform(seed, shot, next++); }
  };

  // From behind what all shots begin with to the end.
  void run_steps(Draws& draws, Tableau& tableau, Bits& bits) const {
    tableau = start_;
    std::uint64_t jumps = 0;
    for (std::size_t at = num_shared_; at < steps_.size();) {
      const Step& step = steps_[at];
      const Op& op = step.op;
      ++at;
      if (!holds(circuit_, op, bits)) continue;
      switch (op.kind) {
        case OpKind::kMeasure:
          set_bit(bits, op.clbit, measure(circuit_.targets(op)[0], draws, tableau));
          jumps = 0;
          break;
        case OpKind::kReset: {
          const std::uint32_t q = circuit_.targets(op)[0];
          if (outcome(q, draws, tableau)) tableau.apply_pauli(Pauli::kX, q);
          jumps = 0;
          break;
        }
        case OpKind::kChannel:
          draw_error(op, draws, tableau);
          break;
        default:
          do_step(step, tableau, bits, at, jumps);
      }
    }
  }

  // One that draws nothing.
  void do_step(const Step& step, Tableau& tableau, Bits& bits, std::size_t& at,
               std::uint64_t& jumps) const {
    switch (step.op.kind) {
      case OpKind::kJump:
        count_jump(jumps);
        at = step.op.first_param;
        break;
      case OpKind::kAssign:
        assign(circuit_, step.op, bits);
        break;
      default:
        run_gates(step, tableau);
    }
  }

  // Empty, or why the operation is none of these.
  std::string add(const Op& op) {
    Step step{op, static_cast<std::uint32_t>(gates_.size()), 0};
    switch (op.kind) {
      case OpKind::kRuntimeGate:
        return "its angles depend on measurements";
      case OpKind::kChannel:
        if (errors_[op.first_param].empty())
          return "the channel " + circuit_.channel(op).name + " is no mixture of Pauli errors";
        break;
      case OpKind::kGate:
      case OpKind::kMatrix:
        if (const std::string reason = add_gates(op); !reason.empty()) return reason;
        break;
      default:
        break;
    }
    step.num_gates = static_cast<std::uint32_t>(gates_.size()) - step.first_gate;
    steps_.push_back(step);
    return {};
  }

  std::string add_gates(const Op& op) {
    const auto qubits = circuit_.qubits(op);
    if (qubits.empty()) return {};  // a phase
    if (qubits.size() > 2) return "the gate acts on more than two qubits";
    const std::string no_clifford = "the gate is not Clifford";
    if (qubits.size() == 1) {
      const auto c = circuit::clifford1_of(circuit_.whole_matrix(op));
      if (!c) return no_clifford;
      add_one(*c, qubits[0]);
      return {};
    }
    const auto action = circuit::clifford2_of(circuit_.whole_matrix(op));
    const auto form = action ? circuit::clifford2_form(*action) : std::nullopt;
    if (!form) return no_clifford;
    if (form->a != Pauli::kI) {
      const int sub = 3 * (static_cast<int>(form->a) - 1) + static_cast<int>(form->b) - 1;
      gates_.push_back({TableauGate::Kind::kControlled,
                        static_cast<std::uint8_t>(sub),
                        {},
                        {},
                        false,
                        false,
                        qubits[0],
                        qubits[1]});
    }
    if (form->swap)
      gates_.push_back({TableauGate::Kind::kSwap, 0, {}, {}, false, false, qubits[0], qubits[1]});
    add_one(form->post0, qubits[0]);
    add_one(form->post1, qubits[1]);
    return {};
  }
  void add_one(const Clifford1& c, std::uint32_t q) {
    if (c.is_identity()) return;
    gates_.push_back(
        {TableauGate::Kind::kClifford1, 0, c.x, c.z, c.x_negative, c.z_negative, q, 0});
  }

  void run_gates(const Step& step, Tableau& tableau) const {
    for (std::uint32_t k = 0; k < step.num_gates; ++k) tableau.apply(gates_[step.first_gate + k]);
  }

  bool outcome(std::uint32_t q, Draws& draws, Tableau& tableau) const {
    if (draws.next > kMostMeasurements) {
      throw Error(ExitCode::kInput, "a shot draws more than " + std::to_string(kMostMeasurements) +
                                        " times: a loop does not end");
    }
    return tableau.measure_z(q, draws.uniform() < 0.5);
  }
  // As it is read.
  bool measure(std::uint32_t q, Draws& draws, Tableau& tableau) const {
    const bool one = outcome(q, draws, tableau);
    if (readout_.empty()) return one;
    return one != is_misread(readout_[q], one, draws.seed, draws.shot, draws.next);
  }
  void draw_error(const Op& op, Draws& draws, Tableau& tableau) const {
    const std::vector<double>& p = errors_[op.first_param];
    double left = draws.uniform() * std::max(1.0, std::accumulate(p.begin(), p.end(), 0.0));
    std::size_t s = 0;
    while (s + 1 < p.size() && left >= p[s]) left -= p[s++];
    const auto qubits = circuit_.targets(op);
    for (std::size_t j = 0; j < qubits.size(); ++j) {
      const auto letter = static_cast<Pauli>(s >> (2 * j) & 3);
      if (letter != Pauli::kI) tableau.apply_pauli(letter, qubits[j]);
    }
  }

  const circuit::Circuit& circuit_;
  std::vector<DeferredMeasure> deferred_;
  std::vector<circuit::ReadoutError> readout_;
  bool records_;
  std::vector<bool> read_;                   // classical bits, by operations
  std::vector<std::vector<double>> errors_;  // of each channel; empty: no Pauli errors
  std::vector<Step> steps_;                  // jumps name these
  std::vector<TableauGate> gates_;
  std::size_t num_shared_ = 0;
  Tableau start_;  // behind those
};

class SteeredSource final : public stabilizer::ShotSource {
 public:
  explicit SteeredSource(std::shared_ptr<const Steps> steps) : steps_(std::move(steps)) {}
  std::uint64_t num_bits() const override { return steps_->num_bits(); }
  std::uint64_t block_shots() const override { return kBlockShots; }
  void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) override {
    fill_part(seed, block, 0, kBlockShots, thread, rows);
  }
  void fill_part(std::uint64_t seed, std::uint64_t block, std::uint64_t first, std::uint64_t end,
                 int /*thread*/, std::uint8_t* rows) override {
    Tableau tableau(0);
    Bits bits((steps_->num_bits() + 63) / 64);
    for (std::uint64_t s = first; s < end; ++s) {
      std::fill(bits.begin(), bits.end(), 0);
      steps_->run(seed, block * kBlockShots + s, tableau, bits);
      if (!bits.empty()) std::memcpy(rows + s * row_stride(), bits.data(), row_bytes());
    }
  }
  std::string engine() const override { return "tableau"; }
  std::string explain() const override {
    return "a tableau for every shot, as measurements steer the circuit: " +
           std::to_string(steps_->num_steps()) + " steps\n";
  }

 private:
  std::shared_ptr<const Steps> steps_;
};

std::unique_ptr<stabilizer::ShotSource> Steps::source() const {
  return std::make_unique<SteeredSource>(shared_from_this());
}

}  // namespace

std::shared_ptr<const SteeredClifford> SteeredClifford::make(
    const Program& program, std::span<const circuit::ReadoutError> readout, std::string* why_not) {
  const auto steps = std::make_shared<Steps>(program, readout);
  if (!steps->translate(program, *why_not)) return nullptr;
  return steps;
}

bool is_steered(const Program& program) {
  return program.has_control_flow || std::any_of(program.ops.begin(), program.ops.end(),
                                                 [](const Op& op) { return op.condition >= 0; });
}

}  // namespace tilewave::simulate
