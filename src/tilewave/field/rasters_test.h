// For tests: whole rasters of codes and of values, and results compared bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "tilewave/field/entropy.h"
#include "tilewave/field/map.h"

namespace tilewave::field {

/// Every NaN is equal.
inline bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return same_bits(x, y); });
}

/// All rows of a raster.
template <class Code>
CodeRows<Code> all_rows(const Code* codes, std::int64_t width, std::int64_t height) {
  return {codes, width, width, height, 0, height};
}

template <class Code>
std::vector<float> entropy_of(const Code* codes, std::int64_t width, std::int64_t height,
                              const EntropyOptions& options) {
  std::vector<float> out(static_cast<std::size_t>(width * height), -1.0f);
  entropy_cpu(EntropyPlan(options, width, height), all_rows(codes, width, height), 0, height,
              out.data(), width);
  return out;
}
template <class Code>
std::vector<float> entropy_of(const std::vector<Code>& codes, std::int64_t width,
                              const EntropyOptions& options) {
  return entropy_of(codes.data(), width, static_cast<std::int64_t>(codes.size()) / width, options);
}

/// Of rows of `width` values; 0: of one row.
inline std::vector<float> map_of(const std::string& text, std::vector<float> values,
                                 const MapOptions& options = {}, std::int64_t width = 0) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (width == 0) width = size;
  map_cpu(MapExpression::parse(text), options, width, 0, size / width, values.data());
  return values;
}

inline std::int64_t count_nan(const std::vector<float>& values) {
  return std::count_if(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

/// The 2020 study's input: the 32-bit linear congruential generator of its C library, seed 1.
inline std::vector<float> study_input(std::size_t count) {
  std::vector<float> values(count);
  std::uint32_t state = 1;
  for (float& v : values) {
    state = state * 214013u + 2531011u;
    v = 10.0f + static_cast<float>((state >> 16 & 0x7fffu) % 256u);
  }
  return values;
}
inline constexpr const char* kStudy = "v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))";

/// Expects `work` to start so many threads in a process that has started none yet.
template <class F>
void expect_started_threads(int count, F&& work) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    const auto tasks = [] {
      const std::filesystem::directory_iterator all("/proc/self/task");
      return static_cast<int>(std::distance(begin(all), end(all)));
    };
    const int before = tasks();
    work();
    std::exit(tasks() - before);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(count), "");
}

/// The value of a map at a column of a row of equal values.
inline float map_at(const std::string& text, float v, std::int64_t width = 1,
                    std::int64_t column = 0) {
  return map_of(text, std::vector<float>(static_cast<std::size_t>(width), v))
      .at(static_cast<std::size_t>(column));
}

}  // namespace tilewave::field
