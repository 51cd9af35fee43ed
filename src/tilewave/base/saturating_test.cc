#include "tilewave/base/saturating.h"

#include <gtest/gtest.h>

namespace tilewave {
namespace {

TEST(Saturating, sums_and_products_stay_at_the_largest_number) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const std::uint64_t edges[] = {0,         1,         2,    3, 1ull << 32, (1ull << 32) - 1,
                                 kMost / 2, kMost - 1, kMost};
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) {
      __extension__ using Wide = unsigned __int128;
      const Wide sum = Wide{a} + b, product = Wide{a} * b;
      EXPECT_EQ(saturating_add(a, b), sum > kMost ? kMost : static_cast<std::uint64_t>(sum));
      EXPECT_EQ(saturating_multiply(a, b),
                product > kMost ? kMost : static_cast<std::uint64_t>(product));
    }
  }
}

}  // namespace
}  // namespace tilewave
