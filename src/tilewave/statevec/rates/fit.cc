#include "tilewave/statevec/rates/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewave::statevec::rates {

namespace {

constexpr double kRange = 8;  // a rate stays within this factor of its start
// Errors larger than this share of a time count less (Huber's weights): something else ran then.
constexpr double kOutlier = 0.1;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double predict(const Sample& sample, std::span<const double> rates) {
  return std::inner_product(rates.begin(), rates.end(), sample.terms.begin(), sample.known_s);
}

// In units of the start, u_j = rates_j / start_j, the sum of squares is u A u - 2 b u; one u after the
// other is set to where it is least, within the bounds, until none moves.
std::vector<double> fit(std::span<const Sample> samples, std::span<const double> start,
                        double ridge) {
  std::vector<double> levels;
  for (const Sample& s : samples) {
    const double own_s = predict(s, start) - s.known_s;
    if (own_s > 0 && s.seconds > s.known_s) levels.push_back((s.seconds - s.known_s) / own_s);
  }
  const double level = levels.empty() ? 1 : median(levels);
  const std::size_t n = start.size();
  std::vector<double> unit(start.begin(), start.end());
  for (double& x : unit) x *= level;
  std::vector<double> u(n, 1), weights(samples.size(), 1);
  constexpr int kRounds = 6, kSteps = 20000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> a(n * n, 0), b(n, ridge);
    for (std::size_t j = 0; j < n; ++j) a[j * n + j] = ridge;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample& s = samples[i];
      for (std::size_t j = 0; j < n; ++j) {
        const double x = s.terms[j] * unit[j] / s.seconds;
        if (x == 0) continue;
        b[j] += weights[i] * x * (s.seconds - s.known_s) / s.seconds;
        for (std::size_t k = 0; k < n; ++k)
          a[j * n + k] += weights[i] * x * s.terms[k] * unit[k] / s.seconds;
      }
    }
    for (int step = 0; step < kSteps; ++step) {
      double moved = 0;
      for (std::size_t j = 0; j < n; ++j) {
        double rest = b[j];
        for (std::size_t k = 0; k < n; ++k) rest -= k == j ? 0 : a[j * n + k] * u[k];
        const double next = std::clamp(rest / a[j * n + j], 1 / kRange, kRange);
        moved = std::max(moved, std::abs(next - u[j]));
        u[j] = next;
      }
      if (moved < 1e-9) break;
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
      double predicted_s = samples[i].known_s;
      for (std::size_t j = 0; j < n; ++j) predicted_s += samples[i].terms[j] * unit[j] * u[j];
      const double off = std::abs(predicted_s / samples[i].seconds - 1);
      weights[i] = off > kOutlier ? kOutlier / off : 1;
    }
  }
  std::vector<double> rates(n);
  for (std::size_t j = 0; j < n; ++j) rates[j] = unit[j] * u[j];
  return rates;
}

}  // namespace tilewave::statevec::rates
