#include "tilewave/circuit/density.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewave::circuit {
namespace {

bool same(const Matrix& a, const Matrix& b) {
  return std::ranges::equal(a, b, [](cplx x, cplx y) { return std::abs(x - y) <= 1e-15; });
}

GateId find_conjugate(GateId gate) {
  const GateInfo& info = gate_info(gate);
  const Matrix wanted = conjugate(gate_matrix(gate, {}));
  if (same(wanted, gate_matrix(gate, {}))) return gate;
  for (const GateInfo& other : gate_table()) {
    if (other.num_params == 0 && other.num_targets == info.num_targets &&
        other.num_controls == info.num_controls && same(wanted, gate_matrix(other.id, {}))) {
      return other.id;
    }
  }
  return GateId::kCount;
}

}  // namespace

std::vector<Qubit> column_qubits(std::span<const Qubit> qubits, std::uint32_t n) {
  std::vector<Qubit> out(qubits.begin(), qubits.end());
  for (Qubit& q : out) q += n;
  return out;
}

std::optional<std::pair<GateId, std::vector<double>>> conjugate_gate(
    GateId gate, std::span<const double> params) {
  if (params.empty()) {
    static const auto kConjugates = [] {
      std::array<GateId, static_cast<std::size_t>(GateId::kCount)> all{};
      for (const GateInfo& g : gate_table()) {
        all[static_cast<std::size_t>(g.id)] =
            g.num_params == 0 ? find_conjugate(g.id) : GateId::kCount;
      }
      return all;
    }();
    const GateId other = kConjugates[static_cast<std::size_t>(gate)];
    if (other == GateId::kCount) return std::nullopt;
    return std::pair(other, std::vector<double>{});
  }
  // with some of its angles negated
  const Matrix wanted = conjugate(gate_matrix(gate, params));
  for (unsigned signs = 0; signs < 1u << params.size(); ++signs) {
    std::vector<double> angles(params.begin(), params.end());
    for (std::size_t k = 0; k < angles.size(); ++k) {
      if (signs >> k & 1) angles[k] = -angles[k];
    }
    if (same(wanted, gate_matrix(gate, angles))) return std::pair(gate, std::move(angles));
  }
  return std::nullopt;
}

Op& add_column_gate(Circuit& circuit, std::uint32_t n, GateId gate, std::span<const Qubit> controls,
                    std::uint64_t control_values, std::span<const Qubit> qubits,
                    std::span<const double> params) {
  const auto c = column_qubits(controls, n), q = column_qubits(qubits, n);
  if (const auto other = conjugate_gate(gate, params)) {
    return circuit.add_controlled_gate(other->first, c, control_values, q, other->second);
  }
  const auto own = static_cast<std::size_t>(gate_info(gate).num_controls);
  std::vector<Qubit> all(c);
  all.insert(all.end(), q.begin(), q.begin() + static_cast<std::ptrdiff_t>(own));
  const std::uint64_t ones = c.size() < 64 ? ~std::uint64_t{0} << c.size() : 0;
  return circuit.add_matrix(all, control_values | ones, std::span(q).subspan(own),
                            conjugate(gate_matrix(gate, params)));
}

Op& add_column_matrix(Circuit& circuit, std::uint32_t n, std::span<const Qubit> controls,
                      std::uint64_t control_values, std::span<const Qubit> targets, Matrix m) {
  return circuit.add_matrix(column_qubits(controls, n), control_values, column_qubits(targets, n),
                            conjugate(std::move(m)));
}

void add_superoperator(Circuit& circuit, std::uint32_t n, std::span<const Qubit> targets,
                       Matrix s) {
  const std::vector<Qubit> rows(targets.begin(), targets.end());
  const std::vector<Qubit> columns = column_qubits(targets, n);
  if (rows.size() != 2 || !is_in_blocks(s)) {
    std::vector<Qubit> both(rows);
    both.insert(both.end(), columns.begin(), columns.end());
    circuit.add_matrix({}, ~std::uint64_t{0}, both, std::move(s));
    return;
  }
  const auto fold = [&] {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      circuit.add_gate(GateId::kCx, {rows[j], columns[j]});
    }
  };
  fold();
  for (std::size_t x = 0; x < 4; ++x) {
    Matrix m(16);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j)
        m[i * 4 + j] = s[(i + (i ^ x) * 4) * 16 + j + (j ^ x) * 4];
    }
    circuit.add_matrix(columns, x, rows, std::move(m));
  }
  fold();
}

}  // namespace tilewave::circuit
