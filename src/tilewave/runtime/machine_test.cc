#include "tilewave/runtime/machine.h"

#include <gtest/gtest.h>

#include "tilewave/runtime/threads.h"

namespace tilewave::runtime {
namespace {

TEST(Machine, DescribesItself) {
  const Machine m = describe_machine();
  EXPECT_FALSE(m.cpu_model.empty());
  EXPECT_EQ(cpu_model(), m.cpu_model);
  EXPECT_GE(m.num_cores, 1);
  EXPECT_GT(m.total_memory_bytes, std::uint64_t{1} << 26);
  EXPECT_GT(m.available_memory_bytes, 0u);
  EXPECT_LE(m.available_memory_bytes, m.total_memory_bytes);
}

TEST(Machine, SaysWhyThereIsNoDevice) {
  std::string problem;
  const auto devices = cuda_devices(&problem);
  EXPECT_EQ(devices.empty(), !problem.empty());
}

TEST(Machine, CacheSizesAreThoseOfACoreOrUnknown) {
  const CacheSizes sizes = cache_sizes();
  if (sizes.first_level_bytes) {
    EXPECT_GE(sizes.first_level_bytes, std::size_t{4} << 10);
    EXPECT_LE(sizes.first_level_bytes, std::size_t{1} << 20);
  }
  if (sizes.first_level_bytes && sizes.second_level_bytes) {
    EXPECT_GT(sizes.second_level_bytes, sizes.first_level_bytes);
  }
  EXPECT_EQ(cache_sizes().first_level_bytes, sizes.first_level_bytes);
}

}  // namespace
}  // namespace tilewave::runtime
