#include "tilewave/runtime/threads.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::runtime {
namespace {

// The next parallel region starts threads anew, in the parent and in the child. Within a region
// nothing happens.
void end_sleeping_threads() { omp_pause_resource_all(omp_pause_hard); }

[[maybe_unused]] const int registered = pthread_atfork(&end_sleeping_threads, nullptr, nullptr);

}  // namespace

int default_num_threads() { return omp_get_max_threads(); }

int resolve_num_threads(int requested) {
  static std::atomic<int> most_started{1};
  const int count = wanted_num_threads(requested);
  if (count > most_started) {
    run_on_threads(count, [](int) {});
    most_started = count;
  }
  return count;
}

void run_on_threads(int count, const std::function<void(int)>& f) {
  if (count <= 0) return;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  const auto guarded = [&](int k) {
    try {
      f(k);
    } catch (...) {
      failures[static_cast<std::size_t>(k)] = std::current_exception();
    }
  };
  // Nobody begins before all are there.
  enum class Gate { kShut, kOpen, kGoHome } gate = Gate::kShut;
  std::mutex mutex;
  std::condition_variable moved;
  const auto decide = [&](Gate to) {
    {
      const std::lock_guard lock(mutex);
      gate = to;
    }
    moved.notify_all();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count - 1));
  std::string problem;
  try {
    for (int k = 1; k < count; ++k) {
      threads.emplace_back([&, k] {
        {
          std::unique_lock lock(mutex);
          moved.wait(lock, [&] { return gate != Gate::kShut; });
          if (gate == Gate::kGoHome) return;
        }
        guarded(k);
      });
    }
    decide(Gate::kOpen);
    guarded(0);
  } catch (const std::system_error& e) {
    problem = e.code().message();
    decide(Gate::kGoHome);
  }
  for (std::thread& t : threads) t.join();
  if (!problem.empty()) {
    throw Error(
        ExitCode::kResources,
        "cannot start " + std::to_string(count) + " threads (" + problem +
            "): use fewer, or raise the limits on processes (ulimit -u, a container's pids) "
            "and memory");
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

ThreadLimit::ThreadLimit(int requested) : before_(omp_get_max_threads()) {
  if (requested > 0) omp_set_num_threads(requested);
}

ThreadLimit::~ThreadLimit() { omp_set_num_threads(before_); }

}  // namespace tilewave::runtime
