// n ln n as integers. sums[n] = round(n ln n / unit), so a window's sum S = sum_i sums[n_i] is
// exact whatever the order, and H = log_n[N] - S * inverse[N] is one multiplication and one
// subtraction.
//
// Narrow windows (N <= 255): S < 2^24 (2^22 up to 31 cells), exact in a float; H is computed in
// floats. The unit is 2 ln 2 / m with m chosen so that n ln n for the primes 2, 3, 5, 7 (and so for
// all their products) falls almost on integers: the worst error over all histograms is then 6.3e-7
// instead of 3e-6 (5x5). Wide windows: S < 2^31, H is computed in doubles and rounded once.
// log_n[N] is sums[N] * inverse[N] rounded the same way, so a window of one class gives exactly 0.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewave::field {

struct EntropyTables {
  std::int32_t max_count = 0;      ///< N of a full window
  bool narrow = false;             ///< H in floats (log_n, inverse), otherwise in doubles (*_wide)
  double unit = 0;                 ///< nats
  std::vector<std::int32_t> sums;  ///< [0..max_count]
  std::vector<float> log_n, inverse;  ///< [0..max_count]; log_n is NaN below the least valid count
  std::vector<double> log_n_wide, inverse_wide;

  /// The one formula every path uses.
  float entropy(std::int32_t sum, std::int32_t count) const {
    if (narrow) {
      const float part = static_cast<float>(sum) * inverse[count];
      return log_n[count] - part;
    }
    const double part = static_cast<double>(sum) * inverse_wide[count];
    return static_cast<float>(log_n_wide[count] - part);
  }
};

/// Tables for windows of `max_count` cells (at most 2^24), logarithms in `log_base` (0: natural),
/// NaN below `min_count`.
EntropyTables make_entropy_tables(std::int32_t max_count, double log_base, std::int32_t min_count);

/// Largest |H computed - H exact| over all histograms of at most max_count cells (natural
/// logarithm, the table's rounding alone), by dynamic programming over the parts. For tests and
/// docs; cost max_count^2.
double worst_table_error(const EntropyTables& tables);

}  // namespace tilewave::field
