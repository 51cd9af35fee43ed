#include "tilewave/runtime/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::runtime {
namespace {

TEST(Shares, a_thread_alone_takes_all_in_order_of_parts) {
  for (const int threads : {1, 2, 3, 7}) {
    Shares shares(10, threads);
    std::vector<std::uint64_t> taken;
    while (const auto t = shares.take(0)) taken.push_back(*t);
    ASSERT_EQ(taken.size(), 10u) << threads;
    for (std::uint64_t k = 0; k < 10 / static_cast<std::uint64_t>(threads); ++k)
      EXPECT_EQ(taken[k], k) << threads;  // its own part first
    std::sort(taken.begin(), taken.end());
    for (std::uint64_t k = 0; k < 10; ++k) EXPECT_EQ(taken[k], k) << threads;
    EXPECT_FALSE(shares.take(threads - 1));
  }
}

TEST(Shares, who_is_done_takes_the_latter_half_of_the_largest_part) {
  Shares shares(24, 3);  // 0-7, 8-15, 16-23
  for (std::uint64_t k = 0; k < 8; ++k) EXPECT_EQ(shares.take(0), k);
  for (std::uint64_t k = 8; k < 12; ++k) EXPECT_EQ(shares.take(1), k);
  EXPECT_EQ(shares.take(0), 20u);  // 16-23 is larger than 12-15
  EXPECT_EQ(shares.take(2), 16u);
  EXPECT_EQ(shares.take(1), 12u);
}

TEST(Shares, fewer_numbers_than_threads) {
  Shares none(0, 4);
  EXPECT_FALSE(none.take(3));
  Shares one(1, 4);
  EXPECT_EQ(one.take(0), 0u);
  for (int thread = 0; thread < 4; ++thread) EXPECT_FALSE(one.take(thread));
}

TEST(Shares, as_many_as_it_says) {
  Shares most(0xffffffff, 2);
  EXPECT_EQ(most.take(1), 0xffffffffu / 2);
  EXPECT_THROW(Shares(std::uint64_t{1} << 32, 2), Error);
}

// Threads of unlike speed: every number once.
TEST(Shares, every_number_is_taken_once) {
  constexpr std::uint64_t kCount = 20000;
  constexpr int kThreads = 4;
  for (int round = 0; round < 10; ++round) {
    Shares shares(kCount, kThreads);
    std::vector<std::atomic<int>> times(kCount);
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k) {
      threads.emplace_back([&, k] {
        while (const auto t = shares.take(k)) {
          ++times[*t];
          for (int i = 0; k == 1 && i < 50; ++i)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    for (std::uint64_t t = 0; t < kCount; ++t) ASSERT_EQ(times[t], 1) << t;
  }
}

}  // namespace
}  // namespace tilewave::runtime
