// Phases that are functions of numbers: the bits of an index hold r numbers x_0 ... x_{r-1}, and
// the phase is a polynomial in them or a function of their norm, product or distances, with
// exceptions for chosen values. One definition for the CPU and for CUDA devices.
#pragma once

#include <cmath>
#include <cstdint>

#include "tilewave/base/host_device.h"

namespace tilewave::statevec {

struct PhaseFunction {
  static constexpr int kMaxNumbers = 64;
  enum class Base : std::uint8_t { kPolynomial, kNorm, kProduct, kDistance };

  // the numbers: bits `qubits` of the index, `sizes[k]` of them for x_k
  int num_numbers = 0;
  bool is_signed = false;  ///< two's complement
  std::uint8_t qubits[kMaxNumbers] = {};
  std::uint8_t sizes[kMaxNumbers] = {};

  Base base = Base::kPolynomial;
  /// kPolynomial: sum over k of sum over num_terms[k] of coefficient x_k^exponent.
  int num_terms[kMaxNumbers] = {};
  const double* coefficients = nullptr;
  const double* exponents = nullptr;
  /// kNorm: v = sqrt(sum (x_k - shift_k)^2); kProduct: v = product of x_k; kDistance: v = sqrt(sum
  /// weight_j (x_2j - x_2j+1 - shift_j)^2). The phase is scale v or, inverse, scale / v and
  /// `at_zero` where |v| <= zero_below.
  double shift[kMaxNumbers] = {};
  double weight[kMaxNumbers] = {};
  double scale = 1, at_zero = 0, zero_below = 0;
  bool is_inverse = false;
  /// Where all numbers are those of an exception, its phase counts: the first that fits.
  const std::int64_t* exception_numbers = nullptr;  // num_numbers each
  const double* exception_phases = nullptr;
  int num_exceptions = 0;

  TW_HD double operator()(std::uint64_t index) const {
    std::int64_t x[kMaxNumbers];
    for (int k = 0, at = 0; k < num_numbers; ++k) {
      std::int64_t number = 0;
      for (int b = 0; b < sizes[k]; ++b, ++at)
        number |= static_cast<std::int64_t>(index >> qubits[at] & 1) << b;
      if (is_signed && number >> (sizes[k] - 1) & 1) number -= std::int64_t{1} << sizes[k];
      x[k] = number;
    }
    for (int e = 0; e < num_exceptions; ++e) {
      const std::int64_t* wanted = exception_numbers + static_cast<std::int64_t>(e) * num_numbers;
      bool fits = true;
      for (int k = 0; k < num_numbers; ++k) fits = fits && x[k] == wanted[k];
      if (fits) return exception_phases[e];
    }
    return base == Base::kPolynomial ? polynomial(x) : named(x);
  }

 private:
  TW_HD double polynomial(const std::int64_t* x) const {
    double sum = 0;
    for (int k = 0, t = 0; k < num_numbers; ++k) {
      for (int j = 0; j < num_terms[k]; ++j, ++t)
        sum += coefficients[t] * pow(static_cast<double>(x[k]), exponents[t]);
    }
    return sum;
  }
  TW_HD double named(const std::int64_t* x) const {
    double v = base == Base::kProduct ? 1 : 0;
    for (int k = 0; k < num_numbers; ++k) {
      const auto number = static_cast<double>(x[k]);
      if (base == Base::kProduct) {
        v *= number;
      } else if (base == Base::kNorm) {
        v += (number - shift[k]) * (number - shift[k]);
      } else if (k % 2) {
        const double d = static_cast<double>(x[k - 1] - x[k]) - shift[k / 2];
        v += weight[k / 2] * d * d;
      }
    }
    if (base != Base::kProduct) v = sqrt(v > 0 ? v : 0.0);
    if (!is_inverse) return scale * v;
    return fabs(v) <= zero_below ? at_zero : scale / v;
  }
};

}  // namespace tilewave::statevec
