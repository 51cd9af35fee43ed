// See tcp_meeting.h.
#include "tilewave/runtime/tcp_meeting.h"

#include <poll.h>

#include <iterator>
#include <utility>
#include <vector>

namespace tilewave::runtime {
namespace {

constexpr double kIntroduceS = 5;         // for a guest to say who it is
constexpr double kHurriedS = 0.5;         // the same while no more guests are let in
constexpr std::size_t kMostGuests = 256;  // that have not said who they are; others wait outside

}  // namespace

Socket Guests::next(double limit_s, Member& who) {
  const Timer timer;
  while (timer.elapsed_s() < limit_s) {
    std::vector<pollfd> all;
    if (has_room()) all.push_back({listener_.get(), POLLIN, 0});
    for (const Guest& g : guests_) all.push_back({g.socket.get(), POLLIN, 0});
    (void)::poll(all.data(), all.size(), 50);
    while (has_room()) {
      Socket s = listener_.accept(0);
      if (!s.is_open()) break;
      guests_.push_back({std::move(s), {}, {}, 0});
    }
    for (auto g = guests_.begin(); g != guests_.end();) {
      const bool stays = listen_to(*g);
      if (stays && g->done == sizeof g->said) {
        Socket found = std::move(g->socket);
        who = g->said;
        guests_.erase(g);
        return found;
      }
      g = stays ? std::next(g) : guests_.erase(g);
    }
  }
  return {};
}

bool Guests::has_room() const { return guests_.size() < kMostGuests; }

bool Guests::listen_to(Guest& g) const {
  const ssize_t came =
      g.socket.receive_some(reinterpret_cast<char*>(&g.said) + g.done, sizeof g.said - g.done);
  if (came < 0) return false;
  g.done += static_cast<std::size_t>(came);
  if (g.done == sizeof g.said) return g.said.is_sound(key_);
  return g.since.elapsed_s() < (has_room() ? kIntroduceS : kHurriedS);
}

bool is_loopback(const std::string& address) { return address.starts_with("127."); }

std::string listening_address(const std::string& address, const std::string& root_host) {
  const bool stays_here = root_host == "localhost" || is_loopback(root_host);
  return is_loopback(address) && !stays_here ? std::string() : address;
}

}  // namespace tilewave::runtime
