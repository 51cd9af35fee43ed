// Angles that are affine expressions of a circuit's parameters: a constant and a sum of parameters
// with coefficients. The derivative of whatever depends on such an angle by a parameter is the
// coefficient times its derivative by the angle; other functions of parameters belong to whoever
// computes the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewave::circuit {

class Circuit;

struct AffineTerm {
  std::uint32_t parameter = 0;  ///< its number in Circuit::parameters
  double coefficient = 0;

  bool operator==(const AffineTerm&) const = default;
};

struct AffineAngle {
  double constant = 0;
  std::vector<AffineTerm> terms{};  ///< each parameter once, coefficients not zero

  bool operator==(const AffineAngle&) const = default;
  double value(std::span<const double> parameters) const {
    double sum = constant;
    for (const AffineTerm& t : terms) sum += t.coefficient * parameters[t.parameter];
    return sum;
  }
};

/// `weight` times an angle is added to `sum`.
void add_scaled(AffineAngle& sum, const AffineAngle& angle, double weight);

/// Throws Error(kInput) where a circuit has angles without a value.
void need_bound(const Circuit& circuit);

/// Throws Error(kInput) where there are not as many values as parameters, or one is not finite.
void need_values(std::span<const std::string> parameters, std::span<const double> values);

/// Throws Error(kInput) for an angle that is no finite number, as finite values may give.
void need_finite_angle(double angle);

/// Copies the angles of a gate of `from` that are expressions to the operation `at` of `to`, which
/// has the same gate; parameters go by their names.
void copy_affine(const Circuit& from, std::size_t op, Circuit& to, std::size_t at);

}  // namespace tilewave::circuit
