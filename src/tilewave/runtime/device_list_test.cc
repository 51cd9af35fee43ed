#include "tilewave/runtime/device_list.h"

#include <gtest/gtest.h>

namespace tilewave::runtime {
namespace {

TEST(DeviceList, ReadsNamesOfDevices) {
  using List = std::vector<int>;
  EXPECT_EQ(parse_cuda_devices("cuda"), List{0});
  EXPECT_EQ(parse_cuda_devices("cuda:2"), List{2});
  EXPECT_EQ(parse_cuda_devices("cuda:0-3"), (List{0, 1, 2, 3}));
  EXPECT_EQ(parse_cuda_devices("cuda:3,0-1"), (List{3, 0, 1}));
  for (const char* bad : {"", "cpu", "gpu", "cuda:", "cuda0", "cuda:-1", "cuda:1-", "cuda:2-1",
                          "cuda:1,", "cuda:0,0", "cuda:0-2,1", "cuda:64", "cuda:0 1", "cuda:x"})
    EXPECT_FALSE(parse_cuda_devices(bad)) << bad;
}

}  // namespace
}  // namespace tilewave::runtime
