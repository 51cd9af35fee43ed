// Who is let in where many knock at once, and which members and words are sound.
#include "tilewave/runtime/tcp_meeting.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tilewave::runtime {
namespace {

constexpr std::uint64_t kKey = 42;

Member member(int rank) {
  Member m;
  m.key = kKey;
  m.rank = rank;
  m.port = 1000;
  return m;
}

std::vector<Socket> knock(const Socket& door, int count) {
  std::vector<Socket> all;
  for (int k = 0; k < count; ++k) {
    std::string problem;
    all.push_back(Socket::connect("127.0.0.1", door.port(), 5, &problem));
    EXPECT_TRUE(all.back().is_open()) << problem;
  }
  return all;
}

// More than are let in at a time, all before the first is asked for.
TEST(TcpMeeting, nobody_is_lost_among_many_that_knock_at_once) {
  const Socket door = Socket::listen("127.0.0.1", 0);
  const int count = 400;
  const std::vector<Socket> all = knock(door, count);
  for (int k = 0; k < count; ++k) {
    const Member m = member(k);
    ASSERT_TRUE(all[static_cast<std::size_t>(k)].send_all(&m, sizeof m, 5));
  }
  Guests guests(door, kKey);
  std::set<int> came;
  for (int k = 0; k < count; ++k) {
    Member m;
    if (guests.next(2, m).is_open()) came.insert(m.rank);
  }
  EXPECT_EQ(came.size(), static_cast<std::size_t>(count));
}

TEST(TcpMeeting, silent_guests_keep_nobody_out) {
  const Socket door = Socket::listen("127.0.0.1", 0);
  const std::vector<Socket> silent = knock(door, 400), one = knock(door, 1);
  const Member m = member(7);
  ASSERT_TRUE(one[0].send_all(&m, sizeof m, 5));
  Guests guests(door, kKey);
  Member who;
  EXPECT_TRUE(guests.next(4, who).is_open());
  EXPECT_EQ(who.rank, 7);
}

TEST(TcpMeeting, texts_that_do_not_end_are_not_sound) {
  Member m = member(1);
  EXPECT_TRUE(m.is_sound(kKey));
  EXPECT_FALSE(m.is_sound(kKey + 1));
  m.host.fill('x');
  EXPECT_FALSE(m.is_sound(kKey));
  m = member(1);
  m.address.fill('1');
  EXPECT_FALSE(m.is_sound(kKey));
  Word w;
  w.key = kKey;
  EXPECT_TRUE(w.is_sound(kKey));
  w.text.fill('x');
  EXPECT_FALSE(w.is_sound(kKey));
}

}  // namespace
}  // namespace tilewave::runtime
