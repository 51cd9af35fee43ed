#include "tilewave/simulate/clifford_program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tilewave/base/error.h"
#include "tilewave/circuit/clifford.h"
#include "tilewave/simulate/classical_bits.h"
#include "tilewave/simulate/program.h"
#include "tilewave/stabilizer/near_clifford/program.h"

namespace tilewave::simulate {
namespace {

using circuit::GateId;
using circuit::Op;
using circuit::OpKind;
using circuit::Pauli;
using circuit::StabKind;
using circuit::StabTarget;

// The gate of Stim's language with this action; the table has all 24.
GateId named(const circuit::Clifford1& c) {
  for (const circuit::GateInfo& g : circuit::gate_table()) {
    if (!g.stim.empty() && circuit::gate_arity(g.id) == 1 && circuit::gate_clifford1(g.id) == c)
      return g.id;
  }
  TW_CHECK(false, "a Clifford gate has no name");
}

GateId controlled_pauli(Pauli a, Pauli b) {
  constexpr GateId kGates[3][3] = {{GateId::kXcx, GateId::kXcy, GateId::kXcz},
                                   {GateId::kYcx, GateId::kYcy, GateId::kYcz},
                                   {GateId::kCx, GateId::kCy, GateId::kCz}};
  return kGates[static_cast<int>(a) - 1][static_cast<int>(b) - 1];
}

class Translator {
 public:
  Translator(const Program& program, std::span<const circuit::ReadoutError> readout,
             std::string& why_not)
      : program_(program), circuit_(*program.circuit), readout_(readout), why_not_(why_not) {
    for (const auto& channel : circuit_.channels()) {
      errors_.push_back(circuit::pauli_probabilities(*channel));
    }
    const std::size_t bits = program.records ? circuit_.num_clbits() : circuit_.num_qubits();
    out_.record_of.assign(bits, CliffordProgram::kNoRecord);
  }

  std::optional<CliffordProgram> run() {
    for (const Op& op : program_.ops) {
      if (!translate(op)) return std::nullopt;
    }
    for (const DeferredMeasure& d : program_.deferred) measure(d.qubit, d.clbit);
    for (circuit::Qubit q = 0; !program_.records && q < circuit_.num_qubits(); ++q) measure(q, q);
    return std::move(out_);
  }

 private:
  bool refuse(const Op& op, const std::string& reason) {
    why_not_ = (op.line ? "line " + std::to_string(op.line) + ": " : std::string()) + reason;
    return false;
  }
  void gate(GateId id, std::initializer_list<std::uint32_t> qubits) {
    std::vector<StabTarget> targets;
    for (std::uint32_t q : qubits) targets.push_back(circuit::qubit_target(q));
    out_.circuit.append(StabKind::kGate, id, targets, {});
  }
  void one_qubit(const circuit::Clifford1& c, std::uint32_t q) {
    if (!c.is_identity()) gate(named(c), {q});
  }
  void measure(std::uint32_t qubit, std::uint32_t bit) {
    const StabTarget t = circuit::qubit_target(qubit);
    const circuit::ReadoutError error =
        readout_.empty() ? circuit::ReadoutError{} : readout_[qubit];
    const bool even = error.p1_given_0 == error.p0_given_1;
    if (even && error.p1_given_0 > 0) {
      out_.circuit.append(StabKind::kM, GateId::kId, {&t, 1}, {&error.p1_given_0, 1});
    } else {
      out_.circuit.append(StabKind::kM, GateId::kId, {&t, 1}, {});
      if (!even) out_.misread.push_back({num_records_, error});
    }
    out_.record_of[bit] = num_records_++;
  }

  bool translate(const Op& op) {
    if (op.condition >= 0) return conditional(op);
    switch (op.kind) {
      case OpKind::kBarrier:
        return true;
      case OpKind::kMeasure:
        measure(circuit_.targets(op)[0], op.clbit);
        return true;
      case OpKind::kReset: {
        const StabTarget t = circuit::qubit_target(circuit_.targets(op)[0]);
        out_.circuit.append(StabKind::kR, GateId::kId, {&t, 1}, {});
        return true;
      }
      case OpKind::kJump:
      case OpKind::kAssign:
        return refuse(op, "it is classical control that branches");
      case OpKind::kRuntimeGate:
        return refuse(op, "its angles depend on measurements");
      case OpKind::kChannel:
        return channel(op);
      case OpKind::kGate:
      case OpKind::kMatrix:
        break;
    }
    const auto qubits = circuit_.qubits(op);
    if (qubits.empty()) return true;  // a phase
    if (qubits.size() == 1) {
      const auto c = circuit::clifford1_of(circuit_.whole_matrix(op));
      if (!c) return magic(op);
      one_qubit(*c, qubits[0]);
      return true;
    }
    if (qubits.size() > 2) return magic(op);
    const auto action = circuit::clifford2_of(circuit_.whole_matrix(op));
    const auto form = action ? circuit::clifford2_form(*action) : std::nullopt;
    if (!form) return magic(op);
    if (form->a != Pauli::kI) gate(controlled_pauli(form->a, form->b), {qubits[0], qubits[1]});
    if (form->swap) gate(GateId::kSwap, {qubits[0], qubits[1]});
    one_qubit(form->post0, qubits[0]);
    one_qubit(form->post1, qubits[1]);
    return true;
  }

  // A gate beyond Clifford, as rotations about Paulis: where each of its qubits has an axis in whose
  // basis it is diagonal, as a controlled X or an R_XX has, or on one qubit by Euler angles.
  bool magic(const Op& op) {
    const auto qubits = circuit_.qubits(op);
    const std::size_t n = qubits.size();
    if (n > 3) return refuse(op, "the gate acts on more than three qubits");
    const std::vector<cplx> m = circuit_.whole_matrix(op);
    std::array<Pauli, 3> axes;
    for (std::size_t choice = 0; choice < (n == 1 ? 3u : n == 2 ? 9u : 27u); ++choice) {
      constexpr Pauli kAxes[] = {Pauli::kZ, Pauli::kX, Pauli::kY};
      axes = {kAxes[choice % 3], kAxes[choice / 3 % 3], kAxes[choice / 9]};
      if (const auto phases = phases_in(m, std::span(axes).first(n))) {
        turn_by(*phases, axes, qubits);
        return true;
      }
    }
    if (n > 1) return refuse(op, "the gate is none that the engine runs");
    const double pi = std::numbers::pi, theta = 2 * std::atan2(std::abs(m[2]), std::abs(m[0])) / pi;
    const bool flips = std::abs(m[0]) < kTiny;
    const double phi = flips ? 0 : (std::arg(m[2]) - std::arg(m[0])) / pi;
    // by the larger elements: the phase of a small one is rounding
    const double lambda = std::abs(m[2]) < std::abs(m[0])
                              ? (std::arg(m[3]) - std::arg(m[0])) / pi - phi
                              : (std::arg(-m[1]) - std::arg(flips ? m[2] : m[0])) / pi;
    const StabTarget target = circuit::qubit_target(qubits[0]);
    turn(StabKind::kU3, {&target, 1}, {theta, phi, lambda});
    return true;
  }
  static constexpr double kTiny = 1e-9;
  // The phases of the diagonal that a matrix is in the eigenvectors of a Pauli on each qubit.
  static std::optional<std::vector<double>> phases_in(std::vector<cplx> m,
                                                      std::span<const Pauli> axes) {
    const std::size_t size = std::size_t{1} << axes.size();
    for (std::size_t j = 0; j < axes.size(); ++j) {
      if (axes[j] == Pauli::kZ) continue;
      // Columns of V: (1, u) and (1, -u) over the square root of 2; m becomes V^+ m V.
      const cplx u = axes[j] == Pauli::kX ? cplx(1) : cplx(0, 1);
      const std::size_t bit = std::size_t{1} << j;
      const auto mix = [](cplx& zero, cplx& one, cplx by) {
        const cplx before = zero;
        zero = (before + by * one) * (std::numbers::sqrt2 / 2);
        one = (before - by * one) * (std::numbers::sqrt2 / 2);
      };
      for (std::size_t k = 0; k < size * size; ++k) {
        if (!(k / size & bit)) mix(m[k], m[k + bit * size], std::conj(u));
      }
      for (std::size_t k = 0; k < size * size; ++k) {
        if (!(k & bit)) mix(m[k], m[k + bit], u);
      }
    }
    double off = 0;
    std::vector<double> phases;
    for (std::size_t k = 0; k < size * size; ++k) {
      if (k % (size + 1)) {
        off += std::abs(m[k]);
      } else {
        phases.push_back(std::arg(m[k]));
      }
    }
    if (off >= kTiny) return std::nullopt;
    return phases;
  }
  // exp(i sum of b_S P_S) with the Walsh transform of the phases.
  void turn_by(const std::vector<double>& phases, const std::array<Pauli, 3>& axes,
               std::span<const circuit::Qubit> qubits) {
    for (std::size_t s = 1; s < phases.size(); ++s) {
      double b = 0;
      std::vector<StabTarget> targets;
      for (std::size_t x = 0; x < phases.size(); ++x)
        b += phases[x] * (std::popcount(x & s) % 2 ? -1.0 : 1.0);
      for (std::size_t j = 0; j < qubits.size(); ++j) {
        if (!((s >> j) & 1)) continue;
        if (!targets.empty()) targets.push_back({0, StabTarget::Kind::kCombiner});
        targets.push_back(circuit::pauli_target(axes[j], qubits[j]));
      }
      turn(StabKind::kRotPauli, targets,
           {-2 * b / (std::numbers::pi * static_cast<double>(phases.size()))});
    }
  }
  // Angles that are eighths of a half-turn but for rounding are that.
  void turn(StabKind kind, std::span<const StabTarget> targets, std::vector<double> half_turns) {
    for (double& a : half_turns) {
      const double eighths = std::round(8 * a) / 8;
      if (std::abs(a - eighths) < 1e-12) a = eighths;
    }
    if (half_turns.size() == 1 && std::fmod(half_turns[0], 2) == 0) return;
    out_.circuit.append(kind, GateId::kId, targets, half_turns);
  }

  bool channel(const Op& op) {
    std::vector<double> p = errors_[op.first_param];
    if (p.empty()) {
      return refuse(op,
                    "the channel " + circuit_.channel(op).name + " is no mixture of Pauli errors");
    }
    const auto qubits = circuit_.targets(op);
    const double sum = std::accumulate(p.begin() + 1, p.end(), 0.0);
    for (double& each : p) each = std::max(each, 0.0) / std::max(sum, 1.0);
    std::vector<StabTarget> targets;
    for (const auto q : qubits) targets.push_back(circuit::qubit_target(q));
    if (qubits.size() == 1) {
      out_.circuit.append(StabKind::kPauliChannel1, GateId::kId, targets, std::span(p).subspan(1));
      return true;
    }
    if (qubits.size() == 2) {  // there the letter of the first qubit comes first
      std::vector<double> args;
      for (std::size_t k = 1; k < 16; ++k) args.push_back(p[k / 4 + 4 * (k % 4)]);
      out_.circuit.append(StabKind::kPauliChannel2, GateId::kId, targets, args);
      return true;
    }
    StabKind kind = StabKind::kCorrelatedError;
    double left = 1;  // the probability that none of the strings so far occurred
    for (std::size_t s = 1; s < p.size(); ++s) {
      if (p[s] == 0) continue;
      targets.clear();
      for (std::size_t j = 0; j < qubits.size(); ++j) {
        const auto letter = static_cast<Pauli>(s >> (2 * j) & 3);
        if (letter != Pauli::kI) targets.push_back(circuit::pauli_target(letter, qubits[j]));
      }
      const double now = std::min(p[s] / left, 1.0);
      out_.circuit.append(kind, GateId::kId, targets, {&now, 1});
      kind = StabKind::kElseCorrelatedError;
      left = std::max(left - p[s], 1e-300);
    }
    return true;
  }

  // if (bit == value) Pauli.
  bool conditional(const Op& op) {
    const auto& c = circuit_.conditions()[static_cast<std::size_t>(op.condition)];
    std::optional<circuit::Clifford1> action;
    if ((op.kind == OpKind::kGate || op.kind == OpKind::kMatrix) && circuit_.qubits(op).size() == 1)
      action = circuit::clifford1_of(circuit_.whole_matrix(op));
    const bool pauli = action && action->x == Pauli::kX && action->z == Pauli::kZ;
    if (c.size != 1 || !c.expr.empty() || !pauli)
      return refuse(op, "the condition is not one bit on a Pauli gate");
    const bool x = action->z_negative, z = action->x_negative;
    if (!x && !z) return true;
    const std::uint32_t q = circuit_.qubits(op)[0];
    const bool wanted = !c.value.empty() && (c.value[0] & 1);
    const std::uint64_t record = out_.record_of[c.first];
    for (const auto& m : out_.misread) {
      if (m.record == record)
        return refuse(op, "a bit that is misread unevenly is asked for again");
    }
    if (!wanted) one_qubit(*action, q);
    if (record == CliffordProgram::kNoRecord) return true;  // the bit is 0
    const StabTarget targets[2] = {
        circuit::record_target(static_cast<std::uint32_t>(num_records_ - record)),
        circuit::qubit_target(q)};
    const GateId id = x && z ? GateId::kCy : x ? GateId::kCx : GateId::kCz;
    out_.circuit.append(StabKind::kGate, id, targets, {});
    return true;
  }

  const Program& program_;
  const circuit::Circuit& circuit_;
  std::span<const circuit::ReadoutError> readout_;
  std::vector<std::vector<double>> errors_;  // of each channel; empty: no Pauli errors
  std::string& why_not_;
  CliffordProgram out_;
  std::uint64_t num_records_ = 0;
};

}  // namespace

CliffordProgram of_steered(std::shared_ptr<const SteeredClifford> steered) {
  CliffordProgram clifford;
  clifford.record_of.resize(steered->num_bits());
  std::iota(clifford.record_of.begin(), clifford.record_of.end(), std::uint64_t{0});
  clifford.steered = std::move(steered);
  return clifford;
}

std::optional<CliffordProgram> to_clifford(const Program& program,
                                           std::span<const circuit::ReadoutError> readout,
                                           std::string* why_not, const MagicLimits& limits) {
  auto clifford = Translator(program, readout, *why_not).run();
  if (!clifford && is_steered(program)) {
    auto steered = SteeredClifford::make(program, readout, why_not);
    if (!steered) return std::nullopt;
    return of_steered(std::move(steered));
  }
  if (!clifford) return clifford;
  const stabilizer::StabProgram lowered =
      stabilizer::lower(clifford->circuit, "<circuit>", stabilizer::Rotations::kKeep);
  if (lowered.num_rotations == 0) return clifford;
  if (lowered.num_rotations > limits.most_rotations) {
    *why_not = "it has more than " + std::to_string(limits.most_rotations) +
               " rotations beyond Clifford gates";
    return std::nullopt;
  }
  try {
    clifford->amplitude_steps =
        1 + stabilizer::compile_near_clifford(lowered, stabilizer::FrameOutput::kRecords,
                                              limits.most_active)
                .amplitude_steps();
  } catch (const Error& e) {
    if (e.code() != ExitCode::kResources) throw;
    *why_not = e.what();
    return std::nullopt;
  }
  return clifford;
}

}  // namespace tilewave::simulate
