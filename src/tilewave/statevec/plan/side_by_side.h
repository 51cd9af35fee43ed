// Independent pieces of planning on several threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

namespace tilewave::statevec::detail {

/// f(0) to f(count - 1) in any order, as tasks of the team of threads that is at work or of one
/// made for them, so that pieces may have pieces of their own. Throws what the first of them threw.
template <class F>
void side_by_side(int count, const F& f) {
  constexpr int kMostThreads = 8;
  std::exception_ptr problem;
  std::mutex mutex;
  const auto run = [&](int k) {
    try {
      f(k);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!problem) problem = std::current_exception();
    }
  };
  if (omp_in_parallel()) {
#pragma omp taskloop grainsize(1) default(shared)
    for (int k = 0; k < count; ++k) run(k);
  } else {
#pragma omp parallel num_threads(std::min(kMostThreads, omp_get_max_threads())) if (count > 1)
#pragma omp single
#pragma omp taskloop grainsize(1) default(shared)
    for (int k = 0; k < count; ++k) run(k);
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace tilewave::statevec::detail
