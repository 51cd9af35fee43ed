#include "tilewave/runtime/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tilewave/base/error.h"

namespace tilewave::runtime {
namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix all(std::size_t n, double rate) {
  Matrix m(n, std::vector<double>(n, rate));
  for (std::size_t k = 0; k < n; ++k) m[k][k] = 0;
  return m;
}

TEST(Placement, equal_links_keep_the_order) {
  for (const std::size_t n : {1, 2, 4, 8, 16}) {
    const Placement p = place_ranks(all(n, 390e9));
    EXPECT_TRUE(std::is_sorted(p.order.begin(), p.order.end()));
    for (const double rate : p.bit_rates) EXPECT_EQ(rate, 390e9);
  }
  Matrix noisy = all(4, 390e9);
  noisy[0][1] = 385e9, noisy[3][0] = 395e9;
  EXPECT_EQ(place_ranks(noisy).order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Placement, fast_pairs_differ_in_the_lowest_bit) {
  Matrix m = all(4, 50e9);
  m[0][2] = m[2][0] = m[1][3] = m[3][1] = 200e9;
  const Placement p = place_ranks(m);
  EXPECT_EQ(p.order, (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(p.bit_rates, (std::vector<double>{200e9, 50e9}));
}

// A node of eight as older machines had them: two links, one link or none between two devices.
TEST(Placement, a_cube_of_eight) {
  Matrix m = all(8, 10e9);
  const auto link = [&](int a, int b, double rate) {
    m[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = rate;
    m[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] = rate;
  };
  // the corners of a cube under other names: x links of 100, y of 50, z of 25
  const int name[8] = {3, 6, 0, 5, 7, 1, 4, 2};
  for (int v = 0; v < 8; ++v) {
    link(name[v], name[v ^ 1], 100e9);
    link(name[v], name[v ^ 2], 50e9);
    link(name[v], name[v ^ 4], 25e9);
  }
  EXPECT_EQ(place_ranks(m).bit_rates, (std::vector<double>{100e9, 50e9, 25e9}));
}

TEST(Placement, one_slow_direction_counts) {
  Matrix m = all(4, 100e9);
  m[0][1] = 20e9;
  const Placement p = place_ranks(m);
  // 0 and 1 differ in both bits, so that no exchange of one bit meets the slow link
  EXPECT_EQ(p.bit_rates, (std::vector<double>{100e9, 100e9}));
}

TEST(Placement, devices_and_what_is_said_of_their_order) {
  const auto unequal = [] {
    std::vector<double> m(36, 50e9);  // six devices
    for (const auto& [a, b] : {std::pair{1, 4}, {2, 5}}) {
      m[static_cast<std::size_t>(6 * a + b)] = m[static_cast<std::size_t>(6 * b + a)] = 200e9;
    }
    return m;
  };
  const DeviceOrder fast = order_devices({1, 2, 4, 5}, 6, unequal);
  EXPECT_EQ(fast.devices, (std::vector<int>{1, 4, 2, 5}));
  EXPECT_NE(fast.remark.find("in the order 1, 4, 2, 5"), std::string::npos) << fast.remark;
  const DeviceOrder equal =
      order_devices({3, 2, 1, 0}, 4, [] { return std::vector<double>(16, 1e9); });
  EXPECT_EQ(equal.devices, (std::vector<int>{3, 2, 1, 0}));
  EXPECT_EQ(equal.remark, "");
  const auto fails = []() -> std::vector<double> {
    throw Error(ExitCode::kResources, "no memory for 256 MiB");
  };
  const DeviceOrder unknown = order_devices({1, 2, 4, 5}, 6, fails);
  EXPECT_EQ(unknown.devices, (std::vector<int>{1, 2, 4, 5}));
  EXPECT_NE(unknown.remark.find("could not be measured: no memory for 256 MiB"), std::string::npos)
      << unknown.remark;
  EXPECT_EQ(order_devices({1, 0}, 2, fails).remark, "");  // nothing to choose
}

TEST(Placement, hosts_side_by_side) {
  const auto remark = [](const std::vector<std::string>& hosts) { return remark_on_hosts(hosts); };
  EXPECT_EQ(remark({}), "");
  EXPECT_EQ(remark({"a", "a", "a", "a"}), "");
  EXPECT_EQ(remark({"b", "b", "a", "a"}), "");
  EXPECT_NE(remark({"a", "b", "a", "b"}).find("the ranks of a are not"), std::string::npos);
  EXPECT_NE(remark({"a", "b", "b", "a"}).find("--map-by slot"), std::string::npos);
}

}  // namespace
}  // namespace tilewave::runtime
