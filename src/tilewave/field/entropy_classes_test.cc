// Many classes: sums that hold them, the bound of the error, all 65536 classes of 16 bits with
// missing pixels, and what a plan refuses. And how many threads small images take.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "gtest/gtest.h"
#include "tilewave/base/interrupt.h"
#include "tilewave/base/thrown_test.h"
#include "tilewave/field/rasters_test.h"

namespace tilewave::field::entropy_classes_test {
namespace {

// The definition in doubles, for the square of 2 r + 1 cells about (x, y) inside the image.
template <class Code>
double plain(const std::vector<Code>& codes, std::int64_t width, std::int64_t x, std::int64_t y,
             int r, int levels) {
  const auto height = static_cast<std::int64_t>(codes.size()) / width;
  std::map<int, int> counts;
  double total = 0, sum = 0;
  for (std::int64_t j = std::max<std::int64_t>(y - r, 0); j <= std::min(y + r, height - 1); ++j) {
    for (std::int64_t i = std::max<std::int64_t>(x - r, 0); i <= std::min(x + r, width - 1); ++i) {
      const auto code = static_cast<int>(codes[static_cast<std::size_t>(j * width + i)]);
      if (code >= levels) continue;
      ++counts[code];
      ++total;
    }
  }
  for (const auto& [code, n] : counts) sum += n * std::log(static_cast<double>(n));
  return total == 0 ? NAN : std::log(total) - sum / total;
}

// Equal roundings of many classes add up: three cells of each of 53,600 classes, and random ones.
TEST(EntropyClasses, ManyClassesInLargeWindows) {
  constexpr std::int64_t kSide = 401;
  std::vector<std::uint16_t> triples(kSide * kSide), random(kSide * kSide);
  std::mt19937 draw(6);
  for (std::size_t i = 0; i < triples.size(); ++i) {
    triples[i] = static_cast<std::uint16_t>(i / 3);
    random[i] = static_cast<std::uint16_t>(draw() % 65000);
  }
  EntropyOptions o;
  o.levels = 65000;
  for (const auto* codes : {&triples, &random}) {
    for (const int r : {10, 40, 200}) {
      o.window = Footprint::rectangle(2 * r + 1, 2 * r + 1);
      const EntropyPlan plan(o, kSide, kSide);
      EXPECT_EQ(plan.tables().is_long, r > 10) << r;
      // a few rows: the window slides along them
      for (const std::int64_t y : {std::int64_t{0}, kSide / 2}) {
        std::vector<float> row(kSide);
        entropy_cpu(plan, all_rows(codes->data(), kSide, kSide), y, y + 1, row.data(), kSide);
        for (const std::int64_t x : {std::int64_t{0}, std::int64_t{77}, kSide / 2, kSide - 1}) {
          EXPECT_NEAR(static_cast<double>(row[static_cast<std::size_t>(x)]),
                      plain(*codes, kSide, x, y, r, o.levels), 3e-6)
              << r << " (" << x << ", " << y << ")";
        }
      }
    }
  }
  EXPECT_NEAR(plain(triples, kSide, 200, 200, 200, 65000), 10.889317, 1e-6);
}

TEST(EntropyClasses, LongSumsAreTheSameForEveryWay) {
  std::vector<std::uint16_t> codes(150 * 90);
  std::mt19937 draw(3);
  for (auto& c : codes) c = static_cast<std::uint16_t>(draw() % 8 == 0 ? 3000 : draw() % 3000);
  EntropyOptions o;
  o.levels = 3000;
  o.min_valid = 0.2;
  for (const Footprint& window : {Footprint::rectangle(45, 41), Footprint::disk(24)}) {
    o.window = window;
    ASSERT_TRUE(EntropyPlan(o, 150, 90).tables().is_long);
    o.threads = 1;
    o.algorithm = EntropyAlgorithm::kSliding;
    const auto sliding = entropy_of(codes, 150, o);
    o.threads = 3;
    EXPECT_TRUE(same_bits(sliding, entropy_of(codes, 150, o)));
    o.algorithm = EntropyAlgorithm::kNaive;
    EXPECT_TRUE(same_bits(sliding, entropy_of(codes, 150, o)));
    const std::vector<std::uint32_t> wide(codes.begin(), codes.end());
    EXPECT_TRUE(same_bits(sliding, entropy_of(wide, 150, o)));
  }
  // a window of one class is exactly 0
  o.min_valid = 0;
  const std::vector<std::uint16_t> one(codes.size(), 2999);
  for (const float h : entropy_of(one, 150, o)) ASSERT_EQ(h, 0.0f);
}

// What LogCurve is off for a count, before its sum is rounded; nats a cell.
double curve_error(const EntropyTables& t, std::int32_t n) {
  const auto x = static_cast<float>(n);
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto u = static_cast<float>(static_cast<std::int32_t>(bits - 0x3F800000u));
  const std::uint32_t i = bits >> 18 & 31;
  const auto m = std::bit_cast<float>((bits & 0x7FFFFFu) | 0x3F800000u);
  const float g = std::fma(m, std::fma(m, t.curve.c[i], t.curve.b[i]), t.curve.a[i]);
  const float product = x * std::fma(u, t.curve.per_bit, g);
  EXPECT_EQ(static_cast<std::int32_t>(std::lrint(product)), t.sums[static_cast<std::size_t>(n)]);
  return (static_cast<double>(product) * t.unit - n * std::log(static_cast<double>(n))) / n;
}

// Off by how much in the worst case: what the curve is off for the counts of two classes, half a
// unit a class, and H's own rounding. docs/entropy.md and the docstring say 5e-6 bits, and 1e-5 in
// windows of more than 101 x 101 cells with 256 classes or fewer.
TEST(EntropyClasses, TheBoundOfTheError) {
  struct Row {
    std::int32_t cells, levels;
    double bits;
  };
  for (const Row& row : {Row{9, 256, 5e-6}, Row{25, 65536, 5e-6}, Row{31, 256, 5e-6},
                         Row{32, 256, 5e-6}, Row{441, 441, 5e-6}, Row{441, 65536, 5e-6},
                         Row{5000, 280, 5e-6}, Row{10201, 256, 5e-6}, Row{10202, 65536, 5e-6},
                         Row{20000, 257, 5e-6}, Row{1 << 21, 256, 1e-5}, Row{1 << 21, 257, 5e-6}}) {
    const EntropyTables t = make_entropy_tables(row.cells, 0, 0, row.cells, row.levels);
    const double classes = std::min(row.levels, row.cells / 2 + 1);
    double nats = (classes + 1) * 0.5 * t.unit / row.cells;
    if (t.narrow) {
      nats = worst_table_error(t) + 3 * std::ldexp(std::log(row.cells), -24);  // H is in floats
    } else if (!t.is_long) {
      double low = 0, high = 0;
      for (std::int32_t n = 2; n <= row.cells; n += 1 + n / 20000) {
        const double error = curve_error(t, n);
        low = std::min(low, error);
        high = std::max(high, error);
      }
      nats += high - low;
    }
    const double greatest = std::log2(std::min(row.levels, row.cells));
    const double rounding = std::exp2(std::floor(std::log2(greatest)) - 24);  // half an ulp
    EXPECT_LT(nats / std::log(2.0) + rounding, row.bits)
        << row.cells << " cells, " << row.levels << " classes";
  }
}

template <class Code>
void expect_plain(const std::vector<float>& got, const std::vector<Code>& codes, std::int64_t width,
                  int r, int levels) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(codes.size()); ++i) {
    const auto h = static_cast<double>(got[static_cast<std::size_t>(i)]);
    const double want = plain(codes, width, i % width, i / width, r, levels);
    ASSERT_EQ(std::isnan(h), std::isnan(want)) << i;
    if (std::isnan(want)) continue;
    ASSERT_NEAR(h, want, 3e-6) << i;
  }
}

TEST(EntropyClasses, AllSixteenBitsAndMissingPixels) {
  constexpr std::int64_t kWidth = 40;
  std::vector<std::uint16_t> codes(kWidth * 30);
  std::mt19937 draw(9);
  for (auto& c : codes) c = static_cast<std::uint16_t>(draw() % 3 == 0 ? 65535 : draw() % 65536);
  EntropyOptions o;
  o.levels = 65536;
  EXPECT_EQ(EntropyPlan(o, kWidth, 30).code_bytes(), 4);
  for (const Border border : {Border::kCrop, Border::kReflect, Border::kConstant}) {
    o.border = border;
    o.constant_code = 65535;
    for (const int r : {1, 4}) {
      o.window = Footprint::rectangle(2 * r + 1, 2 * r + 1);
      const auto all = entropy_of(codes, kWidth, o);
      if (border == Border::kCrop) expect_plain(all, codes, kWidth, r, 65536);
      // missing pixels are beyond 16 bits
      std::vector<std::uint32_t> wide(codes.begin(), codes.end());
      EXPECT_TRUE(same_bits(all, entropy_of(wide, kWidth, o)));
      for (std::size_t i = 0; i < wide.size(); i += 3) wide[i] = 65536;
      std::fill_n(wide.begin(), 9 * kWidth, 65536u);
      const auto some = entropy_of(wide, kWidth, o);
      if (border == Border::kCrop) expect_plain(some, wide, kWidth, r, 65536);
      o.algorithm = EntropyAlgorithm::kNaive;
      EXPECT_TRUE(same_bits(some, entropy_of(wide, kWidth, o)));
      o.algorithm = EntropyAlgorithm::kAuto;
    }
  }
}

TEST(EntropyClasses, PlansRefuseWhatHasNoMeaning) {
  const auto refuses = [](const std::string& words, auto&& set) {
    EntropyOptions o;
    set(o);
    expect_error([&] { EntropyPlan(o, 10, 10); }, words, ExitCode::kUsage);
  };
  for (const int constant : {-1, 16, 300}) {
    refuses("constant class " + std::to_string(constant), [&](EntropyOptions& o) {
      o.border = Border::kConstant;
      o.constant_code = constant;
    });
  }
  for (const double base : {1.0, -2.0, static_cast<double>(INFINITY), static_cast<double>(NAN)})
    refuses("base", [&](EntropyOptions& o) { o.log_base = base; });
  for (const int levels : {0, 1, 65537, -3})
    refuses("levels", [&](EntropyOptions& o) { o.levels = levels; });
  refuses("'nibble' cannot run this window", [](EntropyOptions& o) {
    o.levels = 17;
    o.algorithm = EntropyAlgorithm::kNibble;
  });
  refuses("'column' cannot run this window", [](EntropyOptions& o) {
    o.window = Footprint::disk(3);
    o.algorithm = EntropyAlgorithm::kColumn;
  });
  EXPECT_THROW(EntropyPlan({}, 0, 10), Error);
  EXPECT_THROW(Footprint::rectangle(0, 3), Error);
}

TEST(EntropyClasses, SmallImagesTakeOneThread) {
  for (const auto& [side, levels, threads] : {std::tuple{64, 16, 0}, {64, 256, 0}, {1024, 16, 1}}) {
    EntropyOptions o;
    o.levels = levels;
    o.threads = 2;
    const std::vector<std::uint8_t> codes(static_cast<std::size_t>(side * side), 3);
    expect_started_threads(threads, [&, side = side] { entropy_of(codes, side, o); });
  }
}

TEST(EntropyClasses, AnInterruptLeavesThroughTheCall) {
  struct Stop {};
  const std::vector<std::uint8_t> codes(600 * 600, 3);
  set_interrupt_poll(+[] { throw Stop(); });
  const auto run_many_times = [&] {  // the calling thread asks, where it gets a tile to work on
    for (int k = 0; k < 1000; ++k) entropy_of(codes, 600, {});
  };
  EXPECT_THROW(run_many_times(), Stop);
  set_interrupt_poll(nullptr);
  for (const float h : entropy_of(codes, 600, {})) ASSERT_EQ(h, 0.0f);
}

}  // namespace
}  // namespace tilewave::field::entropy_classes_test
