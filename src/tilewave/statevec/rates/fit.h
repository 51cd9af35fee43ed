// Rates from times of passes. A time is a sum of terms, each a rate times what the pass has of it;
// the rates that agree best with all times are looked for.
#pragma once

#include <span>
#include <vector>

namespace tilewave::statevec::rates {

/// A pass that was measured.
struct Sample {
  std::vector<double> terms;  ///< what each rate is multiplied by
  double seconds = 0;
  double known_s = 0;  ///< of `seconds`, what no rate to be found is part of
};

/// Minimises  sum_i w_i ((terms_i . rates + known_i - seconds_i) / seconds_i)^2
///            + ridge sum_j (rates_j / start_j - 1)^2
/// where `start` is brought to the level of the times first, by one factor for all. A rate that
/// starts at 0 stays there. `ridge`: what a rate that no time tells of is drawn to its start with,
/// beside a sample's weight of 1.
std::vector<double> fit(std::span<const Sample> samples, std::span<const double> start,
                        double ridge = 1e-4);

/// Seconds that the rates predict for a sample.
double predict(const Sample& sample, std::span<const double> rates);

}  // namespace tilewave::statevec::rates
