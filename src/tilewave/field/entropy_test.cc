// Every algorithm, shape, border and number of classes against a plain count, and against each
// other bit for bit.
#include "tilewave/field/entropy.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/field/rasters_test.h"

namespace tilewave::field::entropy_test {
namespace {

struct Image {
  std::int64_t width, height;
  std::vector<std::uint16_t> codes;
};

Image random_image(std::int64_t width, std::int64_t height, int levels, double share_invalid,
                   unsigned seed) {
  Image image{width, height, std::vector<std::uint16_t>(static_cast<std::size_t>(width * height))};
  std::mt19937 draw(seed);
  for (auto& code : image.codes) {
    // Half the pixels from a few classes, so that high counts occur.
    code = static_cast<std::uint16_t>(draw() % 2 == 0 ? draw() % levels
                                                      : draw() % std::min(levels, 3));
    if (share_invalid > 0 && draw() / 4294967296.0 < share_invalid)
      code = static_cast<std::uint16_t>(levels);
  }
  return image;
}

// The definition, in doubles, cell by cell.
std::vector<double> plain_entropy(const Image& image, const EntropyOptions& o,
                                  const std::vector<std::uint8_t>& mask, int w, int h) {
  const auto W = image.width, H = image.height;
  const auto at = [&](std::int64_t x, std::int64_t y) -> int {
    const auto mirror = [](std::int64_t i, std::int64_t n) {
      while (i < 0 || i >= n) i = i < 0 ? -1 - i : 2 * n - 1 - i;
      return i;
    };
    const bool outside = x < 0 || y < 0 || x >= W || y >= H;
    if (outside && o.border == Border::kConstant) return o.constant_code;
    if (outside && o.border == Border::kReflect) {
      x = mirror(x, W);
      y = mirror(y, H);
    }
    if (outside && o.border == Border::kNearest) {
      x = std::clamp<std::int64_t>(x, 0, W - 1);
      y = std::clamp<std::int64_t>(y, 0, H - 1);
    }
    if (x < 0 || y < 0 || x >= W || y >= H) return o.levels;
    return image.codes[static_cast<std::size_t>(y * W + x)];
  };
  const double scale = o.log_base > 0 ? 1 / std::log(o.log_base) : 1;
  std::vector<double> result;
  for (std::int64_t y = 0; y < H; ++y) {
    for (std::int64_t x = 0; x < W; ++x) {
      std::map<int, int> counts;
      int total = 0, cells = 0;
      bool leaves = false;
      for (int j = 0; j < h; ++j) {
        for (int i = 0; i < w; ++i) {
          const std::int64_t cx = x + i - w / 2, cy = y + j - h / 2;
          leaves |= cx < 0 || cy < 0 || cx >= W || cy >= H;  // the window, all of a mask's picture
          if (!mask[static_cast<std::size_t>(j * w + i)]) continue;
          ++cells;
          const int code = at(cx, cy);
          if (code >= o.levels) continue;
          ++counts[code];
          ++total;
        }
      }
      if (total == 0 || total < o.min_valid * cells - 1e-9 ||
          (o.border == Border::kValid && leaves)) {
        result.push_back(std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      double n = total;
      if (o.border == Border::kStudy2020) {
        n = static_cast<double>(
            (std::min<std::int64_t>(x, w / 2) + 1 + std::min<std::int64_t>(W - x, w - 1 - w / 2)) *
            (std::min<std::int64_t>(y, h / 2) + 1 + std::min<std::int64_t>(H - y, h - 1 - h / 2)));
      }
      double sum = 0;
      for (const auto& [code, count] : counts) sum += count * std::log(static_cast<double>(count));
      result.push_back((std::log(n) - sum / n) * scale);
    }
  }
  return result;
}

std::vector<float> run(const Image& image, const EntropyOptions& options) {
  return entropy_of(image.codes, image.width, options);
}

void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                  const std::string& what) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << what << " at " << i;
    if (!std::isnan(want[i])) worst = std::max(worst, std::abs(got[i] - want[i]));
  }
  EXPECT_LT(worst, 5e-6) << what;
}

std::vector<std::uint8_t> full(int w, int h) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(w * h), 1);
}

std::vector<std::uint8_t> disk_cells(int r) {
  std::vector<std::uint8_t> cells;
  for (int y = -r; y <= r; ++y) {
    for (int x = -r; x <= r; ++x) cells.push_back(x * x + y * y <= r * r);
  }
  return cells;
}

constexpr EntropyAlgorithm kAll[] = {EntropyAlgorithm::kNaive, EntropyAlgorithm::kNibble,
                                     EntropyAlgorithm::kPlane, EntropyAlgorithm::kSliding,
                                     EntropyAlgorithm::kColumn};

// All algorithms that can run: close to the definition, and equal to each other.
void check_all(const Image& image, EntropyOptions options, const std::vector<std::uint8_t>& mask,
               int w, int h, const std::string& what) {
  const auto want = plain_entropy(image, options, mask, w, h);
  std::vector<float> first;
  for (const EntropyAlgorithm algorithm : kAll) {
    options.algorithm = algorithm;
    std::vector<float> got;
    try {
      got = run(image, options);
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ExitCode::kUsage) << e.what();
      continue;
    }
    const std::string name = what + " " + algorithm_name(algorithm);
    expect_close(got, want, name);
    if (first.empty()) first = got;
    EXPECT_TRUE(same_bits(first, got)) << name;
    if (options.levels > 255) continue;
    const std::vector<std::uint8_t> bytes(image.codes.begin(), image.codes.end());
    EXPECT_TRUE(same_bits(got, entropy_of(bytes, image.width, options))) << name << " 8-bit input";
  }
}

TEST(Entropy, EveryAlgorithmBorderAndShapeAgainstTheDefinition) {
  const Border borders[] = {Border::kCrop,     Border::kReflect, Border::kNearest,
                            Border::kConstant, Border::kValid,   Border::kStudy2020};
  unsigned seed = 1;
  for (const Border border : borders) {
    for (const int levels : {2, 5, 16, 17, 64, 256, 1000}) {
      for (const auto& [w, h] :
           {std::pair{5, 5}, {3, 3}, {1, 1}, {4, 6}, {2, 15}, {33, 1}, {6, 6}, {21, 21}}) {
        for (const double share_invalid : {0.0, 0.2}) {
          if (border == Border::kStudy2020 && share_invalid > 0)
            continue;  // the study knows no missing cells
          EntropyOptions o;
          o.window = Footprint::rectangle(w, h);
          o.levels = levels;
          o.border = border;
          o.constant_code = 1;
          o.min_valid = share_invalid > 0 ? 0.3 : 0;
          const Image image = random_image(41, 23, levels, share_invalid, seed++);
          check_all(image, o, full(w, h), w, h,
                    "border " + std::to_string(static_cast<int>(border)) + " levels " +
                        std::to_string(levels) + " " + std::to_string(w) + "x" + std::to_string(h));
        }
      }
    }
  }
}

TEST(Entropy, Disks) {
  for (const int radius : {1, 2, 5, 9}) {
    for (const int levels : {16, 256}) {
      for (const Border border : {Border::kCrop, Border::kReflect, Border::kValid}) {
        EntropyOptions o;
        o.window = Footprint::disk(radius);
        o.levels = levels;
        o.border = border;
        const Image image = random_image(37, 29, levels, levels == 16 ? 0.1 : 0.0, 77);
        check_all(image, o, disk_cells(radius), 2 * radius + 1, 2 * radius + 1,
                  "disk " + std::to_string(radius));
      }
    }
  }
}

TEST(Entropy, OddShapesOfImages) {
  for (const auto& [w, h] : {std::pair{1, 1},
                             {1, 57},
                             {57, 1},
                             {2, 2},
                             {4, 4},
                             {1031, 3},
                             {3, 1031},
                             {2053, 7},
                             {127, 131}}) {
    for (const int side : {5, 21}) {  // 21: larger than most of them
      EntropyOptions o;
      o.window = Footprint::rectangle(side, side);
      for (const Border border : {Border::kCrop, Border::kReflect, Border::kNearest}) {
        o.border = border;
        check_all(random_image(w, h, 16, 0, 5), o, full(side, side), side, side,
                  std::to_string(w) + "x" + std::to_string(h));
      }
    }
  }
}

// The image amid missing pixels, so many that no window leaves it.
Image framed(const Image& image, int frame, int levels) {
  Image out{image.width + 2 * frame, image.height + 2 * frame, {}};
  out.codes.assign(static_cast<std::size_t>(out.width * out.height),
                   static_cast<std::uint16_t>(levels));
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::copy_n(image.codes.begin() + y * image.width, image.width,
                out.codes.begin() + (y + frame) * out.width + frame);
  }
  return out;
}

std::vector<float> inner(const std::vector<float>& values, const Image& image, int frame) {
  std::vector<float> out;
  for (std::int64_t y = 0; y < image.height; ++y) {
    const auto row = values.begin() + (y + frame) * (image.width + 2 * frame) + frame;
    out.insert(out.end(), row, row + image.width);
  }
  return out;
}

// What lies outside of the image for every pixel is not looked at, and that changes no bit.
// Narrow images are worked on with rows and columns exchanged: the bits of each as it lies, whole, in
// bands and in regions, also where chunks of rows meet.
TEST(Entropy, NarrowImagesHaveTheBitsOfOthers) {
  const std::vector<std::uint8_t> hook = {1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1};  // 3 x 4
  struct Row {
    Footprint window;
    int levels;
    std::int64_t height;
    double min_valid;
  };
  for (const Row& row :
       {Row{Footprint::rectangle(5, 5), 16, 700, 0}, Row{Footprint::rectangle(4, 9), 200, 513, 0.5},
        Row{Footprint::rectangle(31, 2), 16, 600, 0},
        Row{Footprint::from_mask(hook, 3, 4), 300, 512, 0}, Row{Footprint::disk(3), 7, 70000, 0}}) {
    for (const std::int64_t width : {1, 2, 3, 7}) {
      const Image image = random_image(width, row.height, row.levels, 0.1, 3);
      for (const Border border : {Border::kCrop, Border::kReflect, Border::kNearest,
                                  Border::kConstant, Border::kValid, Border::kStudy2020}) {
        if (border == Border::kStudy2020 && (!row.window.is_rectangle() || row.min_valid > 0))
          continue;
        EntropyOptions o{.window = row.window,
                         .levels = row.levels,
                         .border = border,
                         .constant_code = 5,
                         .min_valid = row.min_valid,
                         .threads = 2};
        const auto got = entropy_of(image.codes, width, o);
        EntropyOptions sliding = o;
        sliding.algorithm = EntropyAlgorithm::kSliding;
        const auto want = entropy_of(image.codes, width, sliding);
        ASSERT_TRUE(same_bits(got, want))
            << width << " x " << row.height << ", border " << static_cast<int>(border);
        const EntropyPlan plan(o, width, row.height);
        const Region region{width / 3, width, 3, row.height - 1};
        std::vector<float> part(static_cast<std::size_t>(region.width() * region.height()));
        entropy_cpu(plan, all_rows(image.codes.data(), width, row.height), region, part.data(),
                    region.width());
        for (std::int64_t y = region.y_begin; y < region.y_end; ++y) {
          for (std::int64_t x = region.x_begin; x < region.x_end; ++x) {
            const auto k = (y - region.y_begin) * region.width() + x - region.x_begin;
            ASSERT_TRUE(same_bits(part[static_cast<std::size_t>(k)],
                                  want[static_cast<std::size_t>(y * width + x)]))
                << "(" << x << ", " << y << ") of " << width << " columns";
          }
        }
      }
    }
  }
  const Footprint turned = Footprint::from_mask(hook, 3, 4).transposed();
  EXPECT_EQ(turned.width(), 4);
  EXPECT_EQ(turned.height(), 3);
  EXPECT_EQ(turned.num_cells(), 6);
}

TEST(Entropy, WindowsLargerThanTheImage) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 draw(seed);
  const auto upto = [&draw](int n) { return 1 + static_cast<int>(draw() % n); };
  for (int trial = 0; trial < 60; ++trial) {
    EntropyOptions o;
    o.levels = std::array{2, 16, 40, 256, 300}[draw() % 5];
    o.log_base = draw() % 2 ? 2 : 0;
    o.min_valid = draw() % 3 ? 0 : 0.01 * (draw() % 30);
    int w = upto(60), h = upto(60);
    std::vector<std::uint8_t> mask = full(w, h);
    if (trial % 3 == 1) {
      const int radius = upto(30);
      w = h = 2 * radius + 1;
      mask = disk_cells(radius);
    } else if (trial % 3 == 2) {
      for (auto& cell : mask) cell = draw() % 4 == 0;
      mask[draw() % mask.size()] = 1;
    }
    o.window = trial % 3 == 0 ? Footprint::rectangle(w, h) : Footprint::from_mask(mask, w, h);
    const Image image = random_image(upto(12), upto(12), o.levels, draw() % 2 ? 0.2 : 0, draw());
    const std::string what = "trial " + std::to_string(trial);
    check_all(image, o, mask, w, h, what);
    EXPECT_TRUE(same_bits(run(image, o), inner(run(framed(image, 60, o.levels), o), image, 60)))
        << what;
    for (const Border border : {Border::kValid, Border::kStudy2020}) {
      o.border = border;
      if (border == Border::kStudy2020 && trial % 3 != 0) continue;
      o.min_valid = 0;
      check_all(random_image(image.width, image.height, o.levels, 0, draw()), o, mask, w, h, what);
    }
  }
}

EntropyOptions options_of(EntropyAlgorithm algorithm, Border border = Border::kCrop) {
  EntropyOptions o;
  o.algorithm = algorithm;
  o.border = border;
  if (algorithm == EntropyAlgorithm::kPlane) o.window = Footprint::rectangle(9, 7);
  return o;
}

TEST(Entropy, SameBitsForAnyBandAndThreadCount) {
  const Image image = random_image(333, 211, 16, 0.02, 9);
  for (const EntropyAlgorithm algorithm : kAll) {
    EntropyOptions o = options_of(algorithm, Border::kReflect);
    const auto whole = run(image, o);
    for (const int threads : {1, 3}) {
      o.threads = threads;
      const EntropyPlan plan(o, image.width, image.height);
      std::vector<float> out(image.codes.size());
      for (std::int64_t y = 0; y < image.height; y += 17) {
        const std::int64_t end = std::min<std::int64_t>(y + 17, image.height);
        const std::int64_t begin = plan.needed_begin(y);
        const CodeRows<std::uint16_t> rows{image.codes.data() + begin * image.width,
                                           image.width,
                                           image.width,
                                           image.height,
                                           begin,
                                           plan.needed_end(end)};
        entropy_cpu(plan, rows, y, end, out.data() + y * image.width, image.width);
      }
      EXPECT_TRUE(same_bits(whole, out)) << algorithm_name(algorithm);
    }
  }
}

TEST(Entropy, RegionsHaveTheBitsOfTheWhole) {
  const Image image = random_image(333, 211, 16, 0.02, 9);
  for (const EntropyAlgorithm algorithm : kAll) {
    const EntropyOptions o = options_of(algorithm, Border::kReflect);
    const auto whole = run(image, o);
    const EntropyPlan plan(o, image.width, image.height);
    const auto rows = all_rows(image.codes.data(), image.width, image.height);
    std::vector<float> out(image.codes.size(), -1.0f);
    for (const Region& r : {Region{0, 100, 0, 211}, Region{100, 333, 0, 3},
                            Region{100, 101, 3, 211}, Region{101, 333, 3, 211}}) {
      entropy_cpu(plan, rows, r, out.data() + r.y_begin * image.width + r.x_begin, image.width);
    }
    EXPECT_TRUE(same_bits(whole, out)) << algorithm_name(algorithm);
  }
}

// Counts that outgrow a byte, a shuffle's table, 16 bits; windows taller than a byte counts.
TEST(Entropy, ColumnsOfSmallAndGreatCounts) {
  unsigned seed = 40;
  for (const int levels : {3, 10, 16, 17, 40, 64, 100, 128, 192, 255, 256}) {
    for (const auto& [w, h] : {std::pair{7, 7},
                               {11, 11},
                               {15, 15},
                               {127, 1},
                               {128, 1},
                               {23, 23},
                               {101, 101},
                               {9, 127},
                               {9, 128},
                               {3, 300},
                               {260, 256}}) {
      for (const int kind : {0, 1, 2}) {  // random; one class but for a few; stripes and steps
        Image image = random_image(301, 90, levels, kind == 2 ? 0.0 : 0.05, seed++);
        std::mt19937 draw(seed);
        for (std::size_t i = 0; kind > 0 && i < image.codes.size(); ++i) {
          const auto x = i % 301, y = i / 301;
          if (kind == 1 && draw() % 8 != 0) image.codes[i] = 1;
          if (kind == 2) image.codes[i] = static_cast<std::uint16_t>((x / 40 + y / 30) % levels);
        }
        EntropyOptions o;
        o.levels = levels;
        o.window = Footprint::rectangle(w, h);
        o.border = kind == 2 ? Border::kReflect : Border::kCrop;
        o.algorithm = EntropyAlgorithm::kSliding;
        const auto want = run(image, o);
        o.algorithm = EntropyAlgorithm::kColumn;
        EXPECT_TRUE(same_bits(want, run(image, o)))
            << levels << " levels, " << w << "x" << h << ", kind " << kind;
      }
    }
  }
}

TEST(Entropy, UniformWindowsAreExactlyZero) {
  Image image{40, 30, std::vector<std::uint16_t>(1200, 7)};
  for (const int side : {1, 5, 9, 51}) {
    EntropyOptions o;
    o.window = Footprint::rectangle(side, side);
    for (const float h : run(image, o)) ASSERT_EQ(h, 0.0f);
  }
}

TEST(Entropy, NothingValidGivesNaN) {
  Image image{9, 9, std::vector<std::uint16_t>(81, 16)};
  for (const EntropyAlgorithm algorithm : kAll) {
    for (const float h : run(image, options_of(algorithm))) ASSERT_TRUE(std::isnan(h));
  }
}

TEST(Entropy, LogarithmBases) {
  const Image image = random_image(50, 40, 16, 0, 3);
  for (const double base : {2.0, 10.0, 16.0}) {
    EntropyOptions o;
    o.log_base = base;
    check_all(image, o, full(5, 5), 5, 5, "base " + std::to_string(base));
  }
}

TEST(EntropyTables, TunedUnitsKeepTheErrorSmall) {
  EXPECT_LT(worst_table_error(make_entropy_tables(9, 0, 0, 9)), 1.5e-7);
  EXPECT_LT(worst_table_error(make_entropy_tables(25, 0, 0, 25)), 6.5e-7);
  EXPECT_LT(worst_table_error(make_entropy_tables(31, 0, 0, 31)), 9e-7);
  for (const int cells : {9, 15, 25, 31})
    EXPECT_LT(make_entropy_tables(cells, 0, 0, cells).sums[cells], 1 << 22);
}

TEST(EntropyTables, TheCurveOfWideWindows) {
  // over all histograms: two counts' errors at worst, against ln N
  for (const int cells : {32, 121, 255, 441}) {
    EXPECT_LT(worst_table_error(make_entropy_tables(cells, 0, 0, cells)), 1.5e-6) << cells;
  }
  for (const int cells : {32, 49, 10201, 1 << 22}) {
    const EntropyTables t = make_entropy_tables(cells, 0, 0, cells);
    ASSERT_FALSE(t.narrow);
    EXPECT_EQ(t.sums[0], 0);
    EXPECT_EQ(t.sums[1], 0);
    EXPECT_GT(t.sums[cells], 1 << 29);  // all 31 bits are used, or all but one
    double worst = 0;
    for (int n = 1; n <= cells; n += 1 + n / 1000) {
      EXPECT_EQ(t.sums[n], t.curve.sum(n));
      const double error = std::abs(t.sums[n] * t.unit - n * std::log(n));
      worst = std::max(worst, (error - 0.5 * t.unit) / n);  // half a unit is the rounding
    }
    EXPECT_LT(worst, 7.5e-7 + 9e-8 * std::log(cells)) << cells;  // and that of the product
  }
}

TEST(Entropy, LargeOutputsPastTheCachesAreTheSame) {
  const Image image = random_image(2051, 2049, 16, 0.0001, 31);  // rows on no common alignment
  const std::vector<std::uint8_t> bytes(image.codes.begin(), image.codes.end());
  const auto rows = all_rows(bytes.data(), image.width, image.height);
  for (const int side : {3, 5}) {
    EntropyOptions o;
    o.window = Footprint::rectangle(side, side);
    o.algorithm = EntropyAlgorithm::kNibble;
    const EntropyPlan plan(o, image.width, image.height);
    std::vector<float> bands(bytes.size(), -1.0f);
    for (std::int64_t y = 0; y < image.height; y += 683)
      entropy_cpu(plan, rows, y, y + 683, bands.data() + y * image.width, image.width);
    EXPECT_TRUE(same_bits(entropy_of(bytes, image.width, o), bands)) << side;
  }
}

}  // namespace
}  // namespace tilewave::field::entropy_test
