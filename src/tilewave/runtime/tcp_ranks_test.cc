// Rank meetings inside one process, a thread a rank; and names of hosts.
#include "tilewave/runtime/tcp_ranks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tilewave/runtime/on_ranks_test.h"

namespace tilewave::runtime {
namespace {

TEST(TcpRanks, FirstHost) {
  EXPECT_EQ(first_host("node1"), "node1");
  EXPECT_EQ(first_host("node1,node2"), "node1");
  EXPECT_EQ(first_host("node[07-09,12],gpu1"), "node07");
  EXPECT_EQ(first_host("node[3]"), "node3");
  EXPECT_EQ(first_host("gpu1,node[07-09]"), "gpu1");
  EXPECT_EQ(first_host("rack[2,4]-ib0,x"), "rack2-ib0");
  EXPECT_EQ(first_host(""), "");
}

TEST(TcpRanks, EveryoneHearsEveryRoot) {
  for (const int size : {2, 3, 5, 8}) {
    on_ranks(size, [&](const std::shared_ptr<Ranks>& joined) {
      Ranks& ranks = *joined;
      EXPECT_EQ(ranks.size(), size);
      EXPECT_EQ(ranks.ranks_on_host(), size);
      EXPECT_EQ(ranks.rank_on_host(), ranks.rank());
      for (int root = 0; root < size; ++root) {
        std::vector<int> data(100'000, ranks.rank());
        ranks.broadcast(data.data(), data.size() * sizeof(int), root);
        EXPECT_EQ(data.front(), root);
        EXPECT_EQ(data.back(), root);
        int all[8] = {};
        const int mine = 10 * root + ranks.rank();
        ranks.gather(&mine, all, sizeof mine);
        for (int r = 0; r < size; ++r) EXPECT_EQ(all[r], 10 * root + r);
      }
    });
  }
}

// Several swaps under way with every peer, of lengths no buffer of a socket holds, and of none.
TEST(TcpRanks, SwapsUnderWay) {
  on_ranks(4, [](const std::shared_ptr<Ranks>& joined) {
    Ranks& ranks = *joined;
    const int me = ranks.rank();
    for (int d = 1; d < 4; ++d) {
      const int peer = me ^ d;
      constexpr int kUnderWay = 4;
      std::vector<std::vector<std::uint64_t>> out(kUnderWay), in(kUnderWay);
      for (int s = 0; s < kUnderWay; ++s) {
        const std::size_t count = s == 1 ? 1 : 1'500'000;
        out[s].resize(count);
        std::iota(out[s].begin(), out[s].end(), std::uint64_t(1000 * me + s));
        const bool one_way = s == 3;  // the lower rank sends
        in[s].resize(one_way && me < peer ? 0 : count);
        ranks.start_swap(s, peer, out[s].data(), one_way && me > peer ? 0 : count * 8, in[s].data(),
                         in[s].size() * 8);
      }
      for (int s = 0; s < kUnderWay; ++s) {
        ranks.finish_swap(s);
        for (std::size_t k = 0; k < in[s].size(); ++k)
          ASSERT_EQ(in[s][k], std::uint64_t(1000 * peer + s) + k);
      }
    }
  });
}

}  // namespace
}  // namespace tilewave::runtime
