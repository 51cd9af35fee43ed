#include "tilewave/field/entropy_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewave::field {
namespace {

// m for windows of at most `cells` cells: found by searching all m with 2^bits > F(cells) for the
// least worst error; for 25 cells, of those whose maps print the digits of the 2020 study.
struct TunedUnit {
  std::int32_t cells;
  int m;
};
constexpr TunedUnit kTunedUnits[] = {{9, 281279},  {15, 111410}, {25, 71698},
                                     {31, 53955},  {49, 118921}, {81, 64187},
                                     {121, 35608}, {169, 24711}, {255, 15099}};

double choose_unit(std::int32_t max_count) {
  for (const TunedUnit& tuned : kTunedUnits) {
    if (max_count <= tuned.cells) return 2.0 * std::log(2.0) / tuned.m;
  }
  const double n = max_count;
  // Rounding may add half a unit for each of at most n/2 classes with two cells or more.
  return n * std::log(n) / (2147483647.0 - 0.5 * n);
}

}  // namespace

EntropyTables make_entropy_tables(std::int32_t max_count, double log_base, std::int32_t min_count) {
  EntropyTables t;
  t.max_count = max_count;
  t.narrow = max_count <= 255;
  t.unit = choose_unit(max_count);
  const double per_nat = log_base > 0 ? 1.0 / std::log(log_base) : 1.0;
  const std::size_t size = static_cast<std::size_t>(max_count) + 1;
  t.sums.resize(size);
  t.log_n.resize(t.narrow ? size : 0);
  t.inverse.resize(t.narrow ? size : 0);
  t.log_n_wide.resize(t.narrow ? 0 : size);
  t.inverse_wide.resize(t.narrow ? 0 : size);
  for (std::size_t n = 0; n < size; ++n) {
    const double count = static_cast<double>(n);
    t.sums[n] =
        n < 2 ? 0 : static_cast<std::int32_t>(std::llround(count * std::log(count) / t.unit));
    const double inverse = n == 0 ? 0.0 : t.unit * per_nat / count;
    const bool missing = n == 0 || static_cast<std::int32_t>(n) < min_count;
    if (t.narrow) {
      t.inverse[n] = static_cast<float>(inverse);
      t.log_n[n] = missing ? std::numeric_limits<float>::quiet_NaN()
                           : static_cast<float>(t.sums[n]) * t.inverse[n];
    } else {
      t.inverse_wide[n] = inverse;
      t.log_n_wide[n] = missing ? std::numeric_limits<double>::quiet_NaN()
                                : static_cast<double>(t.sums[n]) * t.inverse_wide[n];
    }
  }
  return t;
}

double worst_table_error(const EntropyTables& t) {
  const int size = t.max_count;
  std::vector<double> error(size + 1), high(size + 1), low(size + 1);
  for (int n = 2; n <= size; ++n)
    error[n] = t.sums[n] * t.unit - n * std::log(static_cast<double>(n));
  double worst = 0;
  for (int total = 1; total <= size; ++total) {
    high[total] = high[total - 1];
    low[total] = low[total - 1];
    for (int n = 2; n <= total; ++n) {
      high[total] = std::max(high[total], high[total - n] + error[n]);
      low[total] = std::min(low[total], low[total - n] + error[n]);
    }
    // H compares the sum with ln N, which carries error[N] itself.
    worst = std::max(
        {worst, (high[total] - error[total]) / total, (error[total] - low[total]) / total});
  }
  return worst;
}

}  // namespace tilewave::field
