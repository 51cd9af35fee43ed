// How OpenMP's threads wait for each other. They spin for milliseconds before they sleep, which is
// right where the cores are free: sleeping costs up to a half of a small run on many cores. Where
// other programs want the same cores, a thread that spins keeps the one it waits for from running:
// runs of a millisecond then take fifty, even if only one core of sixteen is shared. So parallel
// regions say how long their first thread waited at their end, and while most of the time is lost
// so, threads spin for microseconds only.
#pragma once

#include <chrono>

namespace tilewave::runtime {

/// Stands around a parallel region. Does nothing where the environment says how to wait
/// (OMP_WAIT_POLICY, GOMP_SPINCOUNT), or for a single thread.
class TeamTimer {
 public:
  explicit TeamTimer(int num_threads);
  ~TeamTimer();
  TeamTimer(const TeamTimer&) = delete;
  TeamTimer& operator=(const TeamTimer&) = delete;
  /// For every thread, behind a barrier at the beginning and at the end of its share; the first
  /// thread's count, and what lies between is no waiting.
  void ready(int thread);
  void done(int thread);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_on_;
  Clock::time_point start_{}, ready_{}, done_{};
};

}  // namespace tilewave::runtime
