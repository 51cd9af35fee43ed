// The number of CPU threads a run uses, and threads of our own. OpenMP's own variables
// (OMP_NUM_THREADS, OMP_PLACES) are respected. A process may fork between two computations:
// sleeping threads are ended before, for the child has none of them and would wait for them for
// ever.
#pragma once

#include <functional>
#include <thread>

namespace tilewave::runtime {

/// The most threads that may be asked for.
inline constexpr int kMostAskedThreads = 4096;
/// A number of threads as people give it, 0 for all. Throws Error(kUsage) where it is not from 0 to
/// kMostAskedThreads.
int checked_num_threads(int asked);

/// Threads OpenMP would use by default here, within the quota of processor time of this process's
/// control groups (cgroup.h) unless OMP_NUM_THREADS says how many.
int default_num_threads();

/// `requested` if positive, otherwise default_num_threads(): for run_on_threads.
inline int wanted_num_threads(int requested) {
  return requested > 0 ? requested : default_num_threads();
}

/// The same, for OpenMP. Throws Error(kResources) where the system does not let so many be started:
/// OpenMP would end the process.
int resolve_num_threads(int requested);

/// Runs f(0), ..., f(count - 1) at the same time, f(0) on the calling thread. Throws the first
/// failure among them, or Error(kResources) where the threads cannot be started; then none has run.
void run_on_threads(int count, const std::function<void(int)>& f);

/// A thread that runs f. Throws Error(kResources) where it cannot be started.
std::thread start_thread(std::function<void()> f);

/// While it lives, parallel regions of this thread that ask for no number of threads use as many as
/// were requested (0: the default).
class ThreadLimit {
 public:
  explicit ThreadLimit(int requested);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
  bool was_limited_;
};

}  // namespace tilewave::runtime
