#include "tilewave/simulate/run_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "tilewave/base/bits.h"
#include "tilewave/base/error.h"

namespace tilewave::simulate {

namespace {

// How far |M x|^2 / |x|^2 may be from 1.
double leaves_unitarity(const std::vector<cplx>& m) {
  const std::size_t dim = std::size_t{1} << (std::bit_width(m.size()) / 2);
  double worst = 0;
  for (std::size_t a = 0; a < dim; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      cplx sum = a == b ? -1 : 0;
      for (std::size_t row = 0; row < dim; ++row)
        sum += std::conj(m[row * dim + a]) * m[row * dim + b];
      worst = std::max(worst, std::abs(sum));
    }
  }
  return worst * static_cast<double>(dim);
}

}  // namespace

// What rounding leaves between the norm and 1, generously.
static double rounding_of(std::size_t num_ops, statevec::Precision precision) {
  constexpr double kRounding = 1e-6;
  constexpr double kSingleOfGate = 5e-8;  // equal gates round the same way every time
  const bool is_single = precision == statevec::Precision::kSingle;
  return kRounding + (is_single ? kSingleOfGate * static_cast<double>(num_ops) : 0);
}

std::string check_norm(double norm, const circuit::Circuit& circuit,
                       std::span<const circuit::Op> ops, statevec::Precision precision,
                       bool exact) {
  char text[256];
  if (!std::isfinite(norm)) {
    std::snprintf(
        text, sizeof text,
        "the state is not finite (its norm is %g): an angle or a matrix of the circuit is "
        "too large",
        norm);
    throw Error(ExitCode::kVerification, text);
  }
  const double off = std::abs(norm - 1);
  const double rounding = rounding_of(ops.size(), precision);
  const double usual = precision == statevec::Precision::kDouble
                           ? 1e-11 * std::sqrt(static_cast<double>(ops.size() + 1))
                           : rounding;
  if (off <= usual) return {};
  double explained = rounding;
  for (const circuit::Op& op : ops) {
    if (op.kind == circuit::OpKind::kMatrix) explained += leaves_unitarity(circuit.matrix(op));
  }
  if (exact && off > explained) {
    std::snprintf(
        text, sizeof text,
        "the norm of the state is %.12g, not 1, though every gate of the circuit keeps it "
        "(the answers would be wrong, so none is given): please report this circuit",
        norm);
    throw Error(ExitCode::kVerification, text);
  }
  std::snprintf(text, sizeof text, "the norm of the state is %.12g, not 1; nothing was rescaled",
                norm);
  return text;
}

void ShotCheck::add(std::span<const double> marginals, std::span<const std::uint64_t> drawn) {
  TW_CHECK(qubits_.empty() || qubits_.size() == marginals.size(), "states of one size are checked");
  qubits_.resize(marginals.size());
  const auto count = static_cast<double>(drawn.size());
  std::vector<std::uint64_t> ones(marginals.size());
  for (const std::uint64_t x : drawn) for_each_bit(x, [&](int q) { ++ones[q]; });
  for (std::size_t q = 0; q < qubits_.size(); ++q) {
    const double p = std::clamp(marginals[q], 0.0, 1.0);
    qubits_[q].drawn += static_cast<double>(ones[q]);
    qubits_[q].expected += count * p;
    qubits_[q].variance += count * p * (1 - p);
  }
  num_shots_ += drawn.size();
}

void ShotCheck::save(ByteWriter& out) const {
  out.put_list(qubits_);
  out.put(num_shots_);
}

void ShotCheck::load(ByteReader& in) {
  qubits_ = in.get_list<Sums>();
  num_shots_ = in.get<std::uint64_t>();
}

double ShotCheck::worst_deviation() const {
  double worst = 0;
  for (const Sums& q : qubits_)
    worst = std::max(worst, std::abs(q.drawn - q.expected) / std::sqrt(std::max(q.variance, 1.0)));
  return worst;
}

void ShotCheck::check() const {
  constexpr double kNever = 50;
  for (std::size_t k = 0; k < qubits_.size(); ++k) {
    const Sums& q = qubits_[k];
    const double d = std::abs(q.drawn - q.expected);
    if (d * d <= kNever * 2 * (q.variance + d / 3)) continue;
    char text[256];
    std::snprintf(text, sizeof text,
                  "qubit %zu is 1 in %.0f of %llu shots, where %.1f are expected from its exact "
                  "probability (the shots would be wrong, so none are given): please report this "
                  "circuit",
                  k, q.drawn, static_cast<unsigned long long>(num_shots_), q.expected);
    throw Error(ExitCode::kVerification, text);
  }
}

}  // namespace tilewave::simulate
