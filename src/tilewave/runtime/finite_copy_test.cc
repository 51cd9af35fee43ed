#include "tilewave/runtime/finite_copy.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tilewave::runtime {
namespace {

TEST(FiniteCopy, copies_any_number_from_and_to_anywhere) {
  for (const std::size_t count : {0u, 1u, 2u, 7u, 8u, 9u, 63u, 64u, 1000u, 65536u, 200001u}) {
    for (const std::size_t offset : {0u, 1u, 2u, 3u}) {
      std::vector<double> from(count + 8), to(count + 8, -1);
      for (std::size_t k = 0; k < from.size(); ++k) from[k] = static_cast<double>(k) + 0.25;
      ASSERT_TRUE(copy_on_threads(to.data() + offset, from.data() + 3, count));
      for (std::size_t k = 0; k < to.size(); ++k) {
        const bool copied = k >= offset && k < offset + count;
        ASSERT_EQ(to[k], copied ? from[3 + k - offset] : -1.0) << count << " " << offset;
      }
    }
  }
}

TEST(FiniteCopy, sees_every_number_that_is_not_finite) {
  constexpr std::size_t kCount = 133;
  const double odd[] = {std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN()};
  for (std::size_t at = 0; at < kCount; ++at) {
    std::vector<double> from(kCount, std::numeric_limits<double>::max()), to(kCount + 1);
    for (const double x : odd) {
      from[at] = x;
      EXPECT_FALSE(copy_on_threads(to.data() + at % 2, from.data(), kCount)) << at;
    }
    from[at] = std::numeric_limits<double>::denorm_min();
    EXPECT_TRUE(copy_on_threads(to.data() + at % 2, from.data(), kCount)) << at;
  }
}

TEST(FiniteCopy, sees_every_number_that_is_too_large) {
  constexpr std::size_t kCount = 133;
  for (const double most : {1.5, 1e300}) {
    for (std::size_t at = 0; at < kCount; ++at) {
      std::vector<double> from(kCount, 0.99 * most), to(kCount + 1);
      for (const double sign : {1.0, -1.0}) {
        from[at] = sign * 1.01 * most;
        EXPECT_FALSE(copy_on_threads(to.data() + at % 2, from.data(), kCount, most)) << at;
        EXPECT_TRUE(copy_on_threads(to.data() + at % 2, from.data(), kCount)) << at;
        from[at] = sign * 0.99 * most;
        EXPECT_TRUE(copy_on_threads(to.data() + at % 2, from.data(), kCount, most)) << at;
      }
    }
  }
  double to = 0, zero = 0;
  EXPECT_FALSE(copy_on_threads(&to, &zero, 1, 0.0));  // nothing is known to be small enough
}

}  // namespace
}  // namespace tilewave::runtime
