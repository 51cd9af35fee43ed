// See lower.h.
#include "tilewave/parametric/plan/lower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::parametric {
namespace {

using circuit::AffineAngle;
using circuit::Circuit;
using circuit::GateId;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

constexpr int kMostWires = 50;
constexpr double kPi = std::numbers::pi;

AffineAngle scaled(const AffineAngle& angle, double weight, double plus = 0) {
  AffineAngle sum{plus};
  circuit::add_scaled(sum, angle, weight);
  return sum;
}

class Lowering {
 public:
  explicit Lowering(const Circuit& circuit) : circuit_(circuit) {
    out_.num_wires = static_cast<int>(circuit.num_qubits());
    if (out_.num_wires > kMostWires)
      throw Error(ExitCode::kResources, "a state of " + std::to_string(out_.num_wires) +
                                            " qubits fits no memory: use at most 50");
    out_.parameters.assign(circuit.parameters().begin(), circuit.parameters().end());
    out_.wire_of_qubit.resize(circuit.num_qubits());
    std::iota(out_.wire_of_qubit.begin(), out_.wire_of_qubit.end(), 0);
  }

  Actions run() {
    std::vector<bool> measured(circuit_.num_qubits());
    for (const Op& op : circuit_.ops()) {
      if (op.kind == OpKind::kBarrier) continue;
      for (const Qubit q : circuit_.qubits(op)) {
        if (measured[q]) refuse(op, "an operation after a measurement of its qubit");
      }
      if (op.condition >= 0) refuse(op, "a condition");
      switch (op.kind) {
        case OpKind::kGate:
          gate(op);
          break;
        case OpKind::kMatrix:
          need_unitary(op);
          fixed(op, circuit_.matrix(op));
          break;
        case OpKind::kMeasure:
          measured[circuit_.qubits(op)[0]] = true;
          break;
        case OpKind::kReset:
          refuse(op, "a reset");
        case OpKind::kChannel:
          refuse(op,
                 "a noise channel: take derivatives of noisy circuits by shifted angles (in Python "
                 "tilewave.shift_gradient)");
        default:
          refuse(op, "control flow, or an angle that depends on a measurement");
      }
    }
    return std::move(out_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Op& op, const Parts&... what) const {
    const auto index = &op - circuit_.ops().data();
    fail(ExitCode::kInput,
         "a circuit that is compiled as a function of its parameters must be unitary: operation ",
         index, op.line ? concat(" (line ", op.line, ")") : "", " is ", what...);
  }

  void need_unitary(const Op& op) const {
    const auto m = circuit_.matrix(op);
    const std::size_t dim = std::size_t{1} << op.num_targets;
    for (std::size_t a = 0; a < dim; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        cplx dot = 0;
        for (std::size_t k = 0; k < dim; ++k) dot += std::conj(m[k * dim + a]) * m[k * dim + b];
        if (std::abs(dot - (a == b ? 1.0 : 0.0)) > 1e-6) refuse(op, "a matrix that is not unitary");
      }
    }
  }

  // ---- where: wires of the operation at hand ----
  struct Where {
    std::uint64_t mask = 0, value = 0;
    std::vector<int> targets;
  };
  Where where(const Op& op) const {
    Where w;
    const auto controls = circuit_.controls(op);
    for (std::size_t k = 0; k < controls.size(); ++k) {
      const int wire = out_.wire_of_qubit[controls[k]];
      w.mask |= bit(wire);
      if (op.control_values >> k & 1) w.value |= bit(wire);
    }
    for (const Qubit q : circuit_.targets(op)) w.targets.push_back(out_.wire_of_qubit[q]);
    return w;
  }

  AffineAngle angle(const Op& op, std::size_t k) const {
    const AffineAngle* affine = circuit_.affine(op, k);
    return affine ? *affine : AffineAngle{circuit_.params(op)[k]};
  }

  // ---- actions ----
  std::uint32_t keep(AffineAngle angle) {
    out_.angles.push_back(std::move(angle));
    return static_cast<std::uint32_t>(out_.angles.size() - 1);
  }

  void rotate(const Where& w, int target, const AffineAngle& angle) {
    if (angle.terms.empty() && angle.constant == 0) return;
    out_.actions.push_back({ActionKind::kRotate, w.mask, w.value, bit(target), keep(angle)});
  }

  // On the controls and the given wires.
  void phase(const Where& w, std::uint64_t on, const AffineAngle& angle) {
    if (angle.terms.empty() && angle.constant == 0) return;
    // (1 - b) for every control that acts on 0: monomials over all subsets of those
    const std::uint64_t zeros = w.mask & ~w.value;
    const int num_zeros = std::popcount(zeros);
    if (num_zeros > 12) {  // more terms than flips are worth
      for_each_bit(zeros, [&](int wire) { flip({}, wire); });
      phase({w.mask, w.mask, {}}, on, angle);
      for_each_bit(zeros, [&](int wire) { flip({}, wire); });
      return;
    }
    for (std::uint64_t k = 0; k < bit(num_zeros); ++k) {
      const double sign = std::popcount(k) & 1 ? -1 : 1;
      Action a{ActionKind::kPhase};
      a.mask = (w.mask & w.value) | on | deposit_bits(k, zeros);
      if (a.mask == 0) {
        circuit::add_scaled(out_.global_phase, angle, sign);
        continue;
      }
      a.angle = keep(scaled(angle, sign));
      out_.actions.push_back(a);
    }
  }
  void phase(std::uint64_t on, double angle) { phase({}, on, AffineAngle{angle}); }

  void flip(const Where& w, int target) {
    out_.actions.push_back({ActionKind::kFlip, w.mask, w.value, bit(target)});
  }
  void cx(int control, int target) { flip({bit(control), bit(control), {}}, target); }

  void rx(const Where& w, int target, const AffineAngle& angle) {
    phase(bit(target), kPi / 2);
    rotate(w, target, angle);
    phase(bit(target), -kPi / 2);
  }

  // exp(-i theta/2 (cos(phi) X + sin(phi) Y))
  void r(const Where& w, int target, const AffineAngle& theta, const AffineAngle& phi) {
    phase({}, bit(target), scaled(phi, -1, kPi / 2));
    rotate(w, target, theta);
    phase({}, bit(target), scaled(phi, 1, -kPi / 2));
  }

  void euler(const Where& w, int target, const AffineAngle& theta, const AffineAngle& phi,
             const AffineAngle& lambda) {
    phase(w, bit(target), lambda);
    rotate(w, target, theta);
    phase(w, bit(target), phi);
  }

  void rxx(const Where& w, const AffineAngle& angle) {
    cx(w.targets[0], w.targets[1]);
    rx(w, w.targets[0], angle);
    cx(w.targets[0], w.targets[1]);
  }

  // A rotation between 01 and 10 (where their sum is 1), or 00 and 11.
  void hop(Where w, int sum, const AffineAngle& theta, const AffineAngle& phi) {
    const int a = w.targets[0], b = w.targets[1];
    cx(b, a);
    w.mask |= bit(a);
    if (sum) w.value |= bit(a);
    r(w, b, theta, phi);
    cx(b, a);
  }

  static Where under(Where w, int wire) {
    w.mask |= bit(wire);
    w.value |= bit(wire);
    return w;
  }

  void gate(const Op& op) {
    const Where w = where(op);
    const int t = w.targets.empty() ? 0 : w.targets[0];
    const std::uint64_t all = w.targets.size() > 1 ? bit(t) | bit(w.targets[1]) : bit(t);
    switch (op.gate) {
      case GateId::kId:
      case GateId::kU0:
      case GateId::kIi:
        return;
      case GateId::kX:
      case GateId::kCx:
      case GateId::kCcx:
      case GateId::kC3x:
      case GateId::kC4x:
        return flip(w, t);
      case GateId::kGlobalPhase:
        return phase(w, 0, angle(op, 0));
      case GateId::kP:
      case GateId::kCp:
      case GateId::kMcphase2:
        return phase(w, all, angle(op, 0));
      case GateId::kRz:
      case GateId::kCrz:
        phase(w, 0, scaled(angle(op, 0), -0.5));
        return phase(w, all, angle(op, 0));
      case GateId::kRx:
      case GateId::kCrx:
        return rx(w, t, angle(op, 0));
      case GateId::kRy:
      case GateId::kCry:
        return rotate(w, t, angle(op, 0));
      case GateId::kU2:
        return euler(w, t, AffineAngle{kPi / 2}, angle(op, 0), angle(op, 1));
      case GateId::kU3:
      case GateId::kU:
      case GateId::kCu3:
        return euler(w, t, angle(op, 0), angle(op, 1), angle(op, 2));
      case GateId::kCu:
        euler(w, t, angle(op, 0), angle(op, 1), angle(op, 2));
        return phase(w, 0, angle(op, 3));
      case GateId::kR:
        return r(w, t, angle(op, 0), angle(op, 1));
      case GateId::kRzz:
        return rzz(w, angle(op, 0));
      case GateId::kRxx:
        return rxx(w, angle(op, 0));
      case GateId::kRyy:
        phase(bit(t), -kPi / 2);
        phase(bit(w.targets[1]), -kPi / 2);
        rxx(w, angle(op, 0));
        phase(bit(t), kPi / 2);
        return phase(bit(w.targets[1]), kPi / 2);
      case GateId::kRzx:
        phase(all, kPi);
        rx(w, w.targets[1], angle(op, 0));
        return phase(all, kPi);
      case GateId::kXxPlusYy:
        return hop(w, 1, angle(op, 0), angle(op, 1));
      case GateId::kXxMinusYy:
        return hop(w, 0, angle(op, 0), angle(op, 1));
      case GateId::kFsim:
        hop(w, 1, scaled(angle(op, 0), 2), AffineAngle{});
        return phase(w, all, scaled(angle(op, 1), -1));
      case GateId::kSwap:
      case GateId::kCswap:
        return swap(op, w);
      default:
        break;
    }
    TW_CHECK(circuit::gate_info(op.gate).num_params == 0, "every gate with angles is written out");
    fixed(op, circuit_.matrix(op));
  }

  void rzz(const Where& w, const AffineAngle& angle) {
    const int a = w.targets[0], b = w.targets[1];
    phase(w, 0, scaled(angle, -0.5));
    phase(w, bit(a), angle);
    phase(w, bit(b), angle);
    phase(w, bit(a) | bit(b), scaled(angle, -2));
  }

  void swap(const Op& op, const Where& w) {
    const int a = w.targets[0], b = w.targets[1];
    if (w.mask == 0) {
      const auto q = circuit_.targets(op);
      std::swap(out_.wire_of_qubit[q[0]], out_.wire_of_qubit[q[1]]);
      return;
    }
    cx(b, a);
    flip(under(w, a), b);
    cx(b, a);
  }

  // A matrix of numbers: of one wire as phases and a rotation.
  void fixed(const Op& op, const std::vector<cplx>& m) {
    const Where w = where(op);
    if (w.targets.size() > 8)
      refuse(op, "a matrix on ", w.targets.size(), " qubits, of which 8 are possible");
    const bool is_diagonal = [&] {
      const std::size_t dim = std::size_t{1} << w.targets.size();
      for (std::size_t k = 0; k < m.size(); ++k) {
        if (k / dim != k % dim && m[k] != 0.0) return false;
      }
      return true;
    }();
    if (w.targets.size() == 1) return fixed_one(w, m);
    if (is_diagonal && w.targets.size() <= 6) return fixed_diagonal(w, m);
    Action a{ActionKind::kMatrix, w.mask, w.value};
    for (const int t : w.targets) a.moved |= bit(t);
    a.matrix = static_cast<std::uint32_t>(out_.matrices.size());
    out_.matrices.push_back({w.targets, m});
    out_.actions.push_back(a);
  }

  // e^{ig} diag(1, e^{ip}) ry(t) diag(1, e^{il})
  void fixed_one(const Where& w, const std::vector<cplx>& m) {
    const int t = w.targets[0];
    const double c = std::abs(m[0]), s = std::abs(m[2]);
    const double theta = 2 * std::atan2(s, c);
    double g, p, l;
    if (s == 0) {
      g = std::arg(m[0]), p = 0, l = std::arg(m[3]) - g;
    } else if (c == 0) {  // flips, and phases
      g = std::arg(-m[1]), l = 0, p = std::arg(m[2]) - g;
      if (p == kPi || p == -kPi) {  // x, up to a phase: no rotation is needed
        phase(w, 0, AffineAngle{g + kPi});
        return flip(w, t);
      }
    } else {
      g = std::arg(m[0]), p = std::arg(m[2]) - g;
      // By the larger elements: where s is rounding, so is its phase, and p + l must not have it.
      l = s < c ? std::arg(m[3]) - g - p : std::arg(-m[1]) - g;
    }
    phase(w, bit(t), AffineAngle{l});
    rotate(w, t, AffineAngle{theta});
    phase(w, bit(t), AffineAngle{p});
    phase(w, 0, AffineAngle{g});
  }

  void fixed_diagonal(const Where& w, const std::vector<cplx>& m) {
    const std::size_t dim = std::size_t{1} << w.targets.size();
    std::vector<double> angles(dim);  // of basis states, then of products of bits
    for (std::size_t k = 0; k < dim; ++k) angles[k] = std::arg(m[k * dim + k]);
    for (std::size_t b = 1; b < dim; b <<= 1) {
      for (std::size_t k = 0; k < dim; ++k) {
        if (k & b) angles[k] -= angles[k ^ b];
      }
    }
    for (std::size_t k = 0; k < dim; ++k) {
      std::uint64_t on = 0;
      for (std::size_t j = 0; j < w.targets.size(); ++j) {
        if (k >> j & 1) on |= bit(w.targets[j]);
      }
      phase(w, on, AffineAngle{angles[k]});
    }
  }

  const Circuit& circuit_;
  Actions out_;
};

}  // namespace

Actions lower(const Circuit& circuit) { return Lowering(circuit).run(); }

double most_value(const Actions& actions) {
  constexpr double kMost = std::numeric_limits<double>::max();
  double most = kMost;
  const auto keep_finite = [&](const AffineAngle& angle) {
    double weight = 0;
    for (const circuit::AffineTerm& t : angle.terms) weight += std::abs(t.coefficient);
    // a half for the rounding of sums
    if (weight > 0) most = std::min(most, (kMost / 2 - std::abs(angle.constant)) / weight);
  };
  for (const AffineAngle& angle : actions.angles) keep_finite(angle);
  keep_finite(actions.global_phase);
  return std::max(most, 0.0);
}

void need_angles(const Actions& actions, std::span<const double> values) {
  circuit::need_values(actions.parameters, values);
  for (const AffineAngle& angle : actions.angles) circuit::need_finite_angle(angle.value(values));
  circuit::need_finite_angle(actions.global_phase.value(values));
}

}  // namespace tilewave::parametric
