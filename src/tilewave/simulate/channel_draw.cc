// See channel_draw.h.
#include "tilewave/simulate/channel_draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewave::simulate {
namespace {

using circuit::Matrix;

struct Bounds {
  double low, high;
};

// Of the eigenvalues of a Hermitian matrix: exact for two rows, otherwise Gershgorin's.
Bounds eigenvalue_bounds(const Matrix& m, std::size_t dim) {
  if (dim == 2) {
    const double mean = (m[0].real() + m[3].real()) / 2, half = (m[0].real() - m[3].real()) / 2;
    const double radius = std::hypot(half, std::abs(m[1]));
    return {mean - radius, mean + radius};
  }
  Bounds b{1e300, -1e300};
  for (std::size_t i = 0; i < dim; ++i) {
    double radius = 0;
    for (std::size_t j = 0; j < dim; ++j) radius += i == j ? 0 : std::abs(m[i * dim + j]);
    b.low = std::min(b.low, m[i * dim + i].real() - radius);
    b.high = std::max(b.high, m[i * dim + i].real() + radius);
  }
  return b;
}

std::vector<int> letters_of(std::size_t code, int num_qubits) {
  std::vector<int> letters;
  for (int j = 0; j < num_qubits; ++j) letters.push_back(static_cast<int>(code >> (2 * j) & 3));
  return letters;
}

cplx overlap(const Matrix& a, const Matrix& b) {  // Tr(a^dagger b)
  cplx sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::conj(a[k]) * b[k];
  return sum;
}

}  // namespace

ChannelDraw::ChannelDraw(const circuit::Channel& channel) : num_qubits_(channel.num_qubits) {
  const std::size_t dim = std::size_t{1} << num_qubits_, num_strings = dim * dim;
  std::vector<Matrix> grams;
  std::vector<Bounds> bounds;
  for (const Matrix& k : channel.kraus) {
    grams.push_back(circuit::multiply(circuit::adjoint(k), k));
    bounds.push_back(eigenvalue_bounds(grams.back(), dim));
    is_mixture_ &= bounds.back().high - bounds.back().low < 1e-12;
  }
  std::vector<std::size_t> order(grams.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bounds[a].low > bounds[b].low; });

  std::vector<Matrix> strings;
  for (std::size_t code = 0; code < num_strings; ++code) {
    strings.push_back(circuit::pauli_string_matrix(letters_of(code, num_qubits_)));
  }
  const auto size = static_cast<double>(dim);
  std::vector<std::vector<double>> components;  // an operator, of every string
  Matrix sum(dim * dim);
  for (const std::size_t k : order) {
    const double middle = std::max((bounds[k].low + bounds[k].high) / 2, 1e-300);
    Operator op;
    op.matrix = circuit::scaled(channel.kraus[k], 1 / std::sqrt(middle));
    for (std::size_t code = 0; code < num_strings; ++code) {
      if (std::abs(std::abs(overlap(strings[code], op.matrix)) - size) < 1e-12 * size &&
          std::abs(overlap(op.matrix, op.matrix).real() - size) < 1e-12 * size) {
        op.letters = letters_of(code, num_qubits_);
      }
    }
    operators_.push_back(std::move(op));
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += grams[k][j];
    Bounds b = eigenvalue_bounds(sum, dim);
    if (is_mixture_) b.low = b.high = (b.low + b.high) / 2;
    low_.push_back(std::clamp(b.low, 0.0, 1.0));
    high_.push_back(std::clamp(b.high, 0.0, 1.0));
    std::vector<double>& c = components.emplace_back();
    for (const Matrix& string : strings) c.push_back(overlap(string, grams[k]).real() / size);
  }
  low_.back() = high_.back() = 1;  // up to rounding it is

  components_.resize(operators_.size());
  for (std::size_t code = 0; code < num_strings; ++code) {
    const bool used = std::any_of(components.begin(), components.end(),
                                  [&](const auto& c) { return std::abs(c[code]) > 1e-15; });
    if (!used && code != 0) continue;  // the identity is always asked: the norm
    asked_.push_back(letters_of(code, num_qubits_));
    for (std::size_t k = 0; k < components.size(); ++k) {
      components_[k].push_back(components[k][code]);
    }
  }
}

int ChannelDraw::fixed_outcome(double u) const {
  if (u < low_[0]) return 0;
  for (std::size_t k = 1; k < low_.size(); ++k) {
    if (u < low_[k]) return u >= high_[k - 1] ? static_cast<int>(k) : kOpen;
  }
  return static_cast<int>(low_.size()) - 1;
}

circuit::PauliSum ChannelDraw::questions(std::span<const circuit::Qubit> targets) const {
  circuit::PauliSum sum;
  for (const auto& letters : asked_) {
    circuit::PauliTerm term{1.0, 0, 0};
    for (std::size_t j = 0; j < letters.size(); ++j) {
      const std::uint64_t mask = std::uint64_t{1} << targets[j];
      if (letters[j] == 1 || letters[j] == 2) term.x |= mask;
      if (letters[j] == 2 || letters[j] == 3) term.z |= mask;
    }
    sum.push_back(term);
  }
  return sum;
}

std::vector<double> ChannelDraw::probabilities(std::span<const double> answers) const {
  std::vector<double> p(operators_.size());
  for (std::size_t k = 0; k < p.size(); ++k) {
    for (std::size_t j = 0; j < answers.size(); ++j) p[k] += components_[k][j] * answers[j];
    p[k] = std::max(p[k] / answers[0], 0.0);
  }
  return p;
}

void ChannelDraw::append(int outcome, std::span<const circuit::Qubit> targets, double scale,
                         circuit::Circuit& to) const {
  const Operator& op = operators_[static_cast<std::size_t>(outcome)];
  if (op.letters.empty() || scale != 1) {
    to.add_matrix({}, ~std::uint64_t{0}, targets, circuit::scaled(op.matrix, scale));
    return;
  }
  static constexpr circuit::GateId kGates[4] = {circuit::GateId::kId, circuit::GateId::kX,
                                                circuit::GateId::kY, circuit::GateId::kZ};
  for (std::size_t j = 0; j < op.letters.size(); ++j) {
    if (op.letters[j]) to.add_gate(kGates[op.letters[j]], {targets[j]});
  }
}

}  // namespace tilewave::simulate
