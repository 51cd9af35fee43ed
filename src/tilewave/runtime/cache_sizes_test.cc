#include "tilewave/runtime/cache_sizes.h"

#include <gtest/gtest.h>

namespace tilewave::runtime {
namespace {

TEST(Caches, SizesAreThoseOfACoreOrUnknown) {
  const CacheSizes sizes = cache_sizes();
  if (sizes.first_level_bytes) {
    EXPECT_GE(sizes.first_level_bytes, std::size_t{4} << 10);
    EXPECT_LE(sizes.first_level_bytes, std::size_t{1} << 20);
  }
  if (sizes.first_level_bytes && sizes.second_level_bytes) {
    EXPECT_GT(sizes.second_level_bytes, sizes.first_level_bytes);
  }
  EXPECT_EQ(cache_sizes().first_level_bytes, sizes.first_level_bytes);
}

}  // namespace
}  // namespace tilewave::runtime
