// The study's versions for the CPU (v10 .. v13, OpenMP over rows), the reference in double
// precision and what compares with it. Windows are (2 r + 1)^2 cells, cut at the border.
#pragma once

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/ladder.cuh"

namespace host {

using Byte = std::uint8_t;

/// Uniform codes below `classes` (a power of two): a hash of the index.
inline std::vector<Byte> random_codes(std::size_t n, int classes) {
  std::vector<Byte> codes(n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(n); ++i) {
    std::uint64_t z = static_cast<std::uint64_t>(i) + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    codes[static_cast<std::size_t>(i)] =
        static_cast<Byte>((z >> 40) % static_cast<unsigned>(classes));
  }
  return codes;
}

inline std::vector<float> logs_as_floats(int cells) {
  std::vector<float> logs(static_cast<std::size_t>(cells) + 1);
  for (int n = 1; n <= cells; ++n)
    logs[static_cast<std::size_t>(n)] = static_cast<float>(std::log(static_cast<double>(n)));
  return logs;
}

struct Range {
  int begin, end;
};
inline Range around(int i, int radius, int size) {
  return {std::max(0, i - radius), std::min(size, i + radius + 1)};
}

/// By the definition -sum p ln p, one logarithm a class present.
inline std::vector<double> reference(const std::vector<Byte>& codes, int w, int h, int radius,
                                     int classes) {
  std::vector<double> right(codes.size());
#pragma omp parallel for schedule(dynamic, 16)
  for (int y = 0; y < h; ++y) {
    std::vector<int> counts(static_cast<std::size_t>(classes));
    for (int x = 0; x < w; ++x) {
      std::fill(counts.begin(), counts.end(), 0);
      const Range rows = around(y, radius, h), columns = around(x, radius, w);
      for (int yy = rows.begin; yy < rows.end; ++yy)
        for (int xx = columns.begin; xx < columns.end; ++xx)
          ++counts[codes[static_cast<std::size_t>(yy) * w + xx]];
      const double n = (rows.end - rows.begin) * (columns.end - columns.begin);
      double sum = 0;
      for (const int c : counts) {
        if (c > 0) sum -= c / n * std::log(c / n);
      }
      right[static_cast<std::size_t>(y) * w + x] = sum;
    }
  }
  return right;
}

/// Largest distance; infinite where a value is no number.
inline double largest_error(const float* values, const std::vector<double>& right) {
  double worst = 0;
#pragma omp parallel for reduction(max : worst)
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(right.size()); ++i) {
    const double d = std::fabs(values[i] - right[static_cast<std::size_t>(i)]);
    worst = std::max(worst, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

/// Median wall time.
inline double median_ms(int samples, const std::function<void()>& body) {
  std::vector<double> times;
  for (int k = -1; k < samples; ++k) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    if (k >= 0) times.push_back(ms.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Image {
  const float* in;  // codes as floats, as the study has them
  float* out;
  int w, h;
};

// Counting a window: Counter counts, a table of Log holds ln n (or each is computed), sums in
// doubles.
template <int kRadius, int kClasses, class Counter, class Log, bool kTable>
void count_windows(const Image& m) {
  constexpr int kCells = (2 * kRadius + 1) * (2 * kRadius + 1);
  Log logs[kCells + 1] = {};
  for (int n = 1; n <= kCells; ++n) logs[n] = static_cast<Log>(std::log(static_cast<double>(n)));
#pragma omp parallel for
  for (int y = 0; y < m.h; ++y) {
    for (int x = 0; x < m.w; ++x) {
      Counter counts[kClasses] = {};
      const Range rows = around(y, kRadius, m.h), columns = around(x, kRadius, m.w);
      for (int yy = rows.begin; yy < rows.end; ++yy)
        for (int xx = columns.begin; xx < columns.end; ++xx)
          ++counts[static_cast<int>(m.in[static_cast<std::size_t>(yy) * m.w + xx])];
      const int n = (rows.end - rows.begin) * (columns.end - columns.begin);
      const double inverse = 1.0 / n;
      double ans = kTable ? static_cast<double>(logs[n]) : std::log(static_cast<double>(n));
      for (int c = 0; c < kClasses; ++c) {
        if constexpr (kTable) {
          ans -= static_cast<double>(logs[counts[c]]) * counts[c] * inverse;
        } else if (counts[c] != 0) {
          ans -= std::log(static_cast<double>(counts[c])) * counts[c] * inverse;
        }
      }
      m.out[static_cast<std::size_t>(y) * m.w + x] = static_cast<float>(ans);
    }
  }
}

// v13: a plane of prefix sums a class, then four reads a class whatever the window.
template <int kRadius, int kClasses>
void prefix_sums(const Image& m, std::vector<std::int32_t>& planes) {
  constexpr int kCells = (2 * kRadius + 1) * (2 * kRadius + 1);
  float logs[kCells + 1] = {};
  for (int n = 1; n <= kCells; ++n) logs[n] = static_cast<float>(std::log(static_cast<double>(n)));
  const std::size_t pitch = static_cast<std::size_t>(m.w) + 1, plane = pitch * (m.h + 1);
  planes.resize(plane * kClasses);
#pragma omp parallel for
  for (int c = 0; c < kClasses; ++c) {
    std::int32_t* p = planes.data() + c * plane;
    std::fill(p, p + pitch, 0);
    for (int y = 0; y < m.h; ++y) {
      std::int32_t* row = p + (y + 1) * pitch;
      std::int32_t sum = 0;
      row[0] = 0;
      for (int x = 0; x < m.w; ++x) {
        sum += static_cast<int>(m.in[static_cast<std::size_t>(y) * m.w + x]) == c;
        row[x + 1] = sum + row[x + 1 - static_cast<std::ptrdiff_t>(pitch)];
      }
    }
  }
#pragma omp parallel for
  for (int y = 0; y < m.h; ++y) {
    const Range rows = around(y, kRadius, m.h);
    for (int x = 0; x < m.w; ++x) {
      const Range columns = around(x, kRadius, m.w);
      const int n = (rows.end - rows.begin) * (columns.end - columns.begin);
      const double inverse = 1.0 / n;
      double ans = logs[n];
      for (int c = 0; c < kClasses; ++c) {
        const std::int32_t *top = planes.data() + c * plane + rows.begin * pitch,
                           *bottom = planes.data() + c * plane + rows.end * pitch;
        const int count =
            bottom[columns.end] - bottom[columns.begin] - top[columns.end] + top[columns.begin];
        ans -= static_cast<double>(logs[count]) * count * inverse;
      }
      m.out[static_cast<std::size_t>(y) * m.w + x] = static_cast<float>(ans);
    }
  }
}

/// v10 .. v13 at size x size, and v12 beside v13 for larger windows and fewer classes.
inline void run_versions(int size, ladder::Report& report, ladder::Report& sweep) {
  const auto n = static_cast<std::size_t>(size) * size;
  std::vector<float> in(n), out(n);
  std::vector<std::int32_t> planes;
  std::vector<double> right;
  const Image m{in.data(), out.data(), size, size};
  const int threads = omp_get_max_threads();
  const auto prepare = [&](int radius, int classes) {
    const std::vector<Byte> codes = random_codes(n, classes);
    std::copy(codes.begin(), codes.end(), in.begin());
    right = reference(codes, size, size, radius, classes);
  };
  const auto measure = [&](const std::string& name, const std::function<void()>& body) {
    std::fill(out.begin(), out.end(), NAN);
    body();
    const double error = largest_error(out.data(), right);
    if (!(error <= 5e-6))
      throw std::runtime_error(name + " on the CPU is wrong by " + std::to_string(error));
    return std::pair{median_ms(3, body), error};
  };
  const auto version = [&](const char* name, const std::function<void()>& body) {
    const auto [ms, error] = measure(name, body);
    report.row({std::string(name), std::string("5x5"), 16LL, ms,
                1e6 * ms * threads / static_cast<double>(n), static_cast<long long>(threads),
                error});
  };
  prepare(2, 16);
  version("v10", [&] { count_windows<2, 16, int, double, false>(m); });
  version("v11", [&] { count_windows<2, 16, int, double, true>(m); });
  version("v12", [&] { count_windows<2, 16, signed char, float, true>(m); });
  version("v13", [&] { prefix_sums<2, 16>(m, planes); });

  const auto pair = [&]<int kRadius, int kClasses, class Counter>() {
    prepare(kRadius, kClasses);
    const std::string side = std::to_string(2 * kRadius + 1);
    const double counting =
        measure("v12", [&] { count_windows<kRadius, kClasses, Counter, float, true>(m); }).first;
    const double prefix = measure("v13", [&] { prefix_sums<kRadius, kClasses>(m, planes); }).first;
    sweep.row(
        {side + "x" + side, static_cast<long long>(kClasses), counting, prefix, counting / prefix});
  };
  pair.operator()<2, 16, signed char>();
  pair.operator()<4, 16, signed char>();
  pair.operator()<8, 16, short>();
  pair.operator()<16, 16, short>();
  pair.operator()<2, 4, signed char>();
  pair.operator()<4, 4, signed char>();
  pair.operator()<8, 4, short>();
  pair.operator()<2, 2, signed char>();
}

}  // namespace host
