// In the C locale, which tests have, strtod and printf are the reference.
#include "tilewave/base/read_double.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tilewave/base/philox.h"

namespace tilewave {
namespace {

TEST(ReadDouble, reads_what_strtod_reads_in_the_c_locale) {
  for (const char* text : {"0",
                           "1",
                           "-1",
                           "0.5",
                           ".5",
                           "5.",
                           "1e3",
                           "1e+3",
                           "1E-3",
                           "-2.5e-8x",
                           "0.1,2",
                           "0.0005 ",
                           "123456789012345678901234567890",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "4.9e-324",
                           "3e-324",
                           "2e-324",
                           "-2e-324",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "0e999999999999",
                           "0.001e311",
                           "0.0000001e-320",
                           "100000e304",
                           "100000e-330",
                           "1e99999999999999999999",
                           "1e-99999999999999999999",
                           "10e9223372036854775807",
                           "0.01e-9223372036854775808",
                           "1e",
                           "1e+",
                           "1ex",
                           "inf",
                           "-inf",
                           "infinity",
                           "1..2"}) {
    char* end = nullptr;
    const double expected = std::strtod(text, &end);
    const ReadNumber got = read_double(text);
    EXPECT_EQ(got.size, static_cast<std::size_t>(end - text)) << text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got.value), std::bit_cast<std::uint64_t>(expected))
        << text << " is " << got.value;
    EXPECT_EQ(got.is_too_large, std::isinf(expected) && std::strchr(text, 'i') == nullptr) << text;
  }
  EXPECT_TRUE(std::isnan(read_double("nan").value));
  for (const char* text : {"", " 1", "+1", "x", "-", ".", "e5", ",5", "--1"})
    EXPECT_EQ(read_double(text).size, 0u) << text;
}

TEST(ReadDouble, a_plus_may_stand_in_front_where_it_is_asked_for) {
  for (const char* text : {"1,", "+1,", "+1e0,", "+.1e1,"}) {
    const ReadNumber got = read_signed_double(text);
    EXPECT_EQ(got.value, 1) << text;
    EXPECT_EQ(got.size, std::string(text).size() - 1) << text;
  }
  EXPECT_EQ(read_signed_double("-1").value, -1);
  for (const char* text : {"", "+", "+-1", "++1", "-+1", "+ 1", "+x"})
    EXPECT_EQ(read_signed_double(text).size, 0u) << text;
}

TEST(ReadDouble, whole_texts) {
  for (const char* text : {"1", "+1", "1.0", "1e0"}) EXPECT_EQ(whole_double(text), 1.0) << text;
  for (const char* text : {"", "+", "1 ", " 1", "1,5", "++1", "+-1", "1x", "0x10"})
    EXPECT_FALSE(whole_double(text).has_value()) << text;
}

TEST(ReadDouble, random_numbers_come_back_and_are_written_as_printf_does) {
  for (std::uint64_t k = 0; k < 20000; ++k) {
    const auto words = philox4x32({{static_cast<std::uint32_t>(k), 0, 0, 0}}, 7, 0);
    const double x =
        std::bit_cast<double>(std::uint64_t{words.v[0]} << 32 | std::uint64_t{words.v[1]});
    if (!std::isfinite(x)) continue;
    char text[400];
    std::snprintf(text, sizeof text, "%.17g", x);
    EXPECT_EQ(read_double(text).value, x) << "number " << k << " of key 7: " << text;
    EXPECT_EQ(write_double(x, std::chars_format::general, 17), text);
    std::snprintf(text, sizeof text, "%.4g", x);
    EXPECT_EQ(write_double(x, std::chars_format::general, 4), text);
    std::snprintf(text, sizeof text, "%.5f", x);
    EXPECT_EQ(write_double(x, std::chars_format::fixed, 5), text);
  }
}

}  // namespace
}  // namespace tilewave
