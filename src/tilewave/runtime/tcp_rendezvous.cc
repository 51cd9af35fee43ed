#include "tilewave/runtime/tcp_rendezvous.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tilewave/base/error.h"

namespace tilewave::runtime {
namespace {

std::atomic<bool> root_is_missing = false;

template <class... Parts>
[[noreturn]] void fail_to_meet(const Parts&... message) {
  fail(ExitCode::kCommunication, message...);
}

}  // namespace

bool speaks_for_meeting(int rank) { return rank == (root_is_missing ? 1 : 0); }

Gathered receive_all(Member& me, const Meeting& meeting, const Timer& timer, double meet_s) {
  Gathered all(me.size);
  std::vector<Socket>& control = all.control;
  const int size = me.size;
  std::string problem;
  const std::string found = Socket::address_of(meeting.host, &problem);
  if (found.empty())
    fail_to_meet(problem, ": name the host of process 0 in TILEWAVE_ROOT=host:port");
  const std::string address = listening_address(found, meeting.host);
  Socket door = Socket::listen(address, meeting.port);
  all.listener = Socket::listen(address, 0);
  me.port = all.listener.port();
  all.members[0] = me;
  Guests guests(door, me.key);
  std::vector<Socket> strangers;
  int missing = size - 1;
  while (missing > 0 && problem.empty()) {
    if (timer.elapsed_s() > meet_s) {
      std::string who;
      int named = 0;
      for (int r = 1; r < size; ++r) {
        if (control[static_cast<std::size_t>(r)].is_open() || ++named > 8) continue;
        who += (who.empty() ? "" : ", ") + std::to_string(r);
      }
      if (named > 8) who += ", ...";
      problem = (named > 1 ? "ranks " : "rank ") + who + " of " + std::to_string(size) +
                " did not come to " + meeting.host + ":" + std::to_string(meeting.port) +
                " within " + std::to_string(static_cast<int>(meet_s)) +
                " s: see whether all were started and reach this host, or set TILEWAVE_MEET_S "
                "higher";
      break;
    }
    Member m;
    Socket guest = guests.next(0.2, m);
    if (!guest.is_open()) continue;
    if (m.size != size || m.rank <= 0 || m.rank >= size) {
      problem = "process " + std::to_string(m.process) + " on " + m.host.data() +
                " says it is rank " + std::to_string(m.rank) + " of " + std::to_string(m.size) +
                ", this is rank 0 of " + std::to_string(size) +
                ": start all with the same number of processes";
      strangers.push_back(std::move(guest));
    } else if (control[static_cast<std::size_t>(m.rank)].is_open()) {
      problem = all.member(m.rank).name() + " and process " + std::to_string(m.process) + " on " +
                m.host.data() + " both say they are rank " + std::to_string(m.rank) +
                ": number the processes from 0";
      strangers.push_back(std::move(guest));
    } else {
      const std::string from = guest.peer_address();
      m.address = {};
      if (!is_loopback(from)) std::strncpy(m.address.data(), from.c_str(), m.address.size() - 1);
      all.member(m.rank) = m;
      control[static_cast<std::size_t>(m.rank)] = std::move(guest);
      --missing;
    }
  }
  Word word = word_of(me.key, problem.empty() ? Word::kAllThere : Word::kEnd);
  if (!problem.empty()) word.code = static_cast<int>(ExitCode::kCommunication);
  for (Socket& s : control) {
    if (!s.is_open() || !s.send_all(&word, sizeof word, 2) || !problem.empty()) continue;
    (void)s.send_all(all.members.data(), all.members.size() * sizeof(Member), 5);
  }
  for (Socket& s : strangers) (void)s.send_all(&word, sizeof word, 2);
  if (!problem.empty()) fail_to_meet(problem);
  return all;
}

Gathered introduce(Member& me, const Meeting& meeting, const Timer& timer, double meet_s) {
  Gathered all(me.size);
  const int size = me.size;
  std::string problem;
  Socket root;
  while (!root.is_open()) {
    root = Socket::connect(meeting.host, meeting.port, 2, &problem);
    if (root.is_open()) break;
    if (timer.elapsed_s() > meet_s) {
      root_is_missing = true;
      fail_to_meet("rank 0 of ", size, " is not at ", meeting.host, ":", meeting.port, " (",
                   problem, ", tried for ", static_cast<int>(meet_s),
                   " s): see whether it was started and runs there, or name the place in "
                   "TILEWAVE_ROOT=host:port");
    }
    usleep(100'000);
  }
  all.listener = Socket::listen(listening_address(root.own_address(), meeting.host), 0);
  me.port = all.listener.port();
  Word word;
  const bool came =
      root.send_all(&me, sizeof me, 5) && root.receive_all(&word, sizeof word, meet_s + 10);
  bool sound =
      came && word.is_sound(me.key) && (word.kind == Word::kAllThere || word.kind == Word::kEnd);
  if (sound && word.kind == Word::kEnd && word.code) std::_Exit(word.code);  // rank 0 tells why
  sound = sound && word.kind == Word::kAllThere &&
          root.receive_all(all.members.data(), all.members.size() * sizeof(Member), 10);
  for (int r = 0; r < size && sound; ++r)
    sound = all.member(r).is_sound(me.key) && all.member(r).rank == r && all.member(r).size == size;
  if (!sound) {
    root_is_missing = true;
    fail_to_meet("what answers at ", meeting.host, ":", meeting.port,
                 " is not rank 0 of this run: it ended while the processes met, has another "
                 "TILEWAVE_KEY, or another program uses that port");
  }
  all.control[0] = std::move(root);
  return all;
}

}  // namespace tilewave::runtime
