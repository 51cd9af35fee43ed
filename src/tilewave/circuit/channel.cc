#include "tilewave/circuit/channel.h"

#include <algorithm>
#include <cmath>

namespace tilewave::circuit {
namespace {

std::size_t dimension(const Matrix& m) {
  std::size_t dim = 1;
  while (dim * dim < m.size()) dim *= 2;
  return dim;
}

// Operators that vanish are left out.
void add(std::vector<Matrix>& kraus, double p, const Matrix& m) {
  if (p > 0) kraus.push_back(scaled(m, std::sqrt(p)));
}

}  // namespace

const Matrix& pauli_matrix(int code) {
  static const Matrix kPaulis[4] = {
      {1, 0, 0, 1}, {0, 1, 1, 0}, {0, cplx(0, -1), cplx(0, 1), 0}, {1, 0, 0, -1}};
  return kPaulis[code];
}

Matrix pauli_string_matrix(std::span<const int> letters) {
  Matrix m = {1};
  for (const int code : letters) m = kronecker(m, pauli_matrix(code));
  return m;
}

Matrix kronecker(const Matrix& low, const Matrix& high) {
  const std::size_t a = dimension(low), b = dimension(high), dim = a * b;
  Matrix out(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) {
      out[i * dim + j] = low[i % a * a + j % a] * high[i / a * b + j / a];
    }
  }
  return out;
}

Matrix embed(const Matrix& m, std::span<const int> positions, int num_qubits) {
  const std::size_t dim = std::size_t{1} << num_qubits;
  const std::size_t inner = std::size_t{1} << positions.size();
  Matrix out(dim * dim);
  for (std::size_t column = 0; column < dim; ++column) {
    std::size_t in = 0, rest = column;
    for (std::size_t j = 0; j < positions.size(); ++j) {
      in |= (column >> positions[j] & 1) << j;
      rest &= ~(std::size_t{1} << positions[j]);
    }
    for (std::size_t value = 0; value < inner; ++value) {
      std::size_t row = rest;
      for (std::size_t j = 0; j < positions.size(); ++j) row |= (value >> j & 1) << positions[j];
      out[row * dim + column] = m[value * inner + in];
    }
  }
  return out;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  const std::size_t dim = dimension(a);
  Matrix out(a.size());
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t k = 0; k < dim; ++k) {
      for (std::size_t j = 0; j < dim; ++j) out[i * dim + j] += a[i * dim + k] * b[k * dim + j];
    }
  }
  return out;
}

Matrix adjoint(const Matrix& m) {
  const std::size_t dim = dimension(m);
  Matrix out(m.size());
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) out[j * dim + i] = std::conj(m[i * dim + j]);
  }
  return out;
}

Matrix conjugate(Matrix m) {
  for (cplx& x : m) x = std::conj(x);
  return m;
}

Matrix scaled(Matrix m, double factor) {
  for (cplx& x : m) x *= factor;
  return m;
}

double distance_from_trace_preserving(const std::vector<Matrix>& kraus) {
  Matrix sum(kraus.at(0).size());
  for (const Matrix& k : kraus) {
    const Matrix gram = multiply(adjoint(k), k);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gram[i];
  }
  const std::size_t dim = dimension(sum);
  double worst = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double d = std::abs(sum[i] - (i % (dim + 1) == 0 ? 1.0 : 0.0));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

Matrix superoperator(const std::vector<Matrix>& kraus) {
  const std::size_t dim = dimension(kraus.at(0)), size = dim * dim;
  Matrix s(size * size);
  for (const Matrix& k : kraus) {
    for (std::size_t i2 = 0; i2 < dim; ++i2) {
      for (std::size_t i = 0; i < dim; ++i) {
        cplx* row = s.data() + (i2 * dim + i) * size;
        for (std::size_t j2 = 0; j2 < dim; ++j2) {
          const cplx right = std::conj(k[i2 * dim + j2]);
          if (right == 0.0) continue;
          for (std::size_t j = 0; j < dim; ++j) row[j2 * dim + j] += k[i * dim + j] * right;
        }
      }
    }
  }
  return s;
}

bool is_in_blocks(const Matrix& s) {
  const std::size_t size = dimension(s);
  std::size_t dim = 1;
  while (dim * dim < size) dim *= 2;
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      if ((a % dim ^ a / dim) != (b % dim ^ b / dim) && s[a * size + b] != 0.0) return false;
    }
  }
  return true;
}

Channel pauli_channel(int num_qubits, std::span<const PauliProbability> errors) {
  Channel c{"pauli", num_qubits, {}};
  double none = 1;
  for (const auto& e : errors) none -= e.p;
  add(c.kraus, none, pauli_string_matrix(std::vector<int>(static_cast<std::size_t>(num_qubits))));
  for (const auto& e : errors) add(c.kraus, e.p, pauli_string_matrix(e.letters));
  return c;
}

Channel depolarizing(int num_qubits, double p) {
  std::vector<PauliProbability> errors;
  const int count = 1 << (2 * num_qubits);
  for (int code = 1; code < count; ++code) {
    PauliProbability e;
    for (int j = 0; j < num_qubits; ++j) e.letters.push_back(code >> (2 * j) & 3);
    e.p = p / (count - 1);
    errors.push_back(std::move(e));
  }
  Channel c = pauli_channel(num_qubits, errors);
  c.name = num_qubits == 1 ? "depolarizing" : "depolarizing" + std::to_string(num_qubits);
  return c;
}

Channel amplitude_damping(double gamma, double excited) {
  Channel c{"amplitude_damping", 1, {}};
  const double keep = std::sqrt(1 - gamma), jump = std::sqrt(gamma);
  add(c.kraus, 1 - excited, {1, 0, 0, keep});
  if (gamma > 0) add(c.kraus, 1 - excited, {0, jump, 0, 0});
  add(c.kraus, excited, {keep, 0, 0, 1});
  if (gamma > 0) add(c.kraus, excited, {0, 0, jump, 0});
  return c;
}

Channel phase_damping(double lambda) {
  // the same map as {diag(1, sqrt(1 - lambda)), diag(0, sqrt(lambda))}, as a mixture
  const PauliProbability z{{3}, (1 - std::sqrt(1 - lambda)) / 2};
  Channel c = pauli_channel(1, {&z, 1});
  c.name = "phase_damping";
  return c;
}

Channel thermal_relaxation(double t1, double t2, double time, double excited) {
  const double gamma = -std::expm1(-time / t1);
  const double coherence = std::exp(-time / t2 + 0.5 * time / t1);  // beyond the damping's own
  const Channel damping = amplitude_damping(gamma, excited);
  Channel c{"thermal_relaxation", 1, {}};
  for (const Matrix& k : damping.kraus) {
    add(c.kraus, (1 + coherence) / 2, k);
    add(c.kraus, (1 - coherence) / 2, multiply(pauli_matrix(3), k));
  }
  return c;
}

Channel reset_channel(double p0, double p1) {
  Channel c{"reset", 1, {}};
  add(c.kraus, 1 - p0 - p1, pauli_matrix(0));
  add(c.kraus, p0, {1, 0, 0, 0});
  add(c.kraus, p0, {0, 1, 0, 0});
  add(c.kraus, p1, {0, 0, 1, 0});
  add(c.kraus, p1, {0, 0, 0, 1});
  return c;
}

// The channel is sum_PQ chi_PQ P rho Q with chi_PQ = sum_k c_kP conj(c_kQ) and c_kP = Tr(P
// K_k)/2^m.
std::vector<double> pauli_probabilities(const Channel& channel) {
  constexpr double kRounding = 1e-13;
  const int m = channel.num_qubits;
  const std::size_t dim = std::size_t{1} << m, strings = dim * dim;
  std::vector<std::vector<cplx>> c(channel.kraus.size(), std::vector<cplx>(strings));
  for (std::size_t s = 0; s < strings; ++s) {
    std::vector<int> letters;
    for (int j = 0; j < m; ++j) letters.push_back(static_cast<int>(s >> (2 * j) & 3));
    const Matrix p = pauli_string_matrix(letters);
    for (std::size_t k = 0; k < c.size(); ++k) {
      for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t j = 0; j < dim; ++j) {
          if (p[i * dim + j] != 0.0) c[k][s] += p[i * dim + j] * channel.kraus[k][j * dim + i];
        }
      }
      c[k][s] /= static_cast<double>(dim);
    }
  }
  std::vector<double> out(strings);
  for (std::size_t a = 0; a < strings; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      cplx chi = 0;
      for (const auto& row : c) chi += row[a] * std::conj(row[b]);
      if (a == b) {
        out[a] = chi.real();
      } else if (std::abs(chi) > kRounding) {
        return {};
      }
    }
  }
  return out;
}

Channel unitary_mixture(int num_qubits, std::span<const double> p, std::span<const Matrix> u) {
  Channel c{"unitary_mixture", num_qubits, {}};
  for (std::size_t k = 0; k < p.size(); ++k) add(c.kraus, p[k], u[k]);
  return c;
}

}  // namespace tilewave::circuit
