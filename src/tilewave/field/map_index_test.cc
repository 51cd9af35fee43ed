// Indices and constants of maps: 64-bit integers that wrap round, floats that round, rows of any length.
#include <cmath>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/field/map.h"
#include "tilewave/field/rasters_test.h"

namespace tilewave::field {
namespace {

// Integers keep all of their 64 bits and wrap round at them, whatever the modulus; floats would not.
TEST(Map, IndicesAreWholeNumbers) {
  using Of = std::int64_t (*)(std::int64_t x);
  struct Row {
    const char* text;
    Of want;
  };
  static const auto remainder = [](std::int64_t x, std::int64_t m) {
    const std::int64_t r = x % m;
    return r != 0 && (r < 0) != (m < 0) ? r + m : r;
  };
  static const auto wrapped = [](std::uint64_t x) { return static_cast<std::int64_t>(x); };
  static const auto hashed = [](std::int64_t x) {
    return wrapped(static_cast<std::uint64_t>(x) * 2654435761u * 2654435761u);
  };
  static const auto power = [](std::int64_t x) {
    std::uint64_t p = 1;
    for (int k = 0; k < 14; ++k) p *= static_cast<std::uint64_t>(x);
    return wrapped(p);
  };
  const Row rows[] = {
      {"idx % (iy + 7)", [](std::int64_t x) { return remainder(x, 7); }},
      {"idx % 7", [](std::int64_t x) { return remainder(x, 7); }},
      {"ix % -7", [](std::int64_t x) { return remainder(x, -7); }},
      {"-ix % 7", [](std::int64_t x) { return remainder(-x, 7); }},
      {"-ix % -1000", [](std::int64_t x) { return remainder(-x, -1000); }},
      {"ix % (iy - 7)", [](std::int64_t x) { return remainder(x, -7); }},
      {"(ix % 6 - 3) % -4", [](std::int64_t x) { return remainder(remainder(x, 6) - 3, -4); }},
      {"ix % 0", [](std::int64_t) { return std::int64_t{0}; }},
      {"ix % iy", [](std::int64_t) { return std::int64_t{0}; }},
      {"7 % 0", [](std::int64_t) { return std::int64_t{0}; }},
      {"floor(idx * 9007199254740993) + ceil(ix) % 7 - round(ix) + trunc(ix) - "
       "idx * 9007199254740993",
       [](std::int64_t x) { return remainder(x, 7); }},
      {"ix % -1", [](std::int64_t) { return std::int64_t{0}; }},
      {"((ix + 1) * -9223372036854775807 - ix - 1) % -1 + 1",
       [](std::int64_t) { return std::int64_t{1}; }},
      {"(idx*2654435761*2654435761) % 10", [](std::int64_t x) { return remainder(hashed(x), 10); }},
      {"(idx*2654435761*2654435761) % 16", [](std::int64_t x) { return remainder(hashed(x), 16); }},
      {"(idx*2654435761*2654435761) % 1000",
       [](std::int64_t x) { return remainder(hashed(x), 1000); }},
      {"(idx*(2654435761*2654435761)) % 10",
       [](std::int64_t x) { return remainder(hashed(x), 10); }},
      {"(ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix) % 7",
       [](std::int64_t x) { return remainder(power(x), 7); }},
      {"(ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix*ix) % 8",
       [](std::int64_t x) { return remainder(power(x), 8); }},
      {"9007199254740993 - 9007199254740992 + ix * 0",
       [](std::int64_t) { return std::int64_t{1}; }},
      {"(9223372036854775807 + 1 < 0) + ix * 0", [](std::int64_t) { return std::int64_t{1}; }},
      // a float where one of the two is one, whichever is chosen
      {"(ix % 2 ? idx : 0.5) + 0.5 == idx + 0.5", [](std::int64_t x) { return x % 2; }},
  };
  for (const Row& row : rows) {
    for (const std::int64_t width : {3000, 10}) {
      const auto got = map_of(row.text, std::vector<float>(3000), {}, width);
      for (std::int64_t i = 0; i < width; ++i) {  // of row 0
        ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<float>(row.want(i)))
            << row.text << " at " << i << " of " << width;
      }
    }
    const MapExpression e = MapExpression::parse(row.text);
    for (const std::int64_t i : {0, 1, 22, 23, 2999})
      EXPECT_EQ(e.evaluate(0, i, 0, i), static_cast<double>(row.want(i))) << row.text << " " << i;
  }
  // far along a row, where a float has no room for the index
  for (const char* text : {"idx % (iy + 7)", "ix % 7", "ix % -1000003"}) {
    std::vector<float> long_row(1 << 22);
    const std::int64_t y = 8, width = 1 << 22;  // idx from 2^25
    map_cpu(MapExpression::parse(text), {}, width, y, y + 1, long_row.data());
    const bool flat = text[2] == 'x';
    for (std::int64_t x = 0; x < 100; ++x) {
      const std::int64_t want =
          flat ? remainder(y * width + x, 15) : remainder(x, text[5] == '7' ? 7 : -1000003);
      ASSERT_EQ(long_row[static_cast<std::size_t>(x)], static_cast<float>(want))
          << text << " " << x;
    }
  }
}

// Constants round as the values of pixels do.
TEST(Map, ConstantsAreFloats) {
  const char* const pairs[][2] = {{"0.1+0.2==0.3", "v+0.2==0.3"},
                                  {"0.1+0.2", "v+0.2"},
                                  {"0.1-0.3", "v-0.3"},
                                  {"0.1*0.1", "v*v"},
                                  {"0.1/3", "v/3"},
                                  {"0.1%0.03", "v%0.03"},
                                  {"0.1*1e38*1e4-0.1*1e38*1e4", "v*1e38*1e4-v*1e38*1e4"},
                                  {"sqrt(0.1)*sqrt(0.1)", "sqrt(v)*sqrt(v)"},
                                  {"log(0.1)+1", "log(v)+1"},
                                  {"exp(0.1)*3", "exp(v)*3"},
                                  {"sin(0.1)/3", "sin(v)/3"},
                                  {"cos(cos(0.1))", "cos(cos(v))"},
                                  {"pow(0.1,3)", "pow(v,3)"},
                                  {"hypot(0.1,1)", "hypot(v,1)"},
                                  {"atan2(0.1,0.7)", "atan2(v,0.7)"},
                                  {"0.1 < 0.1000000001", "v < 0.1000000001"},
                                  {"0.1 == 0.1000000001 ? 2 : 3", "v == 0.1000000001 ? 2 : 3"}};
  for (const auto& [constant, of_value] : pairs)
    EXPECT_TRUE(same_bits(map_at(constant, 0), map_at(of_value, 0.1f)))
        << constant << " is " << map_at(constant, 0) << ", " << of_value << " "
        << map_at(of_value, 0.1f);
  EXPECT_EQ(map_at("(v+0.2==0.3)*10+(0.1+0.2==0.3)", 0.1f), 11.0f);
  EXPECT_EQ(map_at("16777216.0+1.0-16777216.0", 0), 0.0f);
  EXPECT_EQ(map_at("16777216+1-16777216", 0), 1.0f);                  // whole numbers
  EXPECT_EQ(map_at("(0 < 1 ? 16777217 : 0.5) - 16777216", 0), 0.0f);  // a float, whichever is taken
  EXPECT_TRUE(std::isnan(map_at("3e38*10-3e38*10", 0)));
  // what --verify compares with is rounded nowhere
  EXPECT_EQ(MapExpression::parse("v+0.1").evaluate(0, 0, 0, 0), 0.1);
  EXPECT_EQ(MapExpression::parse("0.1+0.2").evaluate(0, 0, 0, 0), 0.1 + 0.2);
}

// Rows that are short are joined, whatever the expression asks of a pixel's place: the values of long
// rows, and of any bands.
TEST(Map, ShortRowsHaveTheValuesOfLongOnes) {
  for (const std::int64_t width : {1, 2, 3, 4, 6, 31, 32, 33}) {
    const std::int64_t height = 4000 / width;
    const auto input = study_input(static_cast<std::size_t>(width * height));
    for (const char* text : {"v + 1", "v * ix + iy", "v + idx", "v + idx % 3", "v + ix % 2 * 100",
                             "(ix + 2 * iy) % 3 ? v : -v", "iy % 2 ? v : idx",
                             "v + ix % 4 + idx % 5", "v - iy % 16", "ix % 2 ? v + ix : v - 1"}) {
      const MapExpression e = MapExpression::parse(text);
      for (const MapOptions& o : {MapOptions{}, MapOptions{.threads = 2}}) {
        auto got = input;
        for (std::int64_t y = 0; y < height; y += height / 2 + 1)
          map_cpu(e, o, width, y, std::min(height, y + height / 2 + 1), got.data() + y * width);
        for (std::int64_t i = 0; i < width * height; ++i) {
          const auto k = static_cast<std::size_t>(i);
          const double want = e.evaluate(static_cast<double>(input[k]), i % width, i / width, i);
          ASSERT_EQ(got[k], static_cast<float>(want)) << text << ", pixel " << i << " of " << width;
        }
      }
    }
    for (const char* text : {"v + 1", "ix % 2 ? v : v * 2", "iy % 3 ? v : v * 2", "v + idx % 4"}) {
      EXPECT_TRUE(same_bits(map_of(text, input, {}, width),
                            map_of(text, input, {.precision = MapPrecision::kLut}, width)))
          << text << ", rows of " << width;
    }
  }
}

}  // namespace
}  // namespace tilewave::field
