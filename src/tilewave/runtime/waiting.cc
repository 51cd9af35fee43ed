// The number of spins is fixed when OpenMP's runtime starts, but GCC's takes a hundred instead as
// long as it manages more threads than there are processors. So a thread of our own keeps a team of
// more threads than that asleep while waiting is to be brief: they cost a stack each and no time.
// Where that many threads cannot be had, waits stay as they are: whatever it is, the computation goes
// on.
// Brief waits show nothing of what spinning would lose, so it is tried again after a while, and
// where it fails again, after twice as long.
#include "tilewave/runtime/waiting.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "tilewave/runtime/threads.h"

namespace tilewave::runtime {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr double kWindow_s = 0.05;    // in regions, before they are judged
constexpr double kExpected_s = 2e-4;  // of waits: shares are not quite equal
constexpr double kMostLost = 0.6;     // of the time
constexpr double kPutAside_s = 5e-3;  // of a thread whose core another takes
constexpr milliseconds kFirstHold{300}, kLongestHold{10'000};

class Waiting {
 public:
  Waiting() : is_fixed_(std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) {}

  bool is_fixed() const { return is_fixed_; }

  void note(double work_s, double wait_s) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;  // another thread's regions tell as much
    if (is_brief_) {
      if (Clock::now() >= until_) stop();
      return;
    }
    all_s_ += work_s + wait_s;
    lost_s_ += std::max(wait_s - kExpected_s, 0.0);
    if (all_s_ < kWindow_s) return;
    // the first thread may be the one that shares its core: what looks like work then is not
    static thread_local long before = 0;
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    const long last = std::exchange(before, usage.ru_nivcsw);
    const auto now = Clock::now();
    const double since_s = std::chrono::duration<double>(now - std::exchange(judged_, now)).count();
    if (since_s < 2 * all_s_) lost_s_ += kPutAside_s * static_cast<double>(before - last);
    const bool loses = lost_s_ > kMostLost * all_s_;
    all_s_ = lost_s_ = 0;
    if (loses && !has_no_threads_) start();
  }

  void before_fork() {
    mutex_.lock();
    if (is_brief_) stop();
  }
  void after_fork() { mutex_.unlock(); }
  // A child has none of these threads, but may have room for them.
  void after_fork_in_child() {
    has_no_threads_ = false;
    mutex_.unlock();
  }

 private:
  void start() {
    const auto now = Clock::now();
    hold_ = now < until_ + 2 * hold_ ? std::min(2 * hold_, milliseconds(kLongestHold)) : kFirstHold;
    until_ = now + hold_;
    is_wanted_ = true;
    sigset_t all, before;  // signals are for the program's threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      keeper_ = start_thread([this] { keep(); });
      is_brief_ = true;
    } catch (...) {  // nobody waits for an answer
      has_no_threads_ = true;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void keep() {
    const int count = omp_get_num_procs() + 1;
    try {
      run_on_threads(count, [](int) {});  // OpenMP would end the process
    } catch (...) {
      has_no_threads_ = true;
      return;
    }
    std::atomic<int> arrived{0};  // an empty region would be left out
#pragma omp parallel num_threads(count)
    arrived.fetch_add(1, std::memory_order_relaxed);
    std::unique_lock lock(keeper_mutex_);
    changed_.wait(lock, [this] { return !is_wanted_; });
  }

  void stop() {
    {
      const std::scoped_lock lock(keeper_mutex_);
      is_wanted_ = false;
    }
    changed_.notify_all();
    keeper_.join();
    is_brief_ = false;
  }

  const bool is_fixed_;
  std::mutex mutex_;
  bool is_brief_ = false;
  std::atomic<bool> has_no_threads_{false};  // to be had
  double all_s_ = 0, lost_s_ = 0;
  Clock::time_point judged_{};
  milliseconds hold_ = kFirstHold;
  Clock::time_point until_{};
  std::thread keeper_;
  std::mutex keeper_mutex_;
  std::condition_variable changed_;
  bool is_wanted_ = false;
};

// Never destroyed: a thread may compute while the process ends.
Waiting& waiting() {
  static Waiting* const one = [] {
    pthread_atfork([] { waiting().before_fork(); }, [] { waiting().after_fork(); },
                   [] { waiting().after_fork_in_child(); });
    return new Waiting;
  }();
  return *one;
}

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

TeamTimer::TeamTimer(int num_threads) : is_on_(num_threads > 1 && !waiting().is_fixed()) {
  if (is_on_) start_ = ready_ = done_ = Clock::now();
}

void TeamTimer::ready(int thread) {
  if (is_on_ && thread == 0) ready_ = done_ = Clock::now();
}

void TeamTimer::done(int thread) {
  if (is_on_ && thread == 0) done_ = Clock::now();
}

TeamTimer::~TeamTimer() {
  if (!is_on_) return;
  waiting().note(seconds(done_ - ready_), seconds(ready_ - start_) + seconds(Clock::now() - done_));
}

}  // namespace tilewave::runtime
