// For tests: runs of short programs, and their counts.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "tilewave/circuit/noise_model.h"
#include "tilewave/language/noise/json.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

using Counts = std::map<std::string, std::uint64_t>;

inline circuit::Circuit qasm(const std::string& body) {
  return language::parse_qasm2("OPENQASM 2.0;\ninclude \"qelib1.inc\";\n" + body, "test");
}

inline std::shared_ptr<const circuit::NoiseModel> noise(const std::string& text) {
  return std::make_shared<circuit::NoiseModel>(language::parse_noise_model(text, "test"));
}

inline Options shots_of(std::uint64_t shots, std::uint64_t seed) {
  Options options;
  options.shots = shots;
  options.seed = seed;
  return options;
}

inline std::uint64_t total(const Counts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counts) sum += count;
  return sum;
}

inline double count_of(const Counts& counts, const std::string& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : static_cast<double>(found->second);
}

/// |count - shots p| within `deviations` standard deviations.
inline void expect_share(const Counts& counts, const std::string& key, double p,
                         double deviations = 6) {
  const double shots = static_cast<double>(total(counts));
  EXPECT_NEAR(count_of(counts, key), shots * p, deviations * std::sqrt(shots * p * (1 - p)) + 1e-9)
      << key;
}

/// Of as many shots each: what all counts of `a` differ by, squared, over its variance.
inline double chi_square(const Counts& a, const Counts& b) {
  double chi = 0;
  for (const auto& [key, count] : a) {
    const double x = static_cast<double>(count), y = count_of(b, key);
    chi += (x - y) * (x - y) / (x + y);
  }
  return chi;
}

}  // namespace tilewave::simulate
