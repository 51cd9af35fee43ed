#include "tilewave/base/philox.h"

#include <gtest/gtest.h>

namespace tilewave {
namespace {

// Known-answer vectors published with Random123 1.14 (philox4x32-10).
TEST(Philox, known_answers) {
  const Philox4x32 zero = philox4x32({{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zero.v[0], 0x6627e8d5u);
  EXPECT_EQ(zero.v[1], 0xe169c58du);
  EXPECT_EQ(zero.v[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.v[3], 0x9b00dbd8u);
  const std::uint32_t f = 0xffffffffu;
  const Philox4x32 ones = philox4x32({{f, f, f, f}}, f, f);
  EXPECT_EQ(ones.v[0], 0x408f276du);
  EXPECT_EQ(ones.v[1], 0x41c83b0eu);
  EXPECT_EQ(ones.v[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.v[3], 0x6d5451fdu);
}

TEST(Philox, uniform_is_in_range_and_balanced) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double u = random_uniform(7, 3, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

}  // namespace
}  // namespace tilewave
