#include "tilewave/field/entropy_tables.h"

#include <algorithm>
#include <bit>
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
constexpr TunedUnit kTunedUnits[] = {{9, 281279}, {15, 111410}, {25, 71698}, {31, 53955}};

double tuned_unit(std::int32_t max_count) {
  int k = 0;
  while (kTunedUnits[k].cells < max_count) ++k;
  return 2.0 * std::log(2.0) / kTunedUnits[k].m;
}

// Parabolas through log2 m - (m - 1) at the left end of each piece and two points within, so that
// counts below 64, which fall on left ends, are right to a rounding.
LogCurve make_curve(int exponent) {
  LogCurve curve;
  const double scale = std::ldexp(1.0, exponent);
  const double side = std::sqrt(0.75);
  for (int i = 0; i < LogCurve::kPieces; ++i) {
    double m[3], y[3];
    for (int k = 0; k < 3; ++k) {
      m[k] = 1 + (i + k * side / (1 + side)) / LogCurve::kPieces;
      y[k] = std::log2(m[k]) - (m[k] - 1);
    }
    const double first = (y[1] - y[0]) / (m[1] - m[0]), second = (y[2] - y[1]) / (m[2] - m[1]);
    const auto c = static_cast<float>((second - first) / (m[2] - m[0]));
    const auto b =
        static_cast<float>((y[2] - y[0]) / (m[2] - m[0]) - static_cast<double>(c) * (m[2] + m[0]));
    // what is left at the left end, after the rounding of the inner step; 0 for m = 1
    const float inner = std::fma(static_cast<float>(m[0]), c, b);
    const auto a = static_cast<float>(y[0] - m[0] * static_cast<double>(inner));
    curve.a[i] = static_cast<float>(a * scale);
    curve.b[i] = static_cast<float>(b * scale);
    curve.c[i] = static_cast<float>(c * scale);
  }
  curve.per_bit = static_cast<float>(std::ldexp(scale, -23));
  return curve;
}

// The largest power of two that keeps every window's sum below 2^bits: 2^exponent n log2 n, and
// half a unit of rounding for each of at most n/2 classes with two cells or more.
int choose_exponent(std::int32_t max_count, int bits) {
  const double n = max_count;
  return static_cast<int>(
      std::floor(std::log2((std::ldexp(0.999, bits) - 0.5 * n) / (n * std::log2(n)))));
}

// Whether 31 bits are too few: see the head of entropy_tables.h.
bool needs_long_sums(std::int32_t cells, std::int32_t levels) {
  constexpr std::int32_t kMostCells = 101 * 101;
  constexpr double kMostRounding = 1.3e-6;
  const double rounding = 0.5 * std::min(cells, levels) * std::log(cells) / (1 << 30);
  return levels > 256 && (cells > kMostCells || rounding > kMostRounding);
}

template <class Sum>
std::vector<Sum> differences(const std::vector<Sum>& sums) {
  std::vector<Sum> steps;
  for (std::size_t n = 0; n + 1 < sums.size(); ++n) steps.push_back(sums[n + 1] - sums[n]);
  return steps;
}

}  // namespace

std::int32_t LogCurve::sum(std::int32_t n) const {
  const auto x = static_cast<float>(n);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto u = static_cast<float>(static_cast<std::int32_t>(bits - 0x3F800000u));
  const std::uint32_t i = bits >> 18 & 31;
  const auto m = std::bit_cast<float>((bits & 0x7FFFFFu) | 0x3F800000u);
  const float g = std::fma(m, std::fma(m, c[i], b[i]), a[i]);
  return static_cast<std::int32_t>(std::lrint(x * std::fma(u, per_bit, g)));
}

EntropyTables make_entropy_tables(std::int32_t max_count, double log_base, std::int32_t min_count,
                                  std::int32_t unit_count, std::int32_t levels) {
  EntropyTables t;
  t.max_count = max_count;
  t.narrow = unit_count <= kMostNarrowCells;
  t.is_long = !t.narrow && needs_long_sums(unit_count, levels);
  int exponent = 0;
  if (t.narrow) {
    t.unit = tuned_unit(unit_count);
  } else {
    exponent = choose_exponent(unit_count, t.is_long ? 52 : 31);
    if (!t.is_long) t.curve = make_curve(exponent);
    t.unit = std::ldexp(std::log(2.0), -exponent);
  }
  const double per_nat = log_base > 0 ? 1.0 / std::log(log_base) : 1.0;
  const std::size_t size = static_cast<std::size_t>(max_count) + 1;
  t.sums.resize(t.is_long ? 0 : size);
  t.long_sums.resize(t.is_long ? size : 0);
  t.log_n.resize(t.narrow ? size : 0);
  t.inverse.resize(t.narrow ? size : 0);
  t.log_n_wide.resize(t.narrow ? 0 : size);
  t.inverse_wide.resize(t.narrow ? 0 : size);
  for (std::size_t n = 0; n < size; ++n) {
    const double count = static_cast<double>(n);
    if (n >= 2 && t.is_long) {
      t.long_sums[n] = std::llround(std::ldexp(count * std::log2(count), exponent));
    } else if (n >= 2) {
      t.sums[n] = t.narrow
                      ? static_cast<std::int32_t>(std::llround(count * std::log(count) / t.unit))
                      : t.curve.sum(static_cast<std::int32_t>(n));
    }
    const double inverse = n == 0 ? 0.0 : t.unit * per_nat / count;
    const bool missing = n == 0 || static_cast<std::int32_t>(n) < min_count;
    if (t.narrow) {
      t.inverse[n] = static_cast<float>(inverse);
      t.log_n[n] = missing ? std::numeric_limits<float>::quiet_NaN()
                           : static_cast<float>(t.sums[n]) * t.inverse[n];
    } else {
      const double sum = t.is_long ? static_cast<double>(t.long_sums[n]) : t.sums[n];
      t.inverse_wide[n] = inverse;
      t.log_n_wide[n] =
          missing ? std::numeric_limits<double>::quiet_NaN() : sum * t.inverse_wide[n];
    }
  }
  t.steps = differences(t.sums);
  t.long_steps = differences(t.long_sums);
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
