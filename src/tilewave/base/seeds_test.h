// Random tests: one after the other, each with a seed that a failure names.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace tilewave {

/// f(seed, random) for the seeds below `count`, the generator seeded with `first` + seed, up to the
/// first one that fails.
template <class F>
void for_each_seed(std::uint64_t count, std::uint64_t first, F&& f) {
  for (std::uint64_t seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(first + seed);
    f(seed, random);
  }
}
template <class F>
void for_each_seed(std::uint64_t count, F&& f) {
  for_each_seed(count, 0, f);
}

}  // namespace tilewave
