#include "tilewave/simulate/steered_clifford.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/simulate/branches.h"
#include "tilewave/simulate/classical_bits.h"
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
    tableau = start_;
    std::uint64_t jumps = 0;
    for (std::size_t at = num_shared_; at < steps_.size();) {
      const Step& step = steps_[at];
      const Op& op = step.op;
      ++at;
      if (!holds(circuit_, op, bits)) continue;
      switch (op.kind) {
        case OpKind::kJump:
          count_jump(jumps);
          at = op.first_param;
          break;
        case OpKind::kAssign:
          assign(circuit_, op, bits);
          break;
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
          run_gates(step, tableau);
      }
    }
    for (const DeferredMeasure& d : deferred_)
      set_bit(bits, d.clbit, measure(d.qubit, draws, tableau));
    for (std::uint32_t q = 0; !records_ && q < circuit_.num_qubits(); ++q)
      set_bit(bits, q, measure(q, draws, tableau));
  }

 private:
  // The random numbers of a shot, one after the other.
  struct Draws {
    std::uint64_t seed, shot, next = 1;
    double uniform() { return random_uniform(seed, shot, next++); }
  };

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
    constexpr const char* kNoClifford =
        "the gate is not Clifford, as those of a circuit that measurements steer have to be";
    if (qubits.size() == 1) {
      const auto c = circuit::clifford1_of(circuit_.whole_matrix(op));
      if (!c) return kNoClifford;
      add_one(*c, qubits[0]);
      return {};
    }
    const auto action = circuit::clifford2_of(circuit_.whole_matrix(op));
    const auto form = action ? circuit::clifford2_form(*action) : std::nullopt;
    if (!form) return kNoClifford;
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
