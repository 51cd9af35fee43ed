// n ln n as integers. sums[n] = round(n ln n / unit), so a window's sum S = sum_i sums[n_i] is
// exact whatever the order, and H = log_n[N] - S * inverse[N] is one multiplication and one
// subtraction.
//
// Narrow windows (N <= 31): S < 2^22, exact in a float; H is computed in floats. The unit is
// 2 ln 2 / m with m chosen so that n ln n for the primes 2, 3, 5, 7 (and so for all their products)
// falls almost on integers: the worst error over all histograms is then 6.3e-7 instead of 3e-6
// (5x5). Wide windows: sums[n] is what LogCurve says, a formula of single-precision operations that
// a vector evaluates faster than it looks tables up; S < 2^31, H is computed in doubles and rounded
// once. log_n[N] is sums[N] * inverse[N] rounded the same way, so a window of one class gives
// exactly 0.
//
// Each class rounds its n ln n by up to half a unit, and many classes in a large window may all
// round the same way: min(K, N) / 2 units, where a unit is up to N ln N / 2^30. Where that would
// reach 1.3e-6, or the curve's error would show (more than 101 x 101 cells), sums of more than 256
// classes are long: S < 2^52, exact in a double, so that the rounding of H to a float is all that
// is left. (The kernels of fewer classes live on 31 bits.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace tilewave::field {

/// n log2 n in units of 2^-exponent, each step rounded to a float, to the nearest:
///   u = bits(float(n)) - bits(1.0f)        (the exponent, and the fraction of n's leading part m)
///   g = fma(m, fma(m, c[i], b[i]), a[i])   (log2 m - (m - 1); i: the first 5 bits of the fraction)
///   n log2 n = round(float(n) * fma(float(u), per_bit, g))
/// |log2 n| is off by at most 1.1e-6, and not at all for n = 1, 2, 4, ...
struct LogCurve {
  static constexpr int kPieces = 32;
  float a[kPieces], b[kPieces], c[kPieces];
  float per_bit = 0;
  /// sums[n].
  std::int32_t sum(std::int32_t n) const;
};

/// Windows of so many cells, at most, are narrow.
inline constexpr std::int32_t kMostNarrowCells = 31;

struct EntropyTables {
  std::int32_t max_count = 0;       ///< N of a full window
  bool narrow = false;              ///< H in floats (log_n, inverse), otherwise in doubles (*_wide)
  bool is_long = false;             ///< sums in 64 bits (long_*), otherwise in 32
  double unit = 0;                  ///< nats
  LogCurve curve{};                 ///< of wide windows
  std::vector<std::int32_t> sums;   ///< [0..max_count]
  std::vector<std::int32_t> steps;  ///< sums[n + 1] - sums[n], [0..max_count - 1]
  std::vector<std::int64_t> long_sums, long_steps;
  std::vector<float> log_n, inverse;  ///< [0..max_count]; log_n is NaN below the least valid count
  std::vector<double> log_n_wide, inverse_wide;

  /// The tables of one kind of sums.
  template <class Sum>
  const std::vector<Sum>& sums_of() const {
    if constexpr (std::is_same_v<Sum, std::int64_t>)
      return long_sums;
    else
      return sums;
  }
  template <class Sum>
  const std::vector<Sum>& steps_of() const {
    if constexpr (std::is_same_v<Sum, std::int64_t>)
      return long_steps;
    else
      return steps;
  }

  /// The one formula every path uses.
  template <class Sum>
  float entropy(Sum sum, std::int32_t count) const {
    if (narrow) {
      const float part = static_cast<float>(sum) * inverse[count];
      return log_n[count] - part;
    }
    const double part = static_cast<double>(sum) * inverse_wide[count];
    return static_cast<float>(log_n_wide[count] - part);
  }
};

/// Tables for windows of `max_count` cells (at most 2^24), logarithms in `log_base` (0: natural),
/// NaN below `min_count`. Their unit is that of windows of `unit_count` cells, max_count or more,
/// with `levels` classes.
EntropyTables make_entropy_tables(std::int32_t max_count, double log_base, std::int32_t min_count,
                                  std::int32_t unit_count, std::int32_t levels = 256);

/// Largest |H computed - H exact| over all histograms of at most max_count cells (natural
/// logarithm, the table's rounding alone), by dynamic programming over the parts. For tests and
/// docs; cost max_count^2.
double worst_table_error(const EntropyTables& tables);

}  // namespace tilewave::field
