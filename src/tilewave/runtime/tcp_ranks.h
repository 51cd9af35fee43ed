// Processes that find each other over TCP, without MPI: rank 0 listens at an address all know, the
// others tell it who they are, it tells everyone where the others listen, and each pair connects.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tilewave/runtime/ranks.h"

namespace tilewave::runtime {

/// Where the processes meet.
struct Meeting {
  std::string host;  ///< of rank 0
  int port = 0;
  std::string key;  ///< of the run: strangers at the port are turned away
};

/// Joins the processes of a run; all call it. Throws Error(kCommunication) that names the ranks
/// which did not come within TILEWAVE_MEET_S seconds (25), or what is wrong with them.
std::unique_ptr<Ranks> meet_over_tcp(int rank, int size, const Meeting& meeting);

/// True on the one process that is to tell why the processes could not meet.
bool speaks_for_meeting(int rank);

/// The first of SLURM's list of hosts: "node[07-09,12],gpu1" begins with node07.
std::string first_host(std::string_view list);

}  // namespace tilewave::runtime
