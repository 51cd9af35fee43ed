// Maps on a device against double precision and the CPU; skipped where there is none.
#include "tilewave/field/jit/map_cuda.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/field/cuda/entropy_cuda.h"
#include "tilewave/field/jit/recent.h"
#include "tilewave/field/rasters_test.h"
#include "tilewave/field/run/map_runner.h"
#include "tilewave/runtime/nvrtc.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::field {
namespace {

// map_of() on the first device.
std::vector<float> on_device(const std::string& text, std::vector<float> values,
                             const MapOptions& options = {}, std::int64_t width = 0) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (width == 0) width = size;
  MapCuda(MapExpression::parse(text), options, width, 0).run(0, size / width, values.data());
  return values;
}

TEST(MapCuda, KernelsAreKeptByTheirKey) {
  Recent<int> recent(3);
  int made = 0;
  const auto find = [&](const std::string& key) {
    return recent.find(key, [&] { return std::make_shared<int>(++made); });
  };
  const auto a = find("a");
  EXPECT_EQ(find("a"), a);
  EXPECT_EQ(made, 1);
  find("b"), find("c"), find("a"), find("d");  // forgets b, asked for the longest ago
  EXPECT_EQ(recent.size(), 3u);
  EXPECT_EQ(find("a"), a);
  EXPECT_EQ(made, 4);
  EXPECT_EQ(*find("b"), 5);
  EXPECT_THROW(recent.find("e", []() -> std::shared_ptr<int> { throw 1; }), int);
  EXPECT_EQ(*find("e"), 6);
  // what decides a kernel is in its source
  const auto text = [](const char* e, MapPrecision precision, std::int64_t width,
                       bool once = false) {
    return make_map_kernel(MapExpression::parse(e), precision, width, once).source;
  };
  const auto one = text("ix % 2 ? v : log(v)", MapPrecision::kPrecise, 64);
  EXPECT_EQ(one, text("ix % 2 ? v : log(v)", MapPrecision::kPrecise, 128));
  EXPECT_NE(one, text("ix % 2 ? v : log(v)", MapPrecision::kPrecise, 63));
  EXPECT_NE(one, text("ix % 2 ? v : log(v)", MapPrecision::kFast, 64));
  EXPECT_NE(one, text("ix % 2 ? v : log2(v)", MapPrecision::kPrecise, 64));
  EXPECT_NE(one, text("ix % 2 ? v : log(v)", MapPrecision::kPrecise, 64, true));
}

TEST(MapCuda, SourceSpecialisesTheLanes) {
  const auto study = MapExpression::parse(kStudy);
  const std::string source = make_map_kernel(study, MapPrecision::kPrecise, 2048, false).source;
  EXPECT_NE(source.find("v.y = f1(v.y, 0, 0, 0);"), std::string::npos);
  EXPECT_EQ(make_map_kernel(study, MapPrecision::kPrecise, 2047, false).source.find("f1("),
            std::string::npos);
  // what the hardware's cosine passes 1 by is cut off, whatever the device
  for (const bool overlaps : {false, true}) {
    const std::string fast =
        make_map_kernel(study, MapPrecision::kFast, 2048, true, overlaps).source;
    EXPECT_NE(fast.find("return within_one(__cosf("), std::string::npos);
    EXPECT_EQ(fast.find("max.NaN.f32") != std::string::npos, overlaps);
  }
  EXPECT_EQ(make_map_kernel(study, MapPrecision::kFast, 2048, false).threads, 256u);
  EXPECT_EQ(make_map_kernel(study, MapPrecision::kFast, 2048, true).threads, 1024u);
}

// Indices have the arithmetic of the CPU, from the same text.
TEST(MapCuda, SourceHasTheArithmeticOfIndices) {
  const std::string source =
      make_map_kernel(MapExpression::parse("idx % (iy + 7) * -ix + v % 3 + (0 - "
                                           "9223372036854775807 - 1) % (iy + 1)"),
                      MapPrecision::kPrecise, 7, true)
          .source;
  for (const char* part :
       {"long long whole_remainder(long long a, long long b) {\n  if (b == 0 ",
        " = whole_remainder(t", " = wrapped_sum(t", " = wrapped_product(t",
        " = wrapped_difference(0, t", " = floor_mod(t", "(-9223372036854775807LL - 1)"}) {
    EXPECT_NE(source.find(part), std::string::npos) << part << "\n" << source;
  }
  EXPECT_EQ(source.find("#include"), std::string::npos);
}

// What every operation, of integers and of floats, becomes; the compiler needs no device.
TEST(MapCuda, SourcesCompile) {
  std::string why;
  const auto* const compiler = runtime::cuda::Nvrtc::load({13, 12}, &why);
  if (compiler == nullptr) GTEST_SKIP() << "NOT TESTED: no NVRTC here: " << why;
  const std::string options[] = {"-arch=sm_80", "-fmad=false", "-std=c++17"};
  for (const char* text :
       {kStudy, "idx % (iy + 7) - -ix * iy + abs(ix - 3) + min(ix, iy) * max(idx, 3) % -7",
        "(0 - 9223372036854775807 - 1) * (ix + 1) + ix % 0 + ix / 7",
        "(ix % 2 ? idx : 0.5) + (ix < iy) + (v < ix) + (ix == 3 && !v)",
        "v % 3 - pow(v, 3) + hypot(v, nan) + atan2(v, inf) + clip(v, -1, 2) + sign(v)"}) {
    for (const MapPrecision precision : {MapPrecision::kPrecise, MapPrecision::kFast}) {
      const std::string source =
          make_map_kernel(MapExpression::parse(text), precision, 64, false).source;
      const auto program = compiler->compile(source, {}, options);
      EXPECT_FALSE(program.binary.empty()) << text << "\n" << program.log;
    }
  }
}

TEST(MapCuda, AgainstDoublePrecisionAndTheCpu) {
  std::unique_ptr<MapCuda> probe;
  try {
    probe = std::make_unique<MapCuda>(MapExpression::parse("v"), MapOptions(), 4, 0);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kResources) << e.what();
    GTEST_SKIP() << e.what();
  }
  struct Row {
    const char* text;
    int repeat;
    double absolute;
  };
  const Row rows[] = {{kStudy, 10, 5e-4},
                      {"v + idx % 3 * (iy > 4 ? ix : 2)", 2, 1e-2},
                      {"min(v, 3) + max(ix, iy) - abs(ix - 5) + floor(v / 7) % 3", 1, 1e-3},
                      {"v > 100 && ix != 3 || !(iy <= 2) ? exp(-v / 50) : pow(v, 0.5)", 1, 1e-4},
                      {"pow(v / 99, 3) + pow(v / 99, 4) + pow(v / 99, 2)", 1, 5e-5},
                      {"hypot(v, 3) + log1p(v) + expm1(-v / 9) + trunc(v / 7)", 1, 1e-4}};
  for (const std::int64_t width : {2048, 61, 64}) {
    for (const Row& row : rows) {
      for (const MapPrecision precision : {MapPrecision::kPrecise, MapPrecision::kFast}) {
        const std::int64_t height = 33;
        const auto input = study_input(static_cast<std::size_t>(width * height));
        const auto result = on_device(row.text, input, {row.repeat, precision}, width);
        MapError error;
        verify_map(MapExpression::parse(row.text), row.repeat, width, 0, height, input.data(),
                   result.data(), error);
        EXPECT_LT(error.absolute, row.absolute * (precision == MapPrecision::kFast ? 20 : 1))
            << row.text << " " << width;
        EXPECT_EQ(error.mismatched, 0);
      }
    }
    // Whole, in bands that start anywhere, and on every device: the same bits.
    for (const Row& row : rows) {
      const auto e = MapExpression::parse(row.text);
      const auto input = study_input(static_cast<std::size_t>(width * 33));
      auto whole = input, bands = input, several = input;
      MapCuda map(e, MapOptions(), width, 0);
      map.run(0, 33, whole.data());
      for (std::int64_t y = 0; y < 33; y += 5)
        map.run(y, std::min<std::int64_t>(y + 5, 33), bands.data() + y * width);
      std::vector<int> all(static_cast<std::size_t>(num_cuda_devices()));
      std::iota(all.begin(), all.end(), 0);
      MapRunner(e, MapOptions(), width, width * 33, DeviceSet::cuda(all))
          .run(0, 33, several.data());
      EXPECT_TRUE(same_bits(whole, bands));
      EXPECT_TRUE(same_bits(whole, several));
    }
    const MapOptions lut{10, MapPrecision::kLut};
    auto band = study_input(static_cast<std::size_t>(width * 20));
    const auto cpu = map_of(kStudy, band, lut, width);
    EXPECT_TRUE(same_bits(cpu, on_device(kStudy, band, lut, width))) << width;
    std::copy_n(cpu.begin(), width, band.begin());
    MapCuda(MapExpression::parse(kStudy), lut, width, 0)
        .run(1, 20, band.data() + width);  // it starts in mid-word
    EXPECT_TRUE(same_bits(cpu, band)) << width;
  }
}

// The definition is exact, so the bits are those of the CPU.
TEST(MapCuda, RemaindersHaveTheBitsOfTheCpu) {
  if (num_cuda_devices() == 0) GTEST_SKIP() << "NOT TESTED: no CUDA device here";
  std::vector<float> input;
  std::mt19937 draw(11);
  for (int i = 0; i < 1 << 16; ++i)
    input.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(draw())));
  for (int i = 0; i < 1 << 16; ++i)
    input.push_back(static_cast<float>(draw() / 4294967296.0 * 1e4));
  for (const float special : {0.0f, -0.0f, 1e8f, 3.4e38f, -1e-20f, INFINITY, -INFINITY, NAN})
    input.push_back(special);
  for (const char* text :
       {"v % 3", "v % 0.1", "v % 360", "v % 6.2831853", "v % -7", "v % inf", "v % 1e-40",
        "1000.7 % v", "(v * 3) % (v - 7)", "v % 0", "trunc(v)", "sign(v) + isnan(v)",
        "clip(v, -1, 2)", "idx % (ix - 7000) + ix % -7", "(idx * 2654435761 * 2654435761) % 10",
        "ix % (ix % 3)", "abs(7 - ix) * 4611686018427387904 % 1000003", "0.1 + 0.2 == 0.3"}) {
    const auto cpu = map_of(text, input), cuda = on_device(text, input);
    for (std::size_t i = 0; i < input.size(); ++i) {
      ASSERT_TRUE(same_bits(cpu[i], cuda[i]))
          << text << " of " << input[i] << ": " << cuda[i] << " for " << cpu[i];
    }
  }
}

TEST(MapCuda, FastFunctionsStayWithinTheirRanges) {
  if (num_cuda_devices() == 0) GTEST_SKIP() << "NOT TESTED: no CUDA device here";
  const MapOptions fast{.precision = MapPrecision::kFast};
  std::vector<float> turns;
  for (int k = 0; k < 24830; ++k) {
    const auto middle = std::bit_cast<std::int32_t>(static_cast<float>(k * (M_PI / 2)));
    for (int j = -40; j <= 40; ++j) turns.push_back(std::bit_cast<float>(std::max(middle + j, 0)));
  }
  for (const char* text : {"sin(v)", "cos(v)"}) {
    const auto got = on_device(text, turns, fast);
    const auto [least, most] = std::minmax_element(got.begin(), got.end());
    EXPECT_GE(*least, -1.0f) << text;
    EXPECT_LE(*most, 1.0f) << text;
  }
  for (const char* text : {"sqrt(cos(v) + 1)", "acos(cos(v))", "sqrt(1 - sin(v) * sin(v))"})
    EXPECT_EQ(count_nan(on_device(text, turns, fast)), 0) << text;
  EXPECT_EQ(count_nan(on_device("cos(v)", {NAN, INFINITY}, fast)), 2);
  const MapOptions often{10, MapPrecision::kFast};
  EXPECT_EQ(count_nan(on_device(kStudy, study_input(2048 * 2048), often, 2048)), 0);
}

TEST(MapCuda, ASecondMapCompilesNothing) {
  if (num_cuda_devices() == 0) GTEST_SKIP() << "NOT TESTED: no CUDA device here";
  const auto e = MapExpression::parse("v * 1.25 + sin(v) / 3");
  const MapCuda first(e, MapOptions(), 64, 0);
  const runtime::Timer timer;
  const MapCuda second(e, MapOptions(), 128, 0);  // of the same source
  EXPECT_LT(timer.elapsed_s(), 0.03);
}

}  // namespace
}  // namespace tilewave::field
