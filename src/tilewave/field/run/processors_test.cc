// Which processors are chosen by the cost model, and how an image is cut.
#include "tilewave/base/thrown_test.h"
#include "tilewave/field/run/entropy_runner.h"

#include "gtest/gtest.h"
#include "tilewave/base/error.h"
#include "tilewave/field/run/map_runner.h"

namespace tilewave::field {
namespace {

// An H200 of 2026, roughly.
EntropyCosts costs(double cpu_ns, int devices) {
  EntropyCosts c;
  c.cpu_s = cpu_ns * 1e-9;
  c.num_devices = devices;
  c.cuda = {0.4, 30e-6, 8e9, 8e9, 3e-12, 5e-12};
  return c;
}

TEST(EntropyCosts, TransfersAndTheStartAreCounted) {
  const std::int64_t large = 10240 * 10240;
  // 5x5, 16 classes: the copies alone take longer than two cores
  EXPECT_FALSE(choose_processors(costs(0.6, 1), large).set.has_cuda());
  // 101x101, 256 classes: worth the start
  EntropyCosts wide = costs(30, 1);
  wide.update_columns = 101;
  EXPECT_TRUE(choose_processors(wide, large).set.has_cuda());
  EXPECT_FALSE(choose_processors(wide, 1000 * 1000).set.has_cuda());  // but not for this
  wide.started = true;
  EXPECT_TRUE(choose_processors(wide, 1000 * 1000).set.has_cuda());
  EXPECT_FALSE(choose_processors(wide, 1).set.has_cuda());
  const EntropyChoice none = choose_processors(costs(30, 0), large);
  EXPECT_FALSE(none.set.has_cuda());
  EXPECT_NE(none.reason.find("no CUDA device"), std::string::npos);
}

TEST(EntropyCosts, SeveralDevicesOnlyWhereKernelsRule) {
  EntropyCosts c = costs(200, 4);
  c.started = true;
  EXPECT_EQ(choose_processors(c, 1 << 28).set.cuda().size(), 1u);
  c.update_columns = 2001;
  EXPECT_EQ(choose_processors(c, 1 << 28).set.cuda().size(), 4u);
}

TEST(CutAxis, CoversEverythingOnce) {
  for (const std::int64_t total : {1, 5, 127, 128, 1000, 10000000}) {
    for (const std::int64_t grain : {1, 16, 128}) {
      const auto cuts = cut_axis(total, {1, 2, 1}, grain);
      ASSERT_EQ(cuts.size(), 4u);
      EXPECT_EQ(cuts.front(), 0);
      EXPECT_EQ(cuts.back(), total);
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        EXPECT_LE(cuts[i], cuts[i + 1]);
        EXPECT_TRUE(i == 0 || cuts[i] % grain == 0 || cuts[i] == total);
      }
    }
  }
  EXPECT_EQ(cut_axis(1000, {1, 3}, 1)[1], 250);
}

TEST(EntropyRunner, AutoOnASmallImageIsTheCpuAndSaysSo) {
  const EntropyPlan plan(EntropyOptions(), 64, 64);
  EntropyRunner runner(plan, DeviceSet::automatic());
  EXPECT_EQ(runner.set().text(), "cpu");
  EXPECT_NE(runner.explain().find("auto: cpu"), std::string::npos);
  const std::vector<std::uint8_t> codes(64 * 64, 3);
  std::vector<float> out(codes.size(), -1.0f);
  runner.run(CodeRows<std::uint8_t>{codes.data(), 64, 64, 64, 0, 64}, {0, 64, 0, 64}, out.data(),
             64);
  for (const float h : out) ASSERT_EQ(h, 0.0f);
}

TEST(MapRunner, AutoAndSharing) {
  const auto e = MapExpression::parse("v + 1");
  MapRunner runner(e, MapOptions(), 8, 16, DeviceSet::automatic());
  EXPECT_NE(runner.explain().find("auto: cpu"), std::string::npos);
  std::vector<float> values(16, 2.0f);
  runner.run(0, 2, values.data());
  for (const float v : values) EXPECT_EQ(v, 3.0f);
  expect_error([&] { MapRunner(e, MapOptions(), 8, 16, DeviceSet::parse("cpu+cuda:0")); }, "",
               ExitCode::kUsage);
}

}  // namespace
}  // namespace tilewave::field
