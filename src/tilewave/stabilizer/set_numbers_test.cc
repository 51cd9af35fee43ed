#include "tilewave/stabilizer/set_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tilewave::stabilizer {
namespace {

// Against an ordered map: sets that come again, and hashes that begin at the same place.
TEST(SetNumbers, are_those_of_the_first_time) {
  for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0xFF}, std::uint64_t{0}}) {
    std::mt19937_64 random(mask);
    SetNumbers numbers;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> known;
    for (int k = 0; k < 6000; ++k) {
      const std::uint64_t which = random() % 2000;
      const SetHash hash = {(which * 0x9E3779B97F4A7C15u) & mask, which};
      const auto [it, fresh] =
          known.try_emplace({hash.a, hash.b}, static_cast<std::uint32_t>(known.size()));
      EXPECT_EQ(numbers.number_of(hash), std::pair(it->second, fresh));
      ASSERT_EQ(numbers.size(), known.size());
    }
    EXPECT_GT(known.size(), 1800u);
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
