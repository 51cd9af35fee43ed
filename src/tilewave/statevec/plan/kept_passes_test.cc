#include "tilewave/statevec/plan/kept_passes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace tilewave::statevec {
namespace {

// What is kept is found as what it is, within the room, which comes back at the end.
TEST(KeptPasses, RoomAndTypes) {
  const auto room = std::make_shared<std::atomic<std::int64_t>>(100);
  {
    KeptPasses kept(room);
    kept.keep<int>(3, std::make_shared<int>(7), 60);
    ASSERT_TRUE(kept.find<int>(3));
    EXPECT_EQ(*kept.find<int>(3), 7);
    EXPECT_FALSE(kept.find<float>(3));
    EXPECT_FALSE(kept.find<int>(2));
    EXPECT_FALSE(kept.find<int>(4));
    kept.keep<float>(3, std::make_shared<float>(1.0f), 1);  // taken
    EXPECT_EQ(*kept.find<int>(3), 7);
    kept.keep<int>(0, std::make_shared<int>(8), 41);  // no room
    EXPECT_FALSE(kept.find<int>(0));
    EXPECT_EQ(*room, 40);
  }
  EXPECT_EQ(*room, 100);
}

}  // namespace
}  // namespace tilewave::statevec
