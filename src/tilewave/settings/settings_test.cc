// Every word of every setting, and what is none.
#include <gtest/gtest.h>

#include <functional>

#include "tilewave/base/thrown_test.h"
#include "tilewave/settings/device.h"
#include "tilewave/settings/names.h"

namespace tilewave {
namespace {

std::string message_of(const std::function<void()>& f) { return error_of(f, ExitCode::kUsage); }

TEST(Settings, words_are_read_as_they_are_printed) {
  for (const auto p : {Precision::kSingle, Precision::kDouble})
    EXPECT_EQ(parse_precision(name_of(p)), p);
  for (int k = 0; k < 5; ++k)
    EXPECT_EQ(parse_engine(name_of(static_cast<Engine>(k))), static_cast<Engine>(k));
  for (int k = 0; k < 3; ++k) {
    const auto engine = static_cast<SamplingEngine>(k);
    EXPECT_EQ(parse_sampling_engine(name_of(engine)), engine);
  }
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(parse_effort(name_of(static_cast<Effort>(k))), static_cast<Effort>(k));
  EXPECT_EQ(parse_precision("DOUBLE"), Precision::kDouble);
}

TEST(Settings, devices) {
  const auto list = [](const char* text) {
    const DeviceSet set = DeviceSet::parse(text);
    return std::vector<int>(set.cuda().begin(), set.cuda().end());
  };
  EXPECT_TRUE(DeviceSet::parse("auto").is_auto());
  EXPECT_TRUE(DeviceSet::parse("CPU").is_cpu());
  EXPECT_EQ(list("cuda"), std::vector<int>{0});
  EXPECT_EQ(list("GPU"), std::vector<int>{0});
  EXPECT_EQ(list("cuda:2"), std::vector<int>{2});
  EXPECT_EQ(list("cuda:3,0-1"), (std::vector<int>{3, 0, 1}));
  EXPECT_TRUE(DeviceSet::parse("cpu+cuda:0-1").has_cpu());
  for (const char* text : {"auto", "cpu", "cuda:0", "cuda:0,2", "cpu+cuda:0,1"}) {
    EXPECT_EQ(DeviceSet::parse(text).text(), text);
    EXPECT_EQ(DeviceSet::parse(DeviceSet::parse(text).text()), DeviceSet::parse(text));
  }
  EXPECT_NO_THROW(need_one_kind(DeviceSet::parse("cuda:0-3")));
  expect_error([] { need_one_kind(DeviceSet::parse("cpu+cuda:0")); },
               "device 'cpu+cuda:0': only rasters and maps are shared", ExitCode::kUsage);
}

TEST(Settings, other_words_are_refused_with_the_list) {
  for (const char* bad :
       {"", "cud", "cuda:", "cuda:-1", "cuda:1-0", "cuda:0,0", "cuda:64", "cuda:a", "cuda 0",
        "cpu:0", "cpu+", "cpu+cpu", "auto ", "cuda:0;1", "tpu"}) {
    EXPECT_EQ(message_of([&] { DeviceSet::parse(bad); }),
              "unknown device '" + std::string(bad) + "': use " + device_words());
  }
  EXPECT_EQ(message_of([] { parse_precision("half"); }),
            "unknown precision 'half': use double or single");
  EXPECT_EQ(message_of([] { parse_engine("frame"); }),
            "unknown engine 'frame': use auto, statevector, stabilizer, density or trajectories");
  EXPECT_EQ(message_of([] { parse_sampling_engine("density"); }),
            "unknown engine 'density': use auto, frame or sparse");
  EXPECT_EQ(message_of([] { parse_effort("much"); }),
            "unknown effort 'much': use auto, once, repeated or best");
  // what is shown of a text is short and harmless
  const std::string shown =
      message_of([] { parse_precision(std::string(1000, 'x') + "\x1b[31m"); });
  EXPECT_LT(shown.size(), 150u);
  EXPECT_EQ(message_of([] { parse_precision("\x1b[31m"); }),
            "unknown precision '?[31m': use double or single");
}

}  // namespace
}  // namespace tilewave
