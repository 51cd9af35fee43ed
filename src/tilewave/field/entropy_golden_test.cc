// Maps made by others: whole images by scikit-image's rank entropy, and the corners the 2020 study
// printed.
#include <cmath>
#include <cstdio>

#include "gtest/gtest.h"
#include "tilewave/field/entropy.h"
#include "tilewave/formats/npy/npy.h"

namespace tilewave::field {
namespace {

const std::string kData = TW_SOURCE_DIR "/tests/data/entropy/";

TEST(EntropyGolden, WholeImagesOfRankEntropy) {
  struct Row {
    const char* name;
    Footprint window;
  };
  const Row rows[] = {{"square1", Footprint::rectangle(3, 3)},
                      {"square2", Footprint::rectangle(5, 5)},
                      {"square7", Footprint::rectangle(15, 15)},
                      {"disk3", Footprint::disk(3)},
                      {"disk6", Footprint::disk(6)}};
  for (const int levels : {16, 256}) {
    const std::string stem = kData + "k" + std::to_string(levels);
    const formats::NpyArray image = formats::read_npy(stem + ".npy");
    const auto height = static_cast<std::int64_t>(image.header.shape[0]),
               width = static_cast<std::int64_t>(image.header.shape[1]);
    for (const Row& row : rows) {
      const formats::NpyArray golden = formats::read_npy(stem + "_" + row.name + ".npy");
      const auto* want = reinterpret_cast<const float*>(golden.bytes.data());
      EntropyOptions o;
      o.window = row.window;
      o.levels = levels;
      o.log_base = 2;
      const CodeRows<std::uint8_t> codes{reinterpret_cast<const std::uint8_t*>(image.bytes.data()),
                                         width,
                                         width,
                                         height,
                                         0,
                                         height};
      std::vector<float> got(static_cast<std::size_t>(width * height));
      entropy_cpu(EntropyPlan(o, width, height), codes, 0, height, got.data(), width);
      float worst = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        worst = std::max(worst, std::abs(got[i] - want[i]));
      EXPECT_LT(worst, 5e-6f) << levels << " " << row.name;
    }
  }
}

// The lower right 5 x 5 of each sample and of its result, as the study printed them. The first
// sample is 5 x 5 as a whole; of the others only windows inside the printed part can be known.
struct StudySample {
  int codes[25];
  const char* printed[25];
};
constexpr StudySample kSamples[] = {
    {{7, 6, 9, 3, 1, 15, 10, 12, 9, 13, 10, 11, 2, 11, 3, 6, 12, 2, 4, 8, 11, 8, 7, 13, 6},
     {"2.04319", "2.13833", "2.33837", "2.43079", "2.25386", "2.02281", "2.25273",
      "2.51053", "2.64916", "2.51266", "2.15353", "2.41505", "2.51159", "2.77526",
      "2.71847", "2.33837", "2.62300", "2.75433", "2.94162", "2.85710", "2.25386",
      "2.47996", "2.62300", "2.78779", "2.68595"}},
    {{10, 14, 3, 3, 15, 9, 10, 6, 2, 13, 7, 1, 8, 3, 10, 5, 13, 5, 7, 8, 9, 14, 4, 11, 2},
     {"2.04319", "2.09473", "2.26861", "2.39591", "2.21025", "2.25386", "2.30667",
      "2.38889", "2.62300", "2.47996", "2.33837", "2.48437", "2.56705", "2.80978",
      "2.69231", "2.52321", "2.78779", "2.83071", "2.99707", "2.85710", "2.36938",
      "2.59930", "2.78779", "2.92642", "2.68595"}},
    {{4, 12, 3, 6, 4, 2, 14, 9, 8, 0, 8, 8, 4, 12, 11, 3, 15, 13, 3, 4, 4, 0, 6, 0, 3},
     {"2.41428", "2.32154", "2.32154", "2.60891", "2.62300", "2.56705", "2.43521",
      "2.40069", "2.69888", "2.62300", "2.53252", "2.45614", "2.30061", "2.65702",
      "2.52752", "2.80978", "2.73340", "2.69154", "2.92069", "2.78779", "2.69231",
      "2.62300", "2.52752", "2.78779", "2.59930"}},
    {{6, 2, 12, 5, 9, 1, 4, 15, 5, 10, 10, 6, 2, 4, 8, 3, 0, 14, 14, 3, 9, 11, 0, 2, 6},
     {"2.35883", "2.22423", "2.22700", "2.43521", "2.44121", "2.54612", "2.49066",
      "2.56705", "2.73340", "2.64916", "2.60157", "2.54612", "2.56705", "2.80978",
      "2.78779", "2.80978", "2.83071", "2.83071", "2.94162", "2.85710", "2.62300",
      "2.64916", "2.64916", "2.71847", "2.59930"}},
    {{2, 6, 9, 9, 15, 4, 13, 10, 13, 0, 5, 6, 4, 7, 10, 13, 13, 1, 12, 9, 8, 1, 10, 4, 8},
     {"2.43521", "2.35883", "2.30061", "2.50883", "2.52752", "2.27968", "2.32431",
      "2.39058", "2.62250", "2.62300", "2.26886", "2.24516", "2.43521", "2.65702",
      "2.59683", "2.45614", "2.48790", "2.62250", "2.84431", "2.76163", "2.55368",
      "2.59683", "2.64916", "2.78779", "2.59930"}},
    {{1, 11, 14, 12, 10, 13, 13, 12, 4, 6, 15, 5, 1, 8, 4, 2, 2, 13, 10, 14, 8, 5, 15, 6, 3},
     {"2.47707", "2.62250", "2.54612", "2.80978", "2.69231", "2.47707", "2.43521",
      "2.37976", "2.69888", "2.64916", "2.51159", "2.47707", "2.53252", "2.83071",
      "2.64916", "2.69888", "2.64343", "2.75433", "2.99707", "2.85710", "2.55368",
      "2.48437", "2.71847", "2.92642", "2.77259"}},
    {{3, 8, 3, 2, 1, 11, 9, 4, 12, 2, 7, 9, 14, 12, 9, 14, 13, 14, 11, 6, 2, 4, 1, 1, 3},
     {"2.64343", "2.54612", "2.28979", "2.45614", "2.36273", "2.54612", "2.51159",
      "2.44880", "2.65702", "2.52752", "2.49066", "2.45614", "2.39335", "2.67795",
      "2.55368", "2.65702", "2.64343", "2.67795", "2.86524", "2.78779", "2.55368",
      "2.59683", "2.69231", "2.78779", "2.59930"}},
    {{14, 11, 6, 11, 13, 10, 11, 11, 2, 5, 5, 8, 1, 13, 4, 1, 8, 13, 13, 6, 15, 11, 1, 14, 5},
     {"2.44880", "2.53252", "2.45614", "2.71981", "2.71847", "2.37976", "2.45614",
      "2.36617", "2.60891", "2.57984", "2.43521", "2.35606", "2.24516", "2.45337",
      "2.44121", "2.73340", "2.71247", "2.63609", "2.78885", "2.69231", "2.62300",
      "2.52752", "2.52752", "2.69231", "2.47996"}},
    {{1, 9, 3, 3, 3, 13, 12, 13, 6, 11, 3, 11, 1, 1, 11, 10, 5, 6, 2, 3, 3, 11, 3, 14, 14},
     {"2.30061", "2.32431", "2.13426", "2.56705", "2.48437", "2.32154", "2.40069",
      "2.20607", "2.62250", "2.41505", "2.21064", "2.30061", "2.15403", "2.50883",
      "2.31611", "2.51159", "2.65702", "2.55345", "2.77526", "2.64916", "2.41505",
      "2.52752", "2.41505", "2.62300", "2.51266"}},
    {{6, 5, 6, 4, 5, 5, 4, 6, 6, 2, 1, 9, 5, 5, 9, 1, 7, 14, 7, 11, 11, 8, 15, 7, 7},
     {"2.37976", "2.26493", "2.18578", "2.50883", "2.48437", "2.35606", "2.32154",
      "2.29784", "2.60891", "2.66615", "2.40069", "2.34247", "2.23157", "2.53252",
      "2.50136", "2.69888", "2.65425", "2.64343", "2.83071", "2.69231", "2.48437",
      "2.45474", "2.44121", "2.57984", "2.47996"}},
    {{4, 9, 5, 7, 5, 3, 5, 3, 12, 11, 15, 9, 9, 11, 6, 12, 4, 1, 2, 3, 4, 14, 1, 14, 1},
     {"2.25875", "2.46697", "2.52519", "2.78885", "2.71847", "2.34524", "2.42162",
      "2.51159", "2.76792", "2.69231", "2.32431", "2.40069", "2.39335", "2.65702",
      "2.62300", "2.62250", "2.67795", "2.67795", "2.86524", "2.69231", "2.38889",
      "2.48437", "2.62300", "2.69231", "2.56660"}},
    {{6, 4, 14, 14, 9, 7, 13, 10, 10, 8, 13, 1, 8, 2, 12, 6, 4, 8, 1, 9, 12, 12, 8, 5, 12},
     {"2.52519", "2.51159", "2.54612", "2.71247", "2.55368", "2.51159", "2.28979",
      "2.40069", "2.64343", "2.45820", "2.43521", "2.45614", "2.38710", "2.58798",
      "2.44121", "2.62250", "2.64343", "2.60891", "2.75433", "2.57984", "2.43204",
      "2.52752", "2.48437", "2.59683", "2.47996"}},
};

TEST(EntropyGolden, TheStudysPrintedCorners) {
  EntropyOptions o;
  o.border = Border::kStudy2020;
  for (std::size_t s = 0; s < std::size(kSamples); ++s) {
    const int side = s == 0 ? 5 : 9, start = side - 5, first = s == 0 ? 0 : 2;
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(side * side));
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 5; ++x)
        codes[static_cast<std::size_t>((start + y) * side + start + x)] =
            static_cast<std::uint8_t>(kSamples[s].codes[y * 5 + x]);
    }
    std::vector<float> got(codes.size());
    const CodeRows<std::uint8_t> rows{codes.data(), side, side, side, 0, side};
    entropy_cpu(EntropyPlan(o, side, side), rows, 0, side, got.data(), side);
    for (int y = first; y < 5; ++y) {
      for (int x = first; x < 5; ++x) {
        char text[32];
        std::snprintf(
            text, sizeof text, "%.5f",
            static_cast<double>(got[static_cast<std::size_t>((start + y) * side + start + x)]));
        EXPECT_STREQ(text, kSamples[s].printed[y * 5 + x])
            << "sample " << s << " (" << x << ", " << y << ")";
      }
    }
  }
}

TEST(EntropyGolden, TheDefinitionDiffersInTheStudysCorner) {
  std::vector<std::uint8_t> codes;
  for (const int code : kSamples[0].codes) codes.push_back(static_cast<std::uint8_t>(code));
  std::vector<float> got(25);
  entropy_cpu(EntropyPlan(EntropyOptions(), 5, 5),
              CodeRows<std::uint8_t>{codes.data(), 5, 5, 5, 0, 5}, 0, 5, got.data(), 5);
  EXPECT_NEAR(got[24], 2.04319f, 5e-6f);
}

}  // namespace
}  // namespace tilewave::field
