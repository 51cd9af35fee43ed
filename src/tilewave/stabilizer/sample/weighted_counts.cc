#include "tilewave/stabilizer/sample/weighted_counts.h"

#include <algorithm>
#include <cmath>

namespace tilewave::stabilizer {
namespace {

constexpr double kNearlyNormal = 1e7;  // shapes from here on

// Of the standard normal distribution.
double normal_share(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

double gamma_share(double shape, double x) {
  if (x <= 0) return 0;
  // Wilson and Hilferty: the cube root is normal, to 1e-8 here.
  if (shape >= kNearlyNormal) {
    const double v = 1 / (9 * shape);
    return normal_share((std::cbrt(x / shape) - (1 - v)) / std::sqrt(v));
  }
  const double front = std::exp(shape * std::log(x) - x - std::lgamma(shape));
  if (x < shape + 1) {
    // x^a e^-x sum x^n / (a (a + 1) ... (a + n))
    double term = 1 / shape, sum = term;
    for (double n = 1; term > sum * 1e-17; ++n) term *= x / (shape + n), sum += term;
    return std::min(1.0, front * sum);
  }
  // Legendre's continued fraction of the rest, by Lentz's method.
  constexpr double kTiny = 1e-300;
  double b = x + 1 - shape, c = 1 / kTiny, d = 1 / b, h = d;
  for (double n = 1; n < 1e6; ++n) {
    const double a = n * (shape - n);
    b += 2;
    d = a * d + b;
    c = b + a / c;
    if (std::abs(d) < kTiny) d = kTiny;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return std::max(0.0, 1 - front * h);
}

double gamma_quantile(double shape, double share) {
  double low = 0, high = shape + 10;
  while (gamma_share(shape, high) < share) low = high, high *= 2;
  for (int step = 0; step < 200 && high - low > 1e-15 * high; ++step) {
    const double middle = (low + high) / 2;
    (gamma_share(shape, middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

void EventWeights::add(double weight, double share, bool may_be) {
  fewer = std::max(fewer, weight);
  if (share > 0.5) rare_fewer = std::max(rare_fewer, weight);
  if (!may_be) return;
  more = std::max(more, weight);
  if (share <= 0.5) rare_more = std::max(rare_more, weight);
}

Estimate weighted_interval(double value, double variance, const EventWeights& weights,
                           double confidence) {
  // What is rare counts: of more than half, the rest.
  if (value > 0.5) {
    const EventWeights turned{weights.fewer, weights.more, weights.rare_fewer, weights.rare_more};
    const Estimate rest = weighted_interval(1 - value, variance, turned, confidence);
    return {value, 1 - rest.high, 1 - rest.low};
  }
  // Of the gamma distribution; one without variance is its mean.
  const auto quantile = [](double mean, double spread, double share) {
    if (mean <= 0) return 0.0;
    return spread > 0 ? spread / mean * gamma_quantile(mean * mean / spread, share) : mean;
  };
  const auto square = [](double x) { return x * x; };
  const double tail = (1 - confidence) / 2;
  return {value, quantile(value - weights.rare_fewer, variance + square(weights.rare_fewer), tail),
          std::min(1.0, quantile(value + weights.more, variance + square(weights.more), 1 - tail))};
}

}  // namespace tilewave::stabilizer
