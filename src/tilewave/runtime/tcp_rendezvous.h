// How the processes of a run find each other: all connect to rank 0, say who they are and hear where
// the others listen.
#pragma once

#include <cstddef>
#include <vector>

#include "tilewave/runtime/socket.h"
#include "tilewave/runtime/tcp_meeting.h"
#include "tilewave/runtime/tcp_ranks.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {

/// What a process has once all are there.
struct Gathered {
  std::vector<Member> members;  ///< one a rank
  std::vector<Socket> control;  ///< of rank 0 to the others, of the others to rank 0 ([0])
  Socket listener;              ///< where this process waits for those of higher ranks

  explicit Gathered(int size)
      : members(static_cast<std::size_t>(size)), control(static_cast<std::size_t>(size)) {}
  Member& member(int rank) { return members[static_cast<std::size_t>(rank)]; }
};

/// Rank 0: everyone comes, says who it is, and hears where the others are. `me` learns its port.
/// Throws Error(kCommunication) where that takes longer than `meet_s` on the timer.
Gathered receive_all(Member& me, const Meeting& meeting, const Timer& timer, double meet_s);

/// The same of the other ranks. Ends the process where rank 0, which says why, ends the run.
Gathered introduce(Member& me, const Meeting& meeting, const Timer& timer, double meet_s);

}  // namespace tilewave::runtime
