// Processes of this host that are stopped (SIGSTOP, a debugger), for runs under a launcher whose
// messages only the first thread may send: a thread of every process looks at what the kernel says
// of the others' state (/proc/<id>/stat), whatever the first threads compute. Where one is stopped
// for a while, every process of the host ends itself, the lowest rank of them with one line that
// names it, and the launcher ends the rest. Only time in which this process runs counts. Where
// processes meet over TCP there is tcp_watch.h, which sees other hosts too.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tilewave/runtime/ranks.h"

namespace tilewave::runtime {

class HostWatch {
 public:
  /// Collective.
  explicit HostWatch(Ranks& ranks);
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;
  ~HostWatch();

 private:
  struct Process {
    int rank = 0;
    long id = 0;
    double stopped_s = 0;
  };
  void run();
  [[noreturn]] void end(const Process& stopped) const;

  int rank_;
  std::string host_;
  double limit_s_, behind_s_;
  std::vector<Process> others_;  // of this host
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;
};

/// Whether the kernel has stopped this process, by a signal or for a debugger; false where it does
/// not say.
bool is_stopped(long process_id);

}  // namespace tilewave::runtime
