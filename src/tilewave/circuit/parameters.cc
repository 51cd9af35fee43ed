// See parameters.h, and what a circuit knows of its parameters.
#include "tilewave/circuit/parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tilewave/base/error.h"
#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

void add_scaled(AffineAngle& sum, const AffineAngle& angle, double weight) {
  sum.constant += weight * angle.constant;
  for (const AffineTerm& t : angle.terms) {
    const auto same = std::ranges::find(sum.terms, t.parameter, &AffineTerm::parameter);
    if (same == sum.terms.end()) {
      sum.terms.push_back({t.parameter, weight * t.coefficient});
    } else {
      same->coefficient += weight * t.coefficient;
    }
  }
  std::erase_if(sum.terms, [](const AffineTerm& t) { return t.coefficient == 0; });
}

void need_bound(const Circuit& circuit) {
  if (!circuit.has_affine()) return;
  const auto names = circuit.parameters();
  const std::string which = names.size() == 1 ? "the parameter '" + names[0] + "' has no value"
                                              : std::to_string(names.size()) + " parameters ('" +
                                                    names[0] + "', ...) have no value";
  fail(ExitCode::kInput, which,
       ": bind the circuit to numbers first, or compile it as a function of them");
}

void need_values(std::span<const std::string> parameters, std::span<const double> values) {
  if (values.size() != parameters.size()) {
    fail(ExitCode::kInput, "the circuit has ", parameters.size(), " parameters, got ",
         values.size(), " values");
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (std::isfinite(values[k])) continue;
    fail(ExitCode::kInput, "the value of parameter ", k, " ('", parameters[k],
         "') is not a finite number");
  }
}

void need_finite_angle(double angle) {
  if (std::isfinite(angle)) return;
  fail(ExitCode::kInput, "an angle is not a finite number with these parameters");
}

void copy_affine(const Circuit& from, std::size_t op, Circuit& to, std::size_t at) {
  const Op source = from.ops()[op];
  for (std::size_t k = 0; k < from.params(source).size(); ++k) {
    const AffineAngle* angle = from.affine(source, k);
    if (!angle) continue;
    AffineAngle copy = *angle;
    for (AffineTerm& t : copy.terms)
      t.parameter = to.add_parameter(std::string(from.parameters()[t.parameter]));
    to.set_affine(at, k, std::move(copy));
  }
}

std::uint32_t Circuit::add_parameter(const std::string& name) {
  if (name.empty()) fail(ExitCode::kInput, "a parameter needs a name that is not empty");
  const auto known = parameter_numbers_.find(name);
  if (known != parameter_numbers_.end()) return known->second;
  parameters_.push_back(name);
  return parameter_numbers_[name] = static_cast<std::uint32_t>(parameters_.size() - 1);
}

void Circuit::set_affine(std::size_t op, std::size_t k, AffineAngle angle) {
  TW_CHECK(op < ops_.size() && k < params(ops_[op]).size(), "a gate has this angle");
  AffineAngle sum;
  add_scaled(sum, angle, 1);
  bool finite = std::isfinite(sum.constant);
  for (const AffineTerm& t : sum.terms) {
    TW_CHECK(t.parameter < parameters_.size(), "an angle's parameters are the circuit's");
    finite &= std::isfinite(t.coefficient);
  }
  if (!finite) {
    fail(ExitCode::kInput, "gate ", gate_info(ops_[op].gate).name,
         ": a coefficient of an angle is not a finite number");
  }
  if (sum.terms.empty()) return set_param(op, k, sum.constant);
  const auto place = static_cast<std::uint32_t>(ops_[op].first_param + k);
  auto at = std::ranges::lower_bound(affine_, place, {}, &PlacedAngle::place);
  if (at == affine_.end() || at->place != place) at = affine_.insert(at, {place, {}});
  at->angle = std::move(sum);
  param_pool_[place] = std::numeric_limits<double>::quiet_NaN();
}

const AffineAngle* Circuit::affine(const Op& op, std::size_t k) const {
  if (affine_.empty() || op.kind != OpKind::kGate) return nullptr;
  const auto place = static_cast<std::uint32_t>(op.first_param + k);
  const auto at = std::ranges::lower_bound(affine_, place, {}, &PlacedAngle::place);
  return at != affine_.end() && at->place == place ? &at->angle : nullptr;
}

Circuit Circuit::bind(std::span<const double> values) const {
  need_values(parameters_, values);
  Circuit bound = *this;
  for (const PlacedAngle& a : affine_) {
    const double value = a.angle.value(values);
    need_finite_angle(value);
    bound.param_pool_[a.place] = value;
  }
  bound.affine_.clear();
  bound.parameters_.clear();
  bound.parameter_numbers_.clear();
  return bound;
}

}  // namespace tilewave::circuit
