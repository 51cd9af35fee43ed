// The expression language, its errors, and maps against double precision; the study's printed
// numbers.
#include "tilewave/field/map.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/field/rasters_test.h"

namespace tilewave::field {
namespace {

std::string map_error(const std::string& text) {
  return error_of([&] { MapExpression::parse(text); }, ExitCode::kUsage);
}

TEST(Map, TheStudysNumbers) {
  const auto input = study_input(2048 * 8);
  EXPECT_EQ(input[0], 51);
  EXPECT_EQ(input[9], 154);
  const auto values = map_of(kStudy, input, {.repeat = 10}, 2048);
  const char* want[] = {"53.4068", "67.3596", "204.203", "166.555", "235.619",
                        "142.202", "229.336", "209.047", "97.3885", "178.709"};
  for (int i = 0; i < 10; ++i) {
    char text[40];
    std::snprintf(text, sizeof text, "%g",
                  static_cast<double>(values[static_cast<std::size_t>(i)]));
    EXPECT_STREQ(text, want[i]) << i;
  }
}

TEST(Map, LutHasTheBitsOfPrecise) {
  for (const std::int64_t width : {64, 61}) {
    for (const char* text : {kStudy, "v + idx % 3 + (iy % 2 ? 1 : sqrt(v))", "sqrt(v) * 0.5"}) {
      const auto input = study_input(static_cast<std::size_t>(width * 32));
      const MapOptions lut{.repeat = 7, .precision = MapPrecision::kLut};
      EXPECT_TRUE(
          same_bits(map_of(text, input, {.repeat = 7}, width), map_of(text, input, lut, width)))
          << text << " " << width;
    }
  }
}

TEST(Map, LutRefusesWhatIsNotProven) {
  const MapOptions lut{.precision = MapPrecision::kLut};
  for (const float bad : {0.5f, -0.0f, NAN, 1e6f})
    EXPECT_THROW(map_of("v + 1", {1, 2, bad, 4}, lut), Error) << bad;
  EXPECT_THROW(map_of("v + ix", {1, 2, 3, 4}, lut), Error);
}

TEST(Map, ErrorsKnowOtherLanguages) {
  const char* rows[][2] = {{"v ** 2", "('pow(a, b)' for '**')"},
                           {"v ^ 2", "('pow(a, b)' for '^')"},
                           {"v > 1 and v < 3", "('&&' for 'and')"},
                           {"ln(v)", "('log' for 'ln')"},
                           {"x + 1", "('ix' for 'x')"},
                           {"v = 2", "('==' for '=')"},
                           {"arctan2(v, 1)", "('atan2' for 'arctan2')"},
                           {"fmod(v, 3)", "('a % b' for 'fmod')"},
                           {"isinf(v)", "('abs(v) == inf' for 'isinf')"}};
  for (const auto& [text, words] : rows) {
    EXPECT_NE(map_error(text).find(words), std::string::npos) << map_error(text);
  }
  for (const char* text : {"v andy", "xx + 1", "v $ 2", "* 2"}) {
    EXPECT_EQ(map_error(text).find(" for '"), std::string::npos) << map_error(text);
  }
}

TEST(Map, ErrorsNameTheColumn) {
  struct Row {
    const char* text;
    const char* start;
    int caret;
  };
  const Row rows[] = {{"v + foo(v)", "expression: column 5: 'foo' is not known", 4},
                      {"v +", "expression: column 4: the expression ends too early", 3},
                      {"sqrt(v", "expression: column 7: sqrt takes 1 argument", 6},
                      {"min(v)", "expression: column 6: min takes 2 arguments", 5},
                      {"v ? 1", "expression: column 6: the second half", 5},
                      {"2x", "expression: column 2: a letter follows a number", 1},
                      {"v v", "expression: column 3: 'v' is not expected", 2},
                      {"(v", "expression: column 3: a parenthesis is not closed", 2},
                      {"v @ 2", "expression: column 3: '@' is not expected", 2},
                      {"0<v<5", "expression: column 4: comparisons do not chain", 3},
                      {"v > 1 >= 0", "expression: column 7: comparisons do not chain", 6},
                      {"v == 1 != 0", "expression: column 8: comparisons do not chain", 7},
                      {"2 * \u00b5", "expression: column 5: '\u00b5' is not expected", 4},
                      {"v \u2264 2", "expression: column 3: '\u2264' is not expected", 2},
                      {"v \xff", "expression: column 3: byte 0xff is not expected", 2},
                      {"\x1b[31mv", "expression: column 1: byte 0x1b is not expected", 0},
                      {"", "expression: column 1: the expression ends too early", 0}};
  for (const Row& row : rows) {
    const std::string message = map_error(row.text);
    EXPECT_TRUE(message.starts_with(row.start)) << message;
    EXPECT_TRUE(
        message.ends_with("\n  " + std::string(static_cast<std::size_t>(row.caret), ' ') + "^"))
        << message;
  }
  // a fault at the first, a middle and the last column of a short and of a long text: the line has
  // the fault above the caret, and what follows it
  for (const std::size_t before : {0, 1, 40, 59, 60, 61, 300}) {
    for (const std::size_t after : {0, 1, 59, 60, 61, 300}) {
      const std::string message =
          map_error(std::string(before, ' ') + "@" + std::string(after, ' '));
      const std::size_t line = message.find("\n  ") + 3, caret = message.rfind("\n  ") + 3;
      const std::size_t column = message.size() - 1 - caret;
      EXPECT_EQ(column, before > 60 ? 63 : before) << message;
      EXPECT_EQ(message[line + column], '@') << message;
      EXPECT_EQ(caret - 3 - line, column + (after < 60 ? after + 1 : 63)) << message;
    }
  }
  EXPECT_TRUE(map_error("1 + v @ 3").ends_with("\n  1 + v @ 3\n        ^"));
  EXPECT_TRUE(has(map_error("v +* 2"), "\n  v +* 2\n     ^"));             // the line is whole
  EXPECT_EQ(map_error("\x1b[31mv \xff").find('\x1b'), std::string::npos);  // nor in the line below
  EXPECT_EQ(map_error("v \xff").find('\xff'), std::string::npos);
  EXPECT_NE(map_error(std::string(100000, '(')), "no error");
  EXPECT_NE(map_error(std::string(100000, '-') + "v"), "no error");
}

TEST(Map, Semantics) {
  EXPECT_EQ(map_at("1 + 2 * 3 - 4 / 8", 0), 6.5f);
  EXPECT_EQ(map_at("-v - -3", 5), -2.0f);
  EXPECT_EQ(map_at("v > 2 && v < 4 || v == 9", 3), 1.0f);
  EXPECT_EQ(map_at("!(v >= 3)", 3), 0.0f);
  EXPECT_EQ(map_at("(ix - 3) % 5", 0, 4, 0), 2.0f);  // non-negative remainder
  EXPECT_EQ(map_at("7 / 2", 0), 3.5f);
  EXPECT_EQ(map_at("v % 2.5", -1), 1.5f);
  EXPECT_EQ(map_at("select(ix >= 2, 10, 20)", 0, 5, 2), 10.0f);
  EXPECT_EQ(map_at("ix * 1000003 % 1000", 0, 40, 39), static_cast<float>(39LL * 1000003 % 1000));
  EXPECT_EQ(map_at("1 / v", 0), INFINITY);
  EXPECT_TRUE(std::isnan(map_at("v / v", 0)));
  EXPECT_TRUE(std::isnan(map_at("sqrt(v)", -1)));
  EXPECT_TRUE(std::isnan(map_at("log(v)", -1)));
  EXPECT_EQ(map_at("log(v)", 0), -INFINITY);
  EXPECT_TRUE(std::isnan(map_at("cos(v)", INFINITY)));
  EXPECT_EQ(map_at("exp(v)", 1000), INFINITY);
  EXPECT_EQ(map_at("round(v)", 2.5f), 2.0f);
  EXPECT_EQ(map_at("pi - e", 0), static_cast<float>(M_PI) - static_cast<float>(M_E));
  EXPECT_EQ(map_at("(0 < v) < 5", 7), 1.0f);
  EXPECT_EQ(map_at("v > 1 == 0", 7), 0.0f);
  EXPECT_EQ(map_at("ix * 4000000000000000 + ix * 3000000000000000", 0, 2001, 2000),
            static_cast<float>(static_cast<std::int64_t>(2000 * 7000000000000000ULL)));  // wraps
}

// What an expression makes of a value.
struct Value {
  const char* text;
  float v, want;
};
void expect_value(const Value& row, MapPrecision precision, std::size_t count) {
  for (const float got :
       map_of(row.text, std::vector<float>(count, row.v), {.precision = precision})) {
    EXPECT_TRUE(got == row.want || (std::isnan(got) && std::isnan(row.want)))
        << row.text << " of " << row.v << " gives " << got;
  }
}

// Functions that are short for several operations.
TEST(Map, ShortFunctions) {
  for (const Value& row : {Value{"clip(v, -1, 2)", 5.0f, 2.0f},
                           {"clip(v, -1, 2)", -INFINITY, -1.0f},
                           {"clip(v, -1, 2)", 0.5f, 0.5f},
                           {"clip(v, -1, 2)", NAN, NAN},
                           {"sign(v)", -3.5f, -1.0f},
                           {"sign(v)", 1e-45f, 1.0f},
                           {"1 / sign(v)", -0.0f, INFINITY},
                           {"sign(v)", NAN, NAN},
                           {"sign(ix - 2)", 0.0f, -1.0f},
                           {"isnan(v)", NAN, 1.0f},
                           {"isnan(v)", INFINITY, 0.0f},
                           {"isnan(nan)", 0.0f, 1.0f},
                           {"isnan(ix)", 0.0f, 0.0f},
                           {"where(isnan(v), -1, v)", NAN, -1.0f},
                           {"where(v > 2, nan, v)", 3.0f, NAN},
                           {"where(v > 2, -inf, v)", 3.0f, -INFINITY},
                           {"trunc(v)", -2.7f, -2.0f},
                           {"hypot(v, inf)", NAN, INFINITY},
                           {"hypot(v, 4)", -3.0f, 5.0f}}) {
    expect_value(row, MapPrecision::kPrecise, 1);
  }
}

TEST(Map, SmallArraysTakeOneThread) {
  for (const auto& [width, precision, threads] : {std::tuple{64, MapPrecision::kPrecise, 0},
                                                  {64, MapPrecision::kLut, 0},
                                                  {8192, MapPrecision::kPrecise, 1}}) {
    const std::vector<float> values(static_cast<std::size_t>(width * 64), 3.0f);
    const MapOptions o{.precision = precision, .threads = 2};
    expect_started_threads(threads, [&, width = width] { map_of(kStudy, values, o, width); });
  }
}

TEST(Map, ResiduesAreSpecialisedAway) {
  const MapExpression e = MapExpression::parse(kStudy);
  EXPECT_EQ(e.period(), 2);
  EXPECT_FALSE(e.specialise(0, 0, 0).uses(MapOp::kColumn));
  EXPECT_EQ(e.specialise(0, 0, 0).nodes().size(), 6u);  // v cos 1 + sqrt +
  EXPECT_EQ(MapExpression::parse("(2 * iy + ix) % 3 == 1 ? v : idx % 4").period(), 12);
  EXPECT_EQ(MapExpression::parse("ix % 17").period(), 1);
  EXPECT_EQ(MapExpression::parse("ix % -3").period(), 3);
  EXPECT_EQ(MapExpression::parse("(ix * iy) % 3").period(), 1);  // may wrap round
  EXPECT_EQ(MapExpression::parse("(ix * iy) % 8").period(), 8);
  EXPECT_EQ(MapExpression::parse("ix % 0").period(), 1);
}

// An expression of values between two ends, and how far it may be from double precision.
struct Range {
  const char* text;
  float low, high;
  double relative;
};
void expect_within(const Range& range, MapPrecision precision, std::int64_t width,
                   std::int64_t height, std::mt19937& draw) {
  std::vector<float> input(static_cast<std::size_t>(width * height));
  for (float& v : input)
    v = range.low + (range.high - range.low) * static_cast<float>(draw() / 4294967296.0);
  const auto result = map_of(range.text, input, {.precision = precision}, width);
  MapError error;
  verify_map(MapExpression::parse(range.text), 1, width, 0, height, input.data(), result.data(),
             error);
  EXPECT_LE(error.relative, range.relative) << range.text << " width " << width;
  EXPECT_EQ(error.mismatched, 0) << range.text;
}

// Every function and random composite expressions, place-dependent ones included.
TEST(Map, AgainstDoublePrecision) {
  const Range rows[] = {{"log(v)", 1e-30f, 1e30f, 1.2e-7},
                        {"log2(v)", 1e-30f, 1e30f, 1.2e-7},
                        {"log10(v)", 1e-30f, 1e30f, 1.2e-7},
                        {"exp(v)", -80, 88, 1.2e-7},
                        {"sin(v)", -1000, 1000, 1.2e-7},
                        {"cos(v)", -1000, 1000, 1.2e-7},
                        {"sin(v)", -1e30f, 1e30f, 1.2e-7},
                        {"cos(v)", -3e13f, 3e13f, 1.2e-7},
                        {"tan(v)", -10, 10, 1.2e-7},
                        {"sqrt(v)", 0, 1e10f, 1.2e-7},
                        {"cbrt(v)", -100, 100, 1.2e-7},
                        {"atan(v)", -100, 100, 1.2e-7},
                        {"tanh(v)", -5, 5, 1.2e-7},
                        {"pow(v, 1.5)", 0, 100, 1.2e-7},
                        {"atan2(v, 2)", -9, 9, 1.2e-7},
                        {"v + (idx % 3 == 1 ? ix : iy * 2)", 0, 100, 3e-7},
                        {"(ix + iy) % 2 ? v : 1 / v", 1, 100, 1.2e-7},
                        {"min(v, ix) + max(iy, 3) * (v > 50)", 0, 100, 3e-7}};
  std::mt19937 draw(7);
  for (const std::int64_t width : {1, 7, 513, 1030}) {
    for (const Range& row : rows) expect_within(row, MapPrecision::kPrecise, width, 5, draw);
  }
}

TEST(Map, FastStaysWithinItsUlps) {
  std::mt19937 draw(7);
  for (const Range& row : {Range{"log(v)", 2, 1e30f, 5e-7},
                           {"exp(v)", -80, 80, 5e-7},
                           {"sqrt(sin(v) + 2)", -1000, 1000, 5e-7}})
    expect_within(row, MapPrecision::kFast, 5000, 1, draw);
}

TEST(Map, AnyCountOfRepeatsEndsOrIsStopped) {
  constexpr int kMany = std::numeric_limits<int>::max();
  const std::vector<float> few{1, 2, 3};
  EXPECT_EQ(map_of("v", few, {.repeat = kMany}), few);
  struct Stop {};
  const char* const text = "sin(v) + ix % 2";
  const std::vector<float> input(600, 1.0f), row(300, 1.0f);
  set_interrupt_poll(+[] { throw Stop(); });
  for (const MapPrecision precision :
       {MapPrecision::kPrecise, MapPrecision::kFast, MapPrecision::kLut}) {
    EXPECT_THROW(map_of(text, input, {kMany, precision}, 300), Stop) << static_cast<int>(precision);
  }
  const MapOptions o{.repeat = kMany, .threads = 2};
  for (int k = 0; k < 20; ++k)  // whichever thread takes the only piece there is
    EXPECT_THROW(map_of(text, row, o), Stop);
  const MapExpression e = MapExpression::parse(text);
  EXPECT_THROW(make_map_table(e, o, 300, 0, 2, input.data()), Stop);
  MapError error;
  EXPECT_THROW(verify_map(e, kMany, 300, 0, 2, input.data(), input.data(), error), Stop);
  set_interrupt_poll(nullptr);
}

TEST(Map, SameBitsForAnyThreadsAndBands) {
  const char* const text = "v + (idx % 3 ? sqrt(log(v)+1) : cos(v + iy))";
  auto bands = study_input(333 * 41);
  const auto whole = map_of(text, bands, {.repeat = 3}, 333);
  for (std::int64_t y = 0; y < 41; y += 7)
    map_cpu(MapExpression::parse(text), {.repeat = 3, .threads = 3}, 333, y,
            std::min<std::int64_t>(y + 7, 41), bands.data() + y * 333);
  EXPECT_TRUE(same_bits(whole, bands));
}

// Zeros, subnormals, infinities and negative values in a block of ordinary ones, in both modes; a
// value's result does not depend on its neighbours.
TEST(Map, RootsAtTheEnds) {
  const float ends[] = {0.0f,  -0.0f,   1e-45f,   3e-42f, 1.2e-38f,  1e-31f,
                        1e31f, 3.4e38f, INFINITY, -1.0f,  -INFINITY, NAN};
  for (const MapPrecision precision : {MapPrecision::kPrecise, MapPrecision::kFast}) {
    std::vector<float> input(3000, 2.0f);
    for (std::size_t i = 0; i < input.size(); i += 7) input[i] = ends[i / 7 % std::size(ends)];
    const std::vector<float> result = map_of("sqrt(v)", input, {.precision = precision});
    for (std::size_t i = 0; i < input.size(); ++i) {
      const float want = std::sqrt(input[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(result[i])) << input[i];
      } else if (std::isinf(want) || want == 0) {
        EXPECT_EQ(result[i], want) << input[i];
        EXPECT_EQ(std::signbit(result[i]), std::signbit(want)) << input[i];
      } else {
        EXPECT_NEAR(result[i] / want, 1.0f, precision == MapPrecision::kFast ? 2.4e-7f : 0.0f)
            << input[i];
      }
    }
  }
}

// What follows a function is done before its value is stored: the same bits as step by step.
TEST(Map, JoinedStepsHaveTheBitsOfSingleOnes) {
  std::vector<float> input(2048);
  std::mt19937 draw(3);
  for (float& v : input) v = static_cast<float>(draw() / 4294967296.0) * 300.0f;
  input[5] = 0.0f;  // log: infinite, and out of reach
  input[700] = NAN;
  for (const MapPrecision precision : {MapPrecision::kPrecise, MapPrecision::kFast}) {
    const auto run = [&](const std::string& text, const std::vector<float>& values) {
      return map_of(text, values, {.precision = precision});
    };
    for (const char* f : {"log", "cos", "sin", "exp"}) {
      const std::string name(f);
      const auto joined = run(name + "(v) + 1.5", input);
      const auto rooted = run("sqrt(" + name + "(v) + 1.5)", input);
      const auto summed = run("v + sqrt(" + name + "(v) + 1.5)", input);
      const auto plus = run("v + 1.5", run(name + "(v)", input));
      const auto root = run("sqrt(v)", plus);
      // the value is wanted twice: nothing to join
      const auto twice = run("(" + name + "(v) + 1.5) * " + name + "(v)", input);
      const auto factor = run(name + "(v)", input);
      for (std::size_t i = 0; i < input.size(); ++i) {
        ASSERT_TRUE(same_bits(joined[i], plus[i])) << name << " " << input[i];
        ASSERT_TRUE(same_bits(rooted[i], root[i])) << name << " " << input[i];
        ASSERT_TRUE(same_bits(summed[i], input[i] + root[i])) << name << " " << input[i];
        ASSERT_TRUE(same_bits(twice[i], plus[i] * factor[i])) << name << " " << input[i];
      }
    }
  }
}

// The 2^16 floats from these bits on.
std::vector<float> floats_from(std::uint32_t first) {
  std::vector<float> values(1 << 16);
  for (float& v : values) v = std::bit_cast<float>(first++);
  return values;
}

// Two binades hold every mantissa at both parities of the exponent: the root is the correctly
// rounded one for all normal numbers in reach of the fast path, or for none of a kind.
TEST(Map, RootsAreCorrectlyRounded) {
  for (std::uint32_t block = 0x3F800000u; block < 0x40800000u; block += 1 << 16) {
    const std::vector<float> values = floats_from(block), roots = map_of("sqrt(v)", values);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(roots[i], std::sqrt(values[i])) << block + i;
  }
}

// All mantissas about 1, where a logarithm cancels, and in binades far from it.
TEST(Map, FastLogarithmsAreWithinTheirUlps) {
  struct Row {
    const char* text;
    double (*want)(double);
    double most_ulp;
  };
  for (const Row& row : {Row{"log(v)", [](double x) { return std::log(x); }, 2.0},
                         {"log2(v)", [](double x) { return std::log2(x); }, 3.0},
                         {"log10(v)", [](double x) { return std::log10(x); }, 3.0}}) {
    double worst = 0;
    for (const std::uint32_t binade :
         {0x3F000000u, 0x3F800000u, 0x40000000u, 0x00800000u, 0x7F000000u}) {
      for (std::uint32_t block = binade; block < binade + (1u << 23); block += 1 << 16) {
        const std::vector<float> values = floats_from(block);
        const std::vector<float> logs =
            map_of(row.text, values, {.precision = MapPrecision::kFast});
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double want = row.want(static_cast<double>(values[i]));
          const double ulp = std::ldexp(1.0, std::ilogb(want == 0 ? 1e-7 : want) - 23);
          worst = std::max(worst, std::abs(static_cast<double>(logs[i]) - want) / ulp);
        }
      }
    }
    EXPECT_LE(worst, row.most_ulp) << row.text;
    RecordProperty(row.text, std::to_string(worst));
  }
}

TEST(Map, DivisionByZeroFollowsIeee) {
  for (const Value& row : {Value{"1 / v", 0.0f, INFINITY},
                           {"-1 / v", 0.0f, -INFINITY},
                           {"1 / v", -0.0f, -INFINITY},
                           {"v / v", 0.0f, NAN},
                           {"v % 0", 5.0f, NAN},
                           {"1 / (ix - ix)", 1.0f, INFINITY},
                           {"log(v)", 0.0f, -INFINITY},
                           {"sqrt(v)", -1.0f, NAN},
                           {"log(v)", -1.0f, NAN},
                           {"pow(v, -1)", 0.0f, INFINITY}}) {
    for (const MapPrecision precision : {MapPrecision::kPrecise, MapPrecision::kFast})
      expect_value(row, precision, 5);
  }
}

}  // namespace
}  // namespace tilewave::field
