// What tests of functions compare with: a state of long doubles that is moved gate by gate, and its
// derivatives; random circuits and observables.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tilewave/base/bits.h"
#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/gate_table.h"
#include "tilewave/circuit/pauli.h"

namespace tilewave::parametric {

using circuit::AffineAngle;
using circuit::Circuit;
using circuit::GateId;
using circuit::PauliSum;
using circuit::Qubit;
using Big = std::complex<long double>;
using BigState = std::vector<Big>;

using BigMatrix = std::vector<Big>;  // [row][column]

// Row by row, without entries of 0 and rows of the identity: with controls most are such. Tests spend most
// of their time here, and -Og calls functions for what complex numbers are made of.
inline void apply(BigState& state, std::span<const Qubit> qubits, const BigMatrix& m) {
  const std::size_t dim = std::size_t{1} << qubits.size();
  std::uint64_t all = 0;
  for (const Qubit q : qubits) all |= bit(static_cast<int>(q));
  struct Entry {
    std::size_t column;
    long double re, im;
  };
  struct Row {
    std::uint64_t at;  // bits of the basis state
    std::vector<Entry> entries;
  };
  std::vector<Row> rows;
  std::vector<std::uint64_t> at(dim);
  for (std::size_t j = 0; j < dim; ++j) {
    for (std::size_t k = 0; k < qubits.size(); ++k) at[j] |= (j >> k & 1) << qubits[k];
  }
  for (std::size_t i = 0; i < dim; ++i) {
    Row row{at[i], {}};
    for (std::size_t j = 0; j < dim; ++j) {
      const Big& entry = m[i * dim + j];
      if (entry != 0.0L) row.entries.push_back({j, entry.real(), entry.imag()});
    }
    const bool stays = row.entries.size() == 1 && m[i * dim + i] == 1.0L;
    if (!stays) rows.push_back(std::move(row));
  }
  auto* amplitudes = reinterpret_cast<long double*>(state.data());  // real, imaginary, ...
  std::vector<long double> in(2 * dim);
  for (std::uint64_t x = 0, size = state.size(); x < size; ++x) {
    if (x & all) continue;
    for (std::size_t j = 0; j < dim; ++j) {
      in[2 * j] = amplitudes[2 * (x | at[j])];
      in[2 * j + 1] = amplitudes[2 * (x | at[j]) + 1];
    }
    for (const Row& row : rows) {
      long double re = 0, im = 0;
      for (const Entry& e : row.entries) {
        const long double *a = &in[2 * e.column], *b = a + 1;
        re += e.re * *a - e.im * *b;
        im += e.re * *b + e.im * *a;
      }
      amplitudes[2 * (x | row.at)] = re;
      amplitudes[2 * (x | row.at) + 1] = im;
    }
  }
}

inline void apply(BigState& state, const Circuit& c, const circuit::Op& op, bool inverse) {
  const auto m = c.whole_matrix(op);
  const auto qubits = c.qubits(op);
  const std::size_t dim = std::size_t{1} << qubits.size();
  BigMatrix big(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j)
      big[i * dim + j] = inverse ? std::conj(m[j * dim + i]) : m[i * dim + j];
  }
  apply(state, qubits, big);
}

inline BigState zero_state(std::uint32_t num_qubits) {
  BigState state(std::size_t{1} << num_qubits);
  state[0] = 1;
  return state;
}

inline BigState run(const Circuit& c, BigState state) {
  for (const auto& op : c.ops()) apply(state, c, op, false);
  return state;
}
inline BigState run(const Circuit& c) { return run(c, zero_state(c.num_qubits())); }

inline BigState times(const PauliSum& sum, const BigState& psi) {
  BigState out(psi.size());
  for (const auto& p : sum) {
    Big unit = 1;
    for (int k = 0; k < (std::popcount(p.x & p.z) & 3); ++k) unit *= Big(0, 1);
    for (std::uint64_t y = 0; y < psi.size(); ++y) {
      const long double sign = std::popcount(y & p.z) & 1 ? -1 : 1;
      out[y ^ p.x] += static_cast<long double>(p.coefficient) * sign * unit * psi[y];
    }
  }
  return out;
}

inline long double inner(const BigState& a, const BigState& b) {
  long double sum = 0;
  for (std::size_t x = 0; x < a.size(); ++x) sum += (std::conj(a[x]) * b[x]).real();
  return sum;
}

// The derivative of a gate by its j-th angle, applied to the state before it: exactly taken from four
// gates with other angles. Entries are sums of 1, cos and sin of angle/2 and of the angle (fsim: of the
// angle), so with shifts s the derivative is the sum of w (M(a + s) - M(a - s)), where
// sin(f s1) w1 + sin(f s2) w2 = f / 2 for f = 1/2, 1.
inline BigState derivative_of_gate(const Circuit& bound, std::size_t k, std::size_t j,
                                   const BigState& psi) {
  const double a = bound.params(bound.ops()[k])[j];
  const double s[2] = {std::numbers::pi / 2, std::numbers::pi};
  const double w1 = 0.5, w2 = (0.25 - 0.5 * std::sin(std::numbers::pi / 4));
  Circuit shifted = bound;
  BigMatrix sum;  // its derivative, of one pass over the state
  for (int which = 0; which < 2; ++which) {
    for (const int sign : {1, -1}) {
      shifted.set_param(k, j, a + sign * s[which]);
      const auto m = shifted.whole_matrix(shifted.ops()[k]);
      const long double w = (which ? w2 : w1) * sign;
      sum.resize(m.size());
      for (std::size_t x = 0; x < m.size(); ++x) sum[x] += w * Big(m[x]);
    }
  }
  BigState derivative = psi;
  apply(derivative, bound.qubits(bound.ops()[k]), sum);
  return derivative;
}

// A value and derivatives gate by gate.
struct Slow {
  long double value = 0;
  std::vector<long double> gradient;
};
inline Slow slow(const Circuit& c, const std::vector<double>& values, const PauliSum& o) {
  const Circuit bound = c.bind(values);
  Slow out;
  out.gradient.resize(values.size());
  BigState psi = run(bound), lam = times(o, psi);
  out.value = inner(psi, lam);
  for (std::size_t k = c.ops().size(); k-- > 0;) {
    const auto& op = bound.ops()[k];
    apply(psi, bound, op, true);
    for (std::size_t j = 0; j < c.params(c.ops()[k]).size(); ++j) {
      const AffineAngle* angle = c.affine(c.ops()[k], j);
      if (!angle) continue;
      const long double d = 2 * inner(lam, derivative_of_gate(bound, k, j, psi));
      for (const auto& t : angle->terms) out.gradient[t.parameter] += t.coefficient * d;
    }
    apply(lam, bound, op, true);
  }
  return out;
}

// Re(<d_i|d_j> - <d_i|psi><psi|d_j>) from the derivatives d of the state by every parameter, which are
// carried forward gate by gate: [parameter][parameter].
inline std::vector<long double> slow_metric(const Circuit& c, const std::vector<double>& values,
                                            BigState psi) {
  const Circuit bound = c.bind(values);
  const std::size_t p = values.size();
  std::vector<BigState> d(p, BigState(psi.size()));
  for (std::size_t k = 0; k < c.ops().size(); ++k) {
    const auto& op = bound.ops()[k];
    for (BigState& own : d) apply(own, bound, op, false);
    for (std::size_t j = 0; j < c.params(c.ops()[k]).size(); ++j) {
      const AffineAngle* angle = c.affine(c.ops()[k], j);
      if (!angle) continue;
      const BigState change = derivative_of_gate(bound, k, j, psi);
      for (const auto& t : angle->terms) {
        for (std::size_t x = 0; x < psi.size(); ++x)
          d[t.parameter][x] += static_cast<long double>(t.coefficient) * change[x];
      }
    }
    apply(psi, bound, op, false);
  }
  const auto dot = [](const BigState& a, const BigState& b) {
    Big sum = 0;
    for (std::size_t x = 0; x < a.size(); ++x) sum += std::conj(a[x]) * b[x];
    return sum;
  };
  std::vector<long double> metric;
  for (std::size_t i = 0; i < p; ++i) {
    for (std::size_t j = 0; j < p; ++j)
      metric.push_back((dot(d[i], d[j]) - dot(d[i], psi) * dot(psi, d[j])).real());
  }
  return metric;
}

// The derivative of a function of values by the k-th, as a difference.
template <class F>
double slope(const F& loss, std::vector<double> at, std::size_t k) {
  auto down = at;
  at[k] += 1e-5;
  down[k] -= 1e-5;
  return static_cast<double>((loss(at) - loss(down)) / 2e-5L);
}

// The values of one set.
inline std::vector<double> row(const std::vector<double>& values, std::size_t set, std::size_t p) {
  const double* first = values.data() + set * p;
  return {first, first + p};
}

struct Random {
  std::mt19937_64 engine;
  explicit Random(std::uint64_t seed) : engine(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine() % n; }
  double real() { return std::uniform_real_distribution<double>(-3, 3)(engine); }
  double angle() {
    constexpr double kPi = std::numbers::pi;
    const double special[] = {0, kPi / 2, kPi, -kPi, 1e-9, 2 * kPi};
    return below(2) ? special[below(6)] : real();
  }
  std::vector<double> angles(std::size_t count) {
    std::vector<double> all(count);
    for (double& a : all) a = angle();
    return all;
  }
  std::vector<Qubit> qubits(std::uint32_t n, std::size_t count) {
    std::vector<Qubit> all(n);
    for (Qubit q = 0; q < n; ++q) all[q] = q;
    std::shuffle(all.begin(), all.end(), engine);
    all.resize(count);
    return all;
  }
  /// [set][basis state]
  std::vector<std::complex<double>> states(std::uint32_t num_qubits, std::size_t count) {
    std::vector<std::complex<double>> all(count << num_qubits);
    for (auto& a : all) a = {real() - 0.5, real() - 0.5};
    for (std::size_t b = 0; b < count; ++b) {
      const std::span own = std::span(all).subspan(b << num_qubits, std::size_t{1} << num_qubits);
      double norm = 0;
      for (const auto& a : own) norm += std::norm(a);
      for (auto& a : own) a /= std::sqrt(norm);
    }
    return all;
  }
};

/// f(seed, random) for the seeds from first to last, up to the first one that fails.
template <class F>
void for_each_random(std::uint64_t first, std::uint64_t last, F&& f) {
  for (std::uint64_t seed = first; seed <= last && !::testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    f(seed, random);
  }
}

/// Adds a gate whose angle is a parameter of its own.
inline void add_parametrised_gate(Circuit& c, GateId gate, std::span<const Qubit> qubits) {
  const std::uint32_t parameter = c.add_parameter("t" + std::to_string(c.parameters().size()));
  c.add_gate(gate, qubits, std::vector<double>{0});
  c.set_affine(c.ops().size() - 1, 0, {0, {{parameter, 1}}});
}
inline void add_parametrised_gate(Circuit& c, GateId gate, Qubit qubit) {
  add_parametrised_gate(c, gate, {&qubit, 1});
}

inline Circuit random_circuit(Random& random, std::uint32_t n, std::uint32_t num_parameters,
                              int gates) {
  Circuit c(n);
  for (std::uint32_t k = 0; k < num_parameters; ++k) c.add_parameter("p" + std::to_string(k));
  while (gates > 0) {
    const auto& info = circuit::gate_table()[random.below(circuit::gate_table().size())];
    if (info.num_params == 0 && random.below(3)) continue;
    const auto own = static_cast<std::size_t>(info.num_controls + info.num_targets);
    const std::size_t extra = random.below(4) ? 0 : random.below(3);
    if (own + extra > n) continue;
    const auto qubits = random.qubits(n, own + extra);
    std::vector<double> angles(static_cast<std::size_t>(info.num_params));
    for (double& a : angles) a = random.angle();
    c.add_controlled_gate(info.id, {qubits.data(), extra}, random.engine(),
                          {qubits.data() + extra, own}, angles);
    for (std::size_t k = 0; k < angles.size(); ++k) {
      if (random.below(5) == 0) continue;
      AffineAngle angle;
      if (random.below(2)) angle.constant = random.real();
      angle.terms.push_back({static_cast<std::uint32_t>(random.below(num_parameters)),
                             random.below(2) ? 1 : random.real()});
      if (random.below(4) == 0) {
        angle.terms.push_back({static_cast<std::uint32_t>(random.below(num_parameters)), 0.7});
      }
      AffineAngle sum;
      circuit::add_scaled(sum, angle, 1);
      c.set_affine(c.ops().size() - 1, k, sum);
    }
    --gates;
  }
  return c;
}

inline PauliSum random_observable(Random& random, std::uint32_t n, int terms) {
  PauliSum sum;
  for (int k = 0; k < terms; ++k)
    sum.push_back({random.real(), random.engine() & low_mask(static_cast<int>(n)),
                   random.engine() & low_mask(static_cast<int>(n))});
  return sum;
}

/// The gates of a circuit that have a parameter in an angle.
inline void add_parametrised(const Circuit& c, std::set<GateId>& seen) {
  for (const auto& op : c.ops()) {
    for (std::size_t k = 0; k < c.params(op).size(); ++k) {
      if (c.affine(op, k)) seen.insert(op.gate);
    }
  }
}
inline void expect_all_parametrised(const std::set<GateId>& seen) {
  for (const auto& info : circuit::gate_table())
    EXPECT_TRUE(info.num_params == 0 || seen.contains(info.id)) << info.name;
}

}  // namespace tilewave::parametric
