// Maps and entropy with every instruction set that this machine has: functions against the C
// library, remainders against whole numbers, values within the ranges of their functions, and the
// entropy's bits.
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "tilewave/field/map_program.h"
#include "tilewave/field/rasters_test.h"

namespace tilewave::field {
namespace {

void choose(std::int64_t targets) {  // 0: the best
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().DeInit();  // kernels are chosen once
}

// Runs the test with the best set, with AVX2 and with what every machine has.
void with_every_set(const std::function<void(const std::string&)>& test) {
  std::set<std::string> done;
  for (const std::int64_t targets :
       {std::int64_t{0}, std::int64_t{HWY_AVX2}, std::int64_t{HWY_STATIC_TARGET}}) {
    choose(0);
    if (targets != 0 && ((hwy::SupportedTargets() | HWY_STATIC_TARGET) & targets) == 0) continue;
    choose(targets);
    const std::string name = map_instructions();
    if (done.insert(name).second) test(name);
  }
  choose(0);
  EXPECT_TRUE(done.contains(hwy::TargetName(HWY_STATIC_TARGET)));
}

// x - y floor(x / y) of floats by whole numbers: the first by the second, doubled and reduced as
// often as their exponents differ; rounded once where the signs differ.
float remainder_by_whole_numbers(float x, float y) {
  if (std::isnan(x) || std::isnan(y) || std::isinf(x) || y == 0) return NAN;
  float r = std::abs(x);
  if (!std::isinf(y) && r != 0) {
    int ex, ey;
    const auto mx = static_cast<std::uint64_t>(std::ldexp(std::frexp(r, &ex), 24));
    auto my = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::abs(y), &ey), 24));
    if (ex >= ey) {
      std::uint64_t rest = mx % my;
      for (int k = 0; k < ex - ey; ++k) rest = 2 * rest % my;
      r = std::ldexp(static_cast<float>(rest), ey - 24);
    }  // else |x| < |y|
  }
  if (r == 0) return std::copysign(0.0f, y);
  r = std::copysign(r, x);
  return std::signbit(x) != std::signbit(y) ? r + y : r;
}

TEST(Instructions, RemaindersAreExact) {
  std::mt19937 draw(11);
  const auto any = [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(draw())); };
  std::vector<float> x;
  for (int i = 0; i < 2000; ++i) x.push_back(any());
  for (int i = 0; i < 4000; ++i) x.push_back(static_cast<float>(draw() / 4294967296.0 * 1e4));
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<float>(draw() % 2000) - 1000);
  for (const float special : {0.0f, -0.0f, 1e8f, 3.4e38f, 1.0f, -1e-20f, INFINITY, -INFINITY, NAN})
    x.push_back(special);
  std::vector<float> divisors = {3,     360,   0.1f,     6.2831853f, -7, 1e-40f, 3e38f,
                                 1e-3f, -2.5f, INFINITY, -INFINITY,  0,  1.0f};
  for (int i = 0; i < 10; ++i) divisors.push_back(any());
  with_every_set([&](const std::string& set) {
    for (const float y : divisors) {
      char text[80];
      std::snprintf(text, sizeof text, "v %% (%.9g)", static_cast<double>(y));
      if (std::isinf(y)) std::snprintf(text, sizeof text, "v %% (%s1/0)", y < 0 ? "-" : "");
      if (std::isnan(y)) std::snprintf(text, sizeof text, "v %% nan");
      for (const auto precision : {MapPrecision::kPrecise, MapPrecision::kFast}) {
        const auto got = map_of(text, x, {.precision = precision});
        for (std::size_t i = 0; i < x.size(); ++i) {
          ASSERT_TRUE(same_bits(got[i], remainder_by_whole_numbers(x[i], y)))
              << set << ": " << x[i] << " % " << y << " gives " << got[i];
        }
      }
    }
    // the divisor is a value too, and the first operand a number
    const auto by_values = map_of("1000.7 % v", x);
    const auto of_both = map_of("(v * 3) % (v - 7)", x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same_bits(by_values[i], remainder_by_whole_numbers(1000.7f, x[i])))
          << set << ": 1000.7 % " << x[i] << " gives " << by_values[i];
      const float a = x[i] * 3, b = x[i] - 7;
      ASSERT_TRUE(same_bits(of_both[i], remainder_by_whole_numbers(a, b))) << set << ": " << x[i];
    }
  });
  // the same in doubles, which --verify compares with
  const auto e = MapExpression::parse("v % 360");
  EXPECT_EQ(e.evaluate(static_cast<double>(3.4e38f), 0, 0, 0), 224.0);
  EXPECT_EQ(MapExpression::parse("1 % inf").evaluate(0, 0, 0, 0), 1.0);
}

// Indices are whole numbers with every set, in rows of any length.
TEST(Instructions, IndicesAreWholeNumbers) {
  with_every_set([](const std::string& set) {
    for (const char* text :
         {"idx % (iy + 7) - ix % -7", "(idx * 2654435761 * 2654435761) % 1000003",
          "ix % iy + idx % 0", "abs(ix - 700) * min(iy, 3) - max(-ix, iy)",
          "(ix < iy) + (ix == idx) * 2 + (iy != 1) * 4", "-ix * 9223372036854775807 % 1000",
          "ix % 2 ? idx : 0 - iy"}) {
      const auto e = MapExpression::parse(text);
      for (const std::int64_t width : {1, 3, 50, 1500}) {
        const auto got = map_of(text, std::vector<float>(3000), {}, width);
        for (std::int64_t i = 0; i < 3000; ++i) {
          ASSERT_EQ(got[static_cast<std::size_t>(i)],
                    static_cast<float>(e.evaluate(0, i % width, i / width, i)))
              << set << ": " << text << ", pixel " << i << " in rows of " << width;
        }
      }
    }
  });
}

TEST(Instructions, FunctionsAreWithinAnUlpOfTheLibrary) {
  struct Row {
    const char* text;
    double (*want)(double);
    float least, most;
  };
  static constexpr auto power = [](double x, double y) { return std::pow(x, y); };
  const Row rows[] = {
      {"log(v)", [](double x) { return std::log(x); }, 1e-3f, 1e3f},
      {"exp(v)", [](double x) { return std::exp(x); }, -100, 100},
      {"sin(v)", [](double x) { return std::sin(x); }, -5000, 5000},
      {"cos(v)", [](double x) { return std::cos(x); }, -5000, 5000},
      {"sin(v)", [](double x) { return std::sin(x); }, -3e13f, 3e13f},
      {"cos(v)", [](double x) { return std::cos(x); }, -1e8f, 1e8f},
      {"tan(v)", [](double x) { return std::tan(x); }, -20, 20},
      {"tan(v)", [](double x) { return std::tan(x); }, -1e6f, 1e6f},
      {"sinh(v)", [](double x) { return std::sinh(x); }, -3, 3},
      {"sinh(v)", [](double x) { return std::sinh(x); }, -95, 95},
      {"cosh(v)", [](double x) { return std::cosh(x); }, -95, 95},
      {"tanh(v)", [](double x) { return std::tanh(x); }, -1, 1},
      {"tanh(v)", [](double x) { return std::tanh(x); }, -400, 400},
      {"expm1(v)", [](double x) { return std::expm1(x); }, -1e-3f, 1e-3f},
      {"expm1(v)", [](double x) { return std::expm1(x); }, -100, 100},
      {"log1p(v)", [](double x) { return std::log1p(x); }, -1e-3f, 1e-3f},
      {"log1p(v)", [](double x) { return std::log1p(x); }, -0.999f, 1e6f},
      {"hypot(v, 3)", [](double x) { return std::hypot(x, 3); }, -1e3f, 1e3f},
      {"hypot(v, v)", [](double x) { return std::hypot(x, x); }, -3e38f, 3e38f},
      {"pow(v, 2)", [](double x) { return power(x, 2); }, -1e3f, 1e3f},
      {"pow(v, 3)", [](double x) { return power(x, 3); }, -1e3f, 1e3f},
      {"pow(v, -1)", [](double x) { return power(x, -1); }, -1e3f, 1e3f},
      {"pow(v, 17)", [](double x) { return power(x, 17); }, -200, 200},
      {"pow(v, -64)", [](double x) { return power(x, -64); }, -4, 4},
      {"pow(v, 65)", [](double x) { return power(x, 65); }, -4, 4},
      {"pow(v, 0)", [](double x) { return power(x, 0); }, -4, 4},
      {"pow(v, 0.5)", [](double x) { return power(x, 0.5); }, -1, 1e3f},
      {"pow(v, 1.5)", [](double x) { return power(x, 1.5); }, -1, 1e3f},
      {"pow(v, -2.25)", [](double x) { return power(x, -2.25); }, -1, 1e3f},
      {"pow(v, 100.5)", [](double x) { return power(x, 100.5); }, 0, 4},
      {"pow(2, v)", [](double x) { return power(2, x); }, -200, 200},
      {"pow(10, v)", [](double x) { return power(10, x); }, -50, 50},
      {"pow(-2, v)", [](double x) { return power(-2, x); }, -50, 50},
      {"pow(1, v)", [](double x) { return power(1, x); }, -50, 50},
      {"trunc(v)", [](double x) { return std::trunc(x); }, -50, 50},
  };
  with_every_set([&](const std::string& set) {
    std::mt19937 draw(5);
    for (const Row& row : rows) {
      std::vector<float> x = {0.0f,  -0.0f,    1e-45f, -1e-45f, 1e-38f,   1.0f,
                              -1.0f, INFINITY, NAN,    3.4e38f, -3.4e38f, -INFINITY};
      while (x.size() < 3000)
        x.push_back(row.least + (row.most - row.least) * static_cast<float>(draw() / 4294967296.0));
      const auto got = map_of(row.text, x);
      // alone among ordinary values a special one takes the other way through a block
      const auto ordinary = map_of(row.text, std::vector<float>(x.begin() + 12, x.end()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = row.want(static_cast<double>(x[i]));
        const auto want = static_cast<float>(exact);
        if (i >= 12) {
          ASSERT_TRUE(same_bits(got[i], ordinary[i - 12]))
              << set << ": " << row.text << " " << x[i];
        }
        ASSERT_EQ(std::isnan(got[i]), std::isnan(want))
            << set << ": " << row.text << " of " << x[i] << " gives " << got[i];
        if (std::isnan(want)) continue;
        if (std::isinf(want) || want == 0) {
          ASSERT_TRUE(same_bits(got[i], want))
              << set << ": " << row.text << " of " << x[i] << " gives " << got[i];
          continue;
        }
        const double ulp = static_cast<double>(std::nextafter(std::abs(want), INFINITY)) -
                           static_cast<double>(std::abs(want));
        ASSERT_LE(std::abs(static_cast<double>(got[i]) - exact), ulp)
            << set << ": " << row.text << " of " << x[i] << " gives " << got[i];
      }
    }
  });
}

// An ulp too much is enough for an arc or a root without a value.
TEST(Instructions, ValuesStayWithinTheRangesOfTheirFunctions) {
  std::vector<float> turns;  // about all multiples of pi / 2 in reach of the fast functions
  for (int k = 0; k < 24830; ++k) {
    const auto middle = std::bit_cast<std::int32_t>(static_cast<float>(k * (M_PI / 2)));
    for (int j = -12; j <= 12; ++j)
      turns.push_back(std::bit_cast<float>(std::max(middle + j, 0)) * (k % 2 == 0 ? 1.0f : -1.0f));
  }
  for (std::uint32_t i = 0; i < 1u << 19; ++i)  // all floats about pi / 2
    turns.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(1.54f) + i));
  std::vector<float> values(300000);
  std::mt19937 draw(2);
  for (float& v : values) v = static_cast<float>(draw() / 4294967296.0) * 1000;
  std::vector<float> study(1 << 18);
  for (float& v : study) v = 10 + static_cast<float>(draw() % 256);
  with_every_set([&](const std::string& set) {
    for (const auto precision : {MapPrecision::kFast, MapPrecision::kPrecise}) {
      for (const char* f : {"sin", "cos", "tanh"}) {
        const auto got = map_of(std::string(f) + "(v)", turns, {.precision = precision});
        const auto [least, most] = std::minmax_element(got.begin(), got.end());
        EXPECT_GE(*least, -1.0f) << set << " " << f;
        EXPECT_LE(*most, 1.0f) << set << " " << f;
        double worst = 0;
        for (std::size_t i = 0; i < turns.size() && f[0] != 't'; ++i) {
          const auto x = static_cast<double>(turns[i]);
          worst = std::max(worst, std::abs(static_cast<double>(got[i]) -
                                           (f[0] == 's' ? std::sin(x) : std::cos(x))));
        }
        EXPECT_LT(worst, 1.8e-7) << set << " " << f;  // 3 ulp below 1
      }
      for (const char* text : {"sqrt(cos(v) + 1)", "acos(cos(v))", "asin(sin(v))",
                               "sqrt(1 - sin(v) * sin(v))", "log(1 - cos(v) + 1e-9)"}) {
        for (const auto* input : {&turns, &values}) {
          EXPECT_EQ(count_nan(map_of(text, *input, {.precision = precision})), 0)
              << set << " " << text;
        }
      }
      EXPECT_EQ(count_nan(map_of(kStudy, study, {10, precision})), 0) << set;
    }
  });
}

TEST(Instructions, EntropyHasTheSameBits) {
  struct Row {
    int levels, w, h;
    EntropyAlgorithm algorithm;
  };
  const Row rows[] = {
      {16, 5, 5, EntropyAlgorithm::kNibble},    {16, 3, 7, EntropyAlgorithm::kNibble},
      {40, 21, 21, EntropyAlgorithm::kPlane},   {16, 9, 9, EntropyAlgorithm::kColumn},
      {256, 31, 33, EntropyAlgorithm::kColumn}, {900, 9, 9, EntropyAlgorithm::kAuto}};
  const std::int64_t width = 301, height = 120;
  std::mt19937 draw(8);
  for (const Row& row : rows) {
    std::vector<std::uint16_t> codes(static_cast<std::size_t>(width * height));
    for (auto& c : codes) {
      c = static_cast<std::uint16_t>(draw() % static_cast<unsigned>(row.levels));
      if (draw() % 50 == 0) c = static_cast<std::uint16_t>(row.levels);
    }
    EntropyOptions o;
    o.levels = row.levels;
    o.window = Footprint::rectangle(row.w, row.h);
    std::vector<float> first;
    with_every_set([&](const std::string& set) {
      o.algorithm = row.algorithm;
      const std::vector<float> out = entropy_of(codes, width, o);  // the choice is a machine's
      if (first.empty()) first = out;
      EXPECT_TRUE(same_bits(first, out))
          << set << " " << row.levels << " " << row.w << "x" << row.h;
    });
  }
}

}  // namespace
}  // namespace tilewave::field
