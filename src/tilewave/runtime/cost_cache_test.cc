#include "tilewave/runtime/cost_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tilewave::runtime {
namespace {

TEST(CostCache, keys_change_with_device_driver_and_use) {
  CudaDevice d;
  d.name = "NVIDIA H200";
  d.driver_version = 13000;
  const std::string key = cost_key(d, "passes");
  EXPECT_EQ(key.find("NVIDIA_H200/13000/"), 0u) << key;
  EXPECT_EQ(key.find(' '), std::string::npos);
  d.driver_version = 13010;
  EXPECT_NE(cost_key(d, "passes"), key);
  EXPECT_NE(cost_key(d, "entropy"), key);
}

TEST(CostCache, only_sound_lines_count) {
  const std::vector<double> costs = {0.25, 3e-5, 7e9};
  const std::string text = "nonsense\nother/13 1 1 1\nthis/13 1 2\nthis/13 1 0 3\nthis/13 1 x 3\n" +
                           print_costs("this/13", costs);
  const auto found = find_costs(text, "this/13", 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, costs);
  EXPECT_FALSE(find_costs(text, "that/13", 3));
  EXPECT_FALSE(find_costs("this/13 1 1 0\n", "this/13", 3));
  EXPECT_FALSE(find_costs("this/13 1 1\n", "this/13", 3));
  EXPECT_FALSE(find_costs("this/13 1 1 1 1\n", "this/13", 3));
}

TEST(CostCache, measures_once_and_keeps_a_line) {
  const auto folder = std::filesystem::temp_directory_path() / "tilewave_cost_cache_test";
  std::filesystem::remove_all(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  int measured = 0;
  const auto measure = [&] {
    ++measured;
    return std::vector<double>{1.5, 2e-13};
  };
  const std::vector<double> first = cached_costs("test/once", 2, measure);
  EXPECT_EQ(cached_costs("test/once", 2, measure), first);
  EXPECT_EQ(measured, 1);
  std::ostringstream text;
  text << std::ifstream(cost_file()).rdbuf();
  EXPECT_TRUE(find_costs(text.str(), "test/once", 2)) << text.str();
  // Another process would find the line.
  std::ofstream(cost_file(), std::ios::app) << print_costs("test/kept", first);
  cached_costs("test/kept", 2, measure);
  EXPECT_EQ(measured, 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tilewave::runtime
