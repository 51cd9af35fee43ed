#include "tilewave/runtime/threads.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/runtime/cgroup.h"

namespace tilewave::runtime {
namespace {

// The next parallel region starts threads anew, in the parent and in the child. Within a region
// nothing happens.
void end_sleeping_threads() { omp_pause_resource_all(omp_pause_hard); }

// LLVM's runtime starts threads anew in a child by itself, and holds its own locks from when a fork
// begins: a pause would wait for them forever.
bool is_of_llvm() {
  Dl_info library{};
  if (!dladdr(reinterpret_cast<void*>(&omp_pause_resource_all), &library) || !library.dli_fname)
    return false;
  const std::string_view name = library.dli_fname;
  return name.find("libomp") != name.npos || name.find("libiomp") != name.npos;
}

[[maybe_unused]] const int registered =
    is_of_llvm() ? 0 : pthread_atfork(&end_sleeping_threads, nullptr, nullptr);

thread_local bool is_limited = false;  // by a ThreadLimit

[[noreturn]] void throw_no_thread(const std::string& what, const std::system_error& why,
                                  const std::string& first_remedy) {
  fail_memory("cannot start ", what, " (", why.code().message(), "): ", first_remedy,
              "raise the limits on processes (ulimit -u, a container's pids) and memory");
}

}  // namespace

int checked_num_threads(int asked) {
  if (asked < 0 || asked > kMostAskedThreads)
    fail(ExitCode::kUsage, "threads=", asked, ": use 0 (all) to ", kMostAskedThreads);
  return asked;
}

int default_num_threads() {
  // more threads than a quota of processor time allows take turns at waiting
  static const int within_quota = [] {
    const char* named = std::getenv("OMP_NUM_THREADS");
    const double cpus = named && *named ? 0 : read_group_limits().cpus;
    return cpus > 0 ? std::max(1, static_cast<int>(std::ceil(cpus)))
                    : std::numeric_limits<int>::max();
  }();
  const int most = omp_get_max_threads();
  return is_limited ? most : std::min(most, within_quota);
}

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
  const auto join_all = [&] {
    for (std::thread& t : threads) t.join();
  };
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
  } catch (...) {  // no thread, or no memory for one
    decide(Gate::kGoHome);
    join_all();
    try {
      throw;
    } catch (const std::system_error& e) {
      throw_no_thread(std::to_string(count) + " threads", e, "use fewer, or ");
    }
  }
  decide(Gate::kOpen);
  guarded(0);
  join_all();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

std::thread start_thread(std::function<void()> f) {
  try {
    return std::thread(std::move(f));
  } catch (const std::system_error& e) {
    throw_no_thread("a thread", e, "");
  }
}

ThreadLimit::ThreadLimit(int requested) : before_(omp_get_max_threads()), was_limited_(is_limited) {
  omp_set_num_threads(wanted_num_threads(requested));
  is_limited = true;
}

ThreadLimit::~ThreadLimit() {
  omp_set_num_threads(before_);
  is_limited = was_limited_;
}

}  // namespace tilewave::runtime
