#include "tilewave/base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace tilewave {
namespace {

TEST(Units, counts_things) {
  EXPECT_EQ(counted(0, "qubit"), "0 qubits");
  EXPECT_EQ(counted(1, "qubit"), "1 qubit");
  EXPECT_EQ(counted(2, "qubit"), "2 qubits");
}

TEST(Units, nine_digits_are_as_many_as_there_are) {
  EXPECT_EQ(nine_digits(0.1), "0.1");
  EXPECT_EQ(nine_digits(1e-9), "1e-09");
  EXPECT_EQ(nine_digits(-2.0 / 3), "-0.666666667");
  EXPECT_EQ(nine_digits(1234567890), "1.23456789e+09");
}

TEST(Units, numbers_have_three_digits_and_no_exponent) {
  EXPECT_EQ(in_time(0), "0 us");
  EXPECT_EQ(in_time(1.234e-5), "12.3 us");
  EXPECT_EQ(in_time(999.4e-6), "999 us");
  EXPECT_EQ(in_time(999.6e-6), "1 ms");
  EXPECT_EQ(in_time(0.9996), "1 s");
  EXPECT_EQ(in_time(59.94), "59.9 s");
  EXPECT_EQ(in_time(1234.4), "1234 s");
  EXPECT_EQ(in_bytes(64), "64 B");
  EXPECT_EQ(in_bytes(1023), "1023 B");
  EXPECT_EQ(in_bytes(1023ull << 20), "1023 MiB");
  EXPECT_EQ(in_bytes(1ull << 30), "1 GiB");
  EXPECT_EQ(in_bytes(5000ull << 50), "5000 PiB");
  EXPECT_EQ(in_units(168, ""), "168");
  EXPECT_EQ(in_units(999.7, "B"), "1 kB");
  EXPECT_EQ(in_units(51.2e6, ""), "51.2 M");
  EXPECT_EQ(in_units(8.9e18, "B"), "8900 PB");
  EXPECT_EQ(in_bytes(~std::uint64_t{0}), "16384 PiB");
  EXPECT_EQ(in_units(1e21, "B"), "1000000 PB");
  for (const double huge : {1.1e21, 1.5e30, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(in_units(huge, "B"), "more than 1000000 PB") << huge;
    EXPECT_EQ(in_time(huge), "more than 1000000 s") << huge;
  }
}

}  // namespace
}  // namespace tilewave
