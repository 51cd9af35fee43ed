#include "tilewave/circuit/inverse.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/circuit/channel.h"
#include "tilewave/circuit/listing.h"

namespace tilewave::circuit {
namespace {

using G = GateId;

// Gates whose inverse is another gate (or themselves) with the same qubits and no parameters.
constexpr std::pair<G, G> kPairs[] = {
    {G::kS, G::kSdg},           {G::kT, G::kTdg},           {G::kSx, G::kSxdg},
    {G::kSy, G::kSydg},         {G::kCxyz, G::kCzyx},       {G::kCnxyz, G::kCzynx},
    {G::kCxnyz, G::kCznyx},     {G::kCxynz, G::kCnzyx},     {G::kCs, G::kCsdg},
    {G::kIswap, G::kIswapdg},   {G::kSqrtXx, G::kSqrtXxdg}, {G::kSqrtYy, G::kSqrtYydg},
    {G::kSqrtZz, G::kSqrtZzdg}, {G::kCxSwap, G::kSwapCx}};
constexpr G kSelfInverse[] = {
    G::kId,   G::kX,   G::kY,   G::kZ,   G::kH,   G::kHxy, G::kHyz, G::kHnxy, G::kHnxz,   G::kHnyz,
    G::kU0,   G::kCx,  G::kCy,  G::kCz,  G::kCh,  G::kCcx, G::kCcz, G::kC3x,  G::kC4x,    G::kCswap,
    G::kSwap, G::kEcr, G::kXcx, G::kXcy, G::kXcz, G::kYcx, G::kYcy, G::kYcz,  G::kCzSwap, G::kRccx};
// Rotations: the first angle (or all of them) changes its sign.
constexpr G kNegateAll[] = {G::kGlobalPhase, G::kP,   G::kRx,  G::kRy,   G::kRz,
                            G::kCp,          G::kCrx, G::kCry, G::kCrz,  G::kRxx,
                            G::kRyy,         G::kRzz, G::kRzx, G::kFsim, G::kMcphase2};
constexpr G kNegateFirst[] = {G::kR, G::kXxPlusYy, G::kXxMinusYy};
constexpr G kEuler[] = {G::kU3, G::kU, G::kCu3, G::kCu};  // (theta, phi, lambda[, gamma])

template <std::size_t N>
bool contains(const G (&list)[N], G gate) {
  return std::find(std::begin(list), std::end(list), gate) != std::end(list);
}

// The inverse as a row of the table; `params` are changed in place. None when there is no such row.
std::optional<G> inverse_row(G gate, std::vector<double>& params) {
  for (const auto& [a, b] : kPairs) {
    if (gate == a) return b;
    if (gate == b) return a;
  }
  if (contains(kSelfInverse, gate)) return gate;
  if (contains(kNegateAll, gate)) {
    for (double& p : params) p = -p;
    return gate;
  }
  if (contains(kNegateFirst, gate)) {
    params[0] = -params[0];
    return gate;
  }
  if (contains(kEuler, gate)) {
    std::swap(params[1], params[2]);
    for (double& p : params) p = -p;
    return gate;
  }
  if (gate == G::kU2) {
    params = {-params[1] - std::numbers::pi, -params[0] + std::numbers::pi};
    return gate;
  }
  return std::nullopt;
}

Matrix dagger(const Matrix& m) {
  if (!(distance_from_trace_preserving({m}) <= 1e-9))
    throw Error(ExitCode::kInput, "a matrix of the circuit is not unitary: it has no inverse");
  return adjoint(m);
}

// The constants of a row's angles, and by what each grows with each of the gate's: found by asking.
struct AngleMap {
  std::optional<G> row;
  std::vector<double> constants;
  std::vector<std::vector<double>> weights;

  AngleMap(G gate, std::size_t n) : constants(n), weights(n, std::vector<double>(n)) {
    row = inverse_row(gate, constants);
    for (std::size_t k = 0; row && k < n; ++k) {
      std::vector<double> unit(n);
      unit[k] = 1;
      inverse_row(gate, unit);
      for (std::size_t j = 0; j < n; ++j) weights[j][k] = unit[j] - constants[j];
    }
  }
};

// Controls of a gate beyond those of its row in the table, and the qubits that the row is of.
std::span<const Qubit> extra_controls(const Circuit& circuit, const Op& op) {
  return circuit.qubits(op).first(num_extra_controls(op));
}
std::span<const Qubit> gate_qubits(const Circuit& circuit, const Op& op) {
  return circuit.qubits(op).subspan(num_extra_controls(op));
}

// sum_k weights[k] angles[k] + constant
ClassicalExpr affine(std::span<const ClassicalExpr> angles, std::span<const double> weights,
                     double constant) {
  constexpr auto kFloat = ClassicalType::kFloat;
  ClassicalExpr e;
  const auto number = [&](double d) {
    return e.constant(kFloat, 64, std::bit_cast<std::uint64_t>(d));
  };
  std::int32_t sum = number(constant);
  for (std::size_t k = 0; k < angles.size(); ++k) {
    if (weights[k] == 0) continue;
    const std::int32_t angle = e.append(angles[k]), weight = number(weights[k]);
    const std::int32_t part = e.add({ClassicalOp::kMul, kFloat, 64, angle, weight, 0});
    sum = e.add({ClassicalOp::kAdd, kFloat, 64, sum, part, 0});
  }
  return e;
}

// The angles of an inverse are sums of the gate's with signs, and constants.
void append_inverse_at_run(const Circuit& from, const Op& op, Circuit& to) {
  const auto angles = from.angles(op);
  const AngleMap map(op.gate, angles.size());
  if (!map.row) {
    throw Error(ExitCode::kInput, "the inverse of gate " + std::string(gate_info(op.gate).name) +
                                      " with angles that depend on measurements is not known");
  }
  std::vector<ClassicalExpr> inverse;
  for (std::size_t j = 0; j < angles.size(); ++j)
    inverse.push_back(affine(angles, map.weights[j], map.constants[j]));
  to.add_runtime_gate(*map.row, extra_controls(from, op), op.control_values, gate_qubits(from, op),
                      std::move(inverse), op.conjugate);
}

// The same of a gate whose angles hold parameters.
bool append_affine_inverse(const Circuit& from, const Op& op, Circuit& to) {
  const auto params = from.params(op);
  const std::size_t n = params.size();
  std::vector<AffineAngle> angles;
  bool any = false;
  for (std::size_t k = 0; k < n; ++k) {
    const AffineAngle* affine = from.affine(op, k);
    any |= affine != nullptr;
    angles.push_back(affine ? *affine : AffineAngle{params[k]});
    for (AffineTerm& t : angles.back().terms)
      t.parameter = to.add_parameter(std::string(from.parameters()[t.parameter]));
  }
  if (!any) return false;
  const AngleMap map(op.gate, n);
  if (!map.row) return false;
  to.add_controlled_gate(*map.row, extra_controls(from, op), op.control_values,
                         gate_qubits(from, op), map.constants);
  for (std::size_t j = 0; j < n; ++j) {
    AffineAngle inverse{map.constants[j]};
    for (std::size_t k = 0; k < n; ++k) add_scaled(inverse, angles[k], map.weights[j][k]);
    to.set_affine(to.ops().size() - 1, j, std::move(inverse));
  }
  return true;
}

void append_inverse(const Circuit& from, const Op& op, Circuit& to) {
  if (op.kind == OpKind::kBarrier) return to.add_barrier();
  if (op.kind == OpKind::kRuntimeGate && op.condition < 0)
    return append_inverse_at_run(from, op, to);
  if (op.condition >= 0 || (op.kind != OpKind::kGate && op.kind != OpKind::kMatrix)) {
    throw Error(ExitCode::kInput,
                "a circuit that measures, resets or branches has no inverse: remove operation " +
                    std::to_string(&op - from.ops().data()));
  }
  if (op.kind == OpKind::kGate && from.has_affine() && append_affine_inverse(from, op, to)) return;
  if (op.kind == OpKind::kGate) {
    const auto given = from.params(op);
    std::vector<double> params(given.begin(), given.end());
    if (const auto row = inverse_row(op.gate, params)) {
      to.add_controlled_gate(*row, extra_controls(from, op), op.control_values,
                             gate_qubits(from, op), params);
      return;
    }
  }
  to.add_matrix(from.controls(op), op.control_values, from.targets(op), dagger(from.matrix(op)));
}

// Without operations: their bits and parameters, and what is said of them.
Circuit without_operations(const Circuit& circuit) {
  Circuit copy;
  for (const Register& r : circuit.qregs()) copy.add_qreg(r.name, r.size);
  for (const Register& r : circuit.cregs()) copy.add_creg(r.name, r.size);
  copy.add_qubits(circuit.num_qubits() - copy.num_qubits());
  copy.add_clbits(circuit.num_clbits() - copy.num_clbits());
  for (const std::string& name : circuit.parameters()) copy.add_parameter(name);
  for (const std::string& name : circuit.replaced()) copy.add_replaced(name);
  for (const std::string& note : circuit.notes()) copy.add_note(note);
  return copy;
}

void append_inverse(const Circuit& from, Circuit& to) {
  const auto ops = from.ops();
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) append_inverse(from, *op, to);
}

}  // namespace

Circuit inverse(const Circuit& circuit) {
  Circuit out = without_operations(circuit);
  append_inverse(circuit, out);
  return out;
}

Circuit mirror(const Circuit& circuit) {
  Circuit out = circuit;
  out.add_barrier();
  append_inverse(circuit, out);
  return out;
}

}  // namespace tilewave::circuit
