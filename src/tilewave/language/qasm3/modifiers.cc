// Powers of a unitary U by eigenvectors of the Hermitian cos(a) (U + U^+)/2 + sin(a) (U - U^+)/2i,
// which has those of U unless a is unlucky; Jacobi rotations, dimension at most 64.
#include "tilewave/language/qasm3/modifiers.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"
#include "tilewave/circuit/inverse.h"
#include "tilewave/circuit/listing.h"

namespace tilewave::language::qasm3 {
namespace {

using circuit::Circuit;
using circuit::GateId;
using circuit::Op;
using circuit::OpKind;
using circuit::Qubit;

constexpr std::uint32_t kMaxMatrixQubits = 6;

struct Matrix {
  std::size_t dim = 0;
  std::vector<cplx> m;  // row-major
  cplx& at(std::size_t row, std::size_t col) { return m[row * dim + col]; }
  const cplx& at(std::size_t row, std::size_t col) const { return m[row * dim + col]; }
};

Matrix identity(std::size_t dim) {
  Matrix out{dim, std::vector<cplx>(dim * dim)};
  for (std::size_t k = 0; k < dim; ++k) out.at(k, k) = 1;
  return out;
}

// The matrix of a circuit of gates; bit k of an index is qubit k.
Matrix matrix_of(const Circuit& c) {
  Matrix total = identity(std::size_t{1} << c.num_qubits());
  for (const Op& op : c.ops()) {
    if (op.kind == OpKind::kBarrier) continue;
    const std::vector<cplx> m = c.matrix(op);
    const auto targets = c.targets(op), controls = c.controls(op);
    const std::size_t dim = std::size_t{1} << targets.size();
    std::uint64_t target_mask = 0, control_mask = 0, control_values = 0;
    for (const Qubit q : targets) target_mask |= bit(static_cast<int>(q));
    for (std::size_t k = 0; k < controls.size(); ++k) {
      control_mask |= bit(static_cast<int>(controls[k]));
      control_values |= (op.control_values >> k & 1) << controls[k];
    }
    std::vector<cplx> in(dim);
    for (std::size_t base = 0; base < total.dim; ++base) {
      if (base & target_mask || (base & control_mask) != control_values) continue;
      const auto place = [&](std::size_t k) {
        std::size_t row = base;
        for (std::size_t j = 0; j < targets.size(); ++j) row |= (k >> j & 1) << targets[j];
        return row;
      };
      for (std::size_t col = 0; col < total.dim; ++col) {
        for (std::size_t k = 0; k < dim; ++k) in[k] = total.at(place(k), col);
        for (std::size_t k = 0; k < dim; ++k) {
          cplx sum = 0;
          for (std::size_t j = 0; j < dim; ++j) sum += m[k * dim + j] * in[j];
          total.at(place(k), col) = sum;
        }
      }
    }
  }
  return total;
}

// Eigenvectors of a Hermitian matrix, as columns.
Matrix eigenvectors(Matrix h) {
  Matrix v = identity(h.dim);
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < h.dim; ++p) {
      for (std::size_t q = p + 1; q < h.dim; ++q) {
        const double r = std::abs(h.at(p, q));
        off += r * r;
        if (r < 1e-300) continue;
        const cplx e = h.at(p, q) / r;
        const double tau = (h.at(q, q).real() - h.at(p, p).real()) / (2 * r);
        const double t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const double c = 1 / std::sqrt(1 + t * t), s = t * c;
        for (Matrix* m : {&h, &v}) {
          for (std::size_t k = 0; k < h.dim; ++k) {
            const cplx a = m->at(k, p), b = m->at(k, q);
            m->at(k, p) = c * a - s * std::conj(e) * b;
            m->at(k, q) = s * e * a + c * b;
          }
        }
        for (std::size_t k = 0; k < h.dim; ++k) {
          const cplx a = h.at(p, k), b = h.at(q, k);
          h.at(p, k) = c * a - s * e * b;
          h.at(q, k) = s * std::conj(e) * a + c * b;
        }
      }
    }
    if (off < 1e-30) break;
  }
  return v;
}

// V f(V^+ U V) V^+ when V^+ U V is diagonal.
std::optional<std::vector<cplx>> power_with(const Matrix& u, const Matrix& v, double k) {
  const std::size_t n = u.dim;
  Matrix uv{n, std::vector<cplx>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < n; ++l) uv.at(i, j) += u.at(i, l) * v.at(l, j);
    }
  }
  Matrix out{n, std::vector<cplx>(n * n)};
  for (std::size_t j = 0; j < n; ++j) {
    cplx lambda = 0;
    for (std::size_t i = 0; i < n; ++i) lambda += std::conj(v.at(i, j)) * uv.at(i, j);
    for (std::size_t i = 0; i < n; ++i) {
      if (std::abs(uv.at(i, j) - lambda * v.at(i, j)) > 1e-12) return std::nullopt;
    }
    double angle = std::arg(lambda);
    if (angle < -std::numbers::pi + 1e-9) angle = std::numbers::pi;
    const cplx f = std::polar(1.0, angle * k);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t l = 0; l < n; ++l) {
        out.at(i, l) += v.at(i, j) * f * std::conj(v.at(l, j));
      }
    }
  }
  return out.m;
}

std::vector<cplx> unitary_power(const Matrix& u, double k) {
  for (const double a : {0.7390851332, 1.9021605831, 2.5029078751, 0.2614972128}) {
    Matrix h{u.dim, std::vector<cplx>(u.m.size())};
    for (std::size_t i = 0; i < u.dim; ++i) {
      for (std::size_t j = 0; j < u.dim; ++j) {
        const cplx x = u.at(i, j), y = std::conj(u.at(j, i));
        h.at(i, j) = std::cos(a) * (x + y) / 2.0 + std::sin(a) * (x - y) / cplx(0, 2);
      }
    }
    if (auto out = power_with(u, eigenvectors(std::move(h)), k)) return *out;
  }
  throw Error(ExitCode::kInput, "pow: the gate is not unitary within 1e-12");
}

void append_all(const Circuit& from, Circuit& to) {
  std::vector<Qubit> qubits(from.num_qubits());
  for (std::uint32_t q = 0; q < from.num_qubits(); ++q) qubits[q] = q;
  append_mapped(from, qubits, to);
}

// The gate under `count` more controls, as a gate of the table where it has one.
void add_under(GateId gate, std::uint32_t count, std::span<const Qubit> qubits,
               std::uint64_t values, std::span<const double> params, Circuit& out) {
  const int controls = static_cast<int>(count) + circuit::gate_info(gate).num_controls;
  const bool plain = (~values & low_mask(controls)) == 0;
  if (const auto* row = plain ? circuit::find_controlled(gate, static_cast<int>(count)) : nullptr) {
    out.add_gate(row->id, qubits, params);
  } else {
    out.add_controlled_gate(gate, qubits.first(count), values, qubits.subspan(count), params);
  }
}

// The gate under controls, which precede its own qubits; a phase becomes one of the last control.
void add_controlled_at_run(const Circuit& inner, const Op& op, std::span<const Qubit> qubits,
                           std::uint64_t values, Circuit& out) {
  const auto span = inner.angles(op);
  const std::vector<circuit::ClassicalExpr> angles(span.begin(), span.end());
  if (op.gate != GateId::kGlobalPhase) {
    const auto own =
        static_cast<std::size_t>(circuit::gate_info(op.gate).num_controls) + op.num_targets;
    const std::size_t extra = qubits.size() - own;
    out.add_runtime_gate(op.gate, qubits.first(extra), values, qubits.subspan(extra), angles);
    return;
  }
  const std::size_t last = qubits.size() - 1;
  const bool on_zero = !(values >> last & 1);
  if (on_zero) out.add_gate(GateId::kX, qubits.subspan(last));
  out.add_runtime_gate(GateId::kP, qubits.first(last), values, qubits.subspan(last), angles);
  if (on_zero) out.add_gate(GateId::kX, qubits.subspan(last));
}

bool has_runtime_gates(const Circuit& c) {
  return std::any_of(c.ops().begin(), c.ops().end(),
                     [](const Op& op) { return op.kind == OpKind::kRuntimeGate; });
}

}  // namespace

void append_mapped(const Circuit& from, std::span<const Qubit> qubits, Circuit& to) {
  std::vector<Qubit> mapped;
  for (const Op& op : from.ops()) {
    if (op.kind == OpKind::kBarrier) {
      to.add_barrier();
      continue;
    }
    mapped.clear();
    for (const Qubit q : from.qubits(op)) mapped.push_back(qubits[q]);
    const std::span<const Qubit> all(mapped);
    if (op.kind == OpKind::kMatrix) {
      to.add_matrix(all.first(op.num_controls), op.control_values, all.subspan(op.num_controls),
                    from.matrix(op));
      continue;
    }
    const auto extra = circuit::num_extra_controls(op);
    if (op.kind == OpKind::kRuntimeGate) {
      const auto angles = from.angles(op);
      to.add_runtime_gate(op.gate, all.first(extra), op.control_values, all.subspan(extra),
                          {angles.begin(), angles.end()});
      continue;
    }
    to.add_controlled_gate(op.gate, all.first(extra), op.control_values, all.subspan(extra),
                           from.params(op));
  }
}

Circuit controlled(const Circuit& inner, std::uint32_t count, std::uint64_t values) {
  Circuit out(inner.num_qubits() + count, inner.num_clbits());
  for (const Op& op : inner.ops()) {
    if (op.kind == OpKind::kBarrier) {
      out.add_barrier();
      continue;
    }
    std::vector<Qubit> qubits;
    for (std::uint32_t k = 0; k < count; ++k) qubits.push_back(k);
    for (const Qubit q : inner.qubits(op)) qubits.push_back(q + count);
    const std::uint32_t num_controls = op.num_controls + count;
    if (num_controls > 64) throw Error(ExitCode::kInput, "a gate can have at most 64 controls");
    const std::uint64_t all_values = (count >= 64 ? 0 : op.control_values << count) |
                                     (values & low_mask(static_cast<int>(count)));
    const std::span<const Qubit> all(qubits);
    if (op.kind == OpKind::kMatrix) {
      out.add_matrix(all.first(num_controls), all_values, all.subspan(num_controls),
                     inner.matrix(op));
      continue;
    }
    if (op.kind == OpKind::kRuntimeGate) {
      add_controlled_at_run(inner, op, all, all_values, out);
      continue;
    }
    const auto params = inner.params(op);
    if (op.gate == GateId::kGlobalPhase) {
      // A phase where all controls agree: p on one of them under the others.
      const std::uint32_t last = num_controls - 1;
      if (all_values >> last & 1) {
        add_under(GateId::kP, last, all, all_values, params, out);
      } else {
        out.add_matrix(all.first(last), all_values, all.subspan(last),
                       {std::polar(1.0, params[0]), 0, 0, 1});
      }
      continue;
    }
    const auto own = static_cast<std::uint32_t>(circuit::gate_info(op.gate).num_controls);
    add_under(op.gate, num_controls - own, all, all_values, params, out);
  }
  return out;
}

Circuit power(const Circuit& inner, double k) {
  Circuit out(inner.num_qubits(), inner.num_clbits());
  if (k == std::floor(k)) {
    if (inner.ops().empty()) return out;
    const Circuit once = k < 0 ? circuit::inverse(inner) : inner;
    for (double done = 0; done < std::abs(k); ++done) append_all(once, out);
    return out;
  }
  if (has_runtime_gates(inner)) {
    throw Error(ExitCode::kInput,
                "pow with a fraction takes a gate whose angles are known before the circuit runs");
  }
  if (inner.ops().size() == 1 && inner.ops()[0].kind == OpKind::kGate) {
    const Op& op = inner.ops()[0];
    const Matrix m{std::size_t{1} << op.num_targets, inner.matrix(op)};
    if (op.num_targets == 0) {
      const double angle = std::remainder(inner.params(op)[0], 2 * std::numbers::pi);
      const double phase = k * (angle <= -std::numbers::pi ? -angle : angle);
      out.add_gate(GateId::kGlobalPhase, {}, {&phase, 1});
    } else {
      out.add_matrix(inner.controls(op), op.control_values, inner.targets(op), unitary_power(m, k));
    }
    return out;
  }
  if (inner.num_qubits() > kMaxMatrixQubits) {
    throw Error(ExitCode::kInput,
                "pow with a fraction takes a gate of the table, or one of at most 6 qubits");
  }
  std::vector<Qubit> all(inner.num_qubits());
  for (std::uint32_t q = 0; q < inner.num_qubits(); ++q) all[q] = q;
  out.add_matrix({}, 0, all, unitary_power(matrix_of(inner), k));
  return out;
}

}  // namespace tilewave::language::qasm3
