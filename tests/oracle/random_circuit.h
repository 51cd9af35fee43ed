// Random circuits for property tests: every row of the gate table, further controls on either
// value, matrices, and on request measurements, resets and conditions. A seed names one circuit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>

#include "tilewave/base/error.h"
#include "tilewave/base/philox.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

struct RandomCircuitOptions {
  std::uint32_t num_qubits = 4;
  std::uint32_t num_ops = 50;
  std::uint64_t seed = 0;
  bool extra_controls = true;  ///< gates under further controls that act on 0 or 1
  bool matrices = true;        ///< random unitaries on one to three targets
  std::uint32_t num_clbits = 0;
  bool measure = false;  ///< needs num_clbits > 0, as conditions do
  bool reset = false;
  bool conditions = false;             ///< on the whole register of classical bits
  std::span<const GateId> gates = {};  ///< what to draw from; all rows of the table when empty
};

/// A unitary of 2^targets rows, Haar-distributed, from (seed, stream).
/// Gram-Schmidt on the rows of a matrix of independent complex normal numbers.
inline std::vector<cplx> random_unitary(int targets, std::uint64_t seed, std::uint64_t stream) {
  const std::size_t dim = std::size_t{1} << targets;
  std::vector<cplx> m(dim * dim);
  for (std::size_t k = 0; k < m.size(); ++k) {
    const double radius = std::sqrt(-2 * std::log(1 - random_uniform(seed, stream, 2 * k)));
    const double angle = 2 * std::numbers::pi * random_uniform(seed, stream, 2 * k + 1);
    m[k] = std::polar(radius, angle);
  }
  for (std::size_t row = 0; row < dim; ++row) {
    cplx* r = m.data() + row * dim;
    for (int pass = 0; pass < 2; ++pass) {  // twice: orthogonal to rounding
      for (std::size_t other = 0; other < row; ++other) {
        const cplx* o = m.data() + other * dim;
        cplx dot = 0;
        for (std::size_t k = 0; k < dim; ++k) dot += std::conj(o[k]) * r[k];
        for (std::size_t k = 0; k < dim; ++k) r[k] -= dot * o[k];
      }
    }
    double norm = 0;
    for (std::size_t k = 0; k < dim; ++k) norm += std::norm(r[k]);
    for (std::size_t k = 0; k < dim; ++k) r[k] /= std::sqrt(norm);
  }
  return m;
}

namespace detail {

// Streams of one seed: 0 holds the structure, 1 + k the matrix of operation k.
class RandomCircuitBuilder {
 public:
  explicit RandomCircuitBuilder(const RandomCircuitOptions& o) : options_(o) {
    circuit_.add_qreg("q", o.num_qubits);
    if (o.num_clbits > 0) circuit_.add_creg("c", o.num_clbits);
    for (const GateInfo& g : gate_table()) {
      const bool chosen =
          o.gates.empty() || std::find(o.gates.begin(), o.gates.end(), g.id) != o.gates.end();
      if (chosen && g.num_controls + g.num_targets <= static_cast<int>(o.num_qubits)) {
        gates_.push_back(&g);
      }
    }
    if (gates_.empty() || o.num_qubits == 0) {
      throw Error(ExitCode::kUsage, "a random circuit needs qubits enough for one of its gates");
    }
    if ((o.measure || o.conditions) && o.num_clbits == 0) {
      throw Error(ExitCode::kUsage, "a random circuit that measures or branches needs num_clbits");
    }
  }

  Circuit build() {
    for (std::uint32_t k = 0; k < options_.num_ops; ++k) {
      Op& op = random_op(k);
      if (options_.conditions && below(5) == 0) op.condition = random_condition();
    }
    return std::move(circuit_);
  }

 private:
  std::uint64_t bits() { return random_bits(options_.seed, 0, next_++); }
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(bits() % count); }

  // `count` distinct qubits in random order.
  std::vector<Qubit> draw_qubits(std::uint32_t count) {
    std::vector<Qubit> all(options_.num_qubits);
    std::iota(all.begin(), all.end(), 0);
    for (std::uint32_t k = 0; k < count; ++k) {
      std::swap(all[k], all[k + below(options_.num_qubits - k)]);
    }
    all.resize(count);
    return all;
  }

  Op& random_op(std::uint32_t index) {
    const std::uint32_t kind = below(20);
    if (options_.measure && kind == 0) {
      return circuit_.add_measure(below(options_.num_qubits), below(options_.num_clbits));
    }
    if (options_.reset && kind == 1) return circuit_.add_reset(below(options_.num_qubits));
    const bool is_matrix = options_.matrices && kind >= 2 && kind <= 4;
    const GateInfo& g = *gates_[below(static_cast<std::uint32_t>(gates_.size()))];
    const std::uint32_t own = is_matrix
                                  ? 1 + below(std::min(options_.num_qubits, 3u))
                                  : static_cast<std::uint32_t>(g.num_controls + g.num_targets);
    const std::uint32_t room = std::min(options_.num_qubits - own, 3u);
    const std::uint32_t extra = options_.extra_controls && below(4) == 0 ? below(room + 1) : 0;
    const std::vector<Qubit> qubits = draw_qubits(own + extra);
    const auto controls = std::span(qubits).first(extra), rest = std::span(qubits).subspan(extra);
    const std::uint64_t values = bits();
    if (is_matrix) {
      return circuit_.add_matrix(controls, values, rest,
                                 random_unitary(static_cast<int>(own), options_.seed, 1 + index));
    }
    std::vector<double> params(static_cast<std::size_t>(g.num_params));
    for (double& p : params) p = random_angle();
    return circuit_.add_controlled_gate(g.id, controls, values, rest, params);
  }

  // Often a multiple of std::numbers::pi/4, where gates degenerate, at times almost zero, where their matrices
  // do.
  double random_angle() {
    const std::uint32_t kind = below(9);
    if (kind < 3) return (static_cast<int>(below(17)) - 8) * std::numbers::pi / 4;
    if (kind == 3) return std::pow(10, -static_cast<int>(below(18)));
    return (2 * static_cast<double>(bits() >> 11) * 0x1p-53 - 1) * 2 * std::numbers::pi;
  }

  std::int32_t random_condition() {
    Condition condition{0, options_.num_clbits, {}};
    for (std::uint32_t k = 0; k < options_.num_clbits; k += 64) {
      const std::uint32_t width = std::min(options_.num_clbits - k, 64u);
      condition.value.push_back(bits() & (~std::uint64_t{0} >> (64 - width)));
    }
    return circuit_.add_condition(std::move(condition));
  }

  const RandomCircuitOptions& options_;
  Circuit circuit_;
  std::vector<const GateInfo*> gates_;
  std::uint64_t next_ = 0;
};

}  // namespace detail

/// The circuit of these options. Throws Error(kUsage) where the options cannot be met.
inline Circuit make_random_circuit(const RandomCircuitOptions& options) {
  return detail::RandomCircuitBuilder(options).build();
}

}  // namespace tilewave::circuit
