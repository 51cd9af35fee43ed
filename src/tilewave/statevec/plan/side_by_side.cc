#include "tilewave/statevec/plan/side_by_side.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "tilewave/base/interrupt.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::statevec::detail {

int num_side_by_side() {
  constexpr int kMostThreads = 8;
  return std::min(kMostThreads, runtime::resolve_num_threads(0));
}

void side_by_side(int count, const std::function<void(int)>& f) {
  std::exception_ptr problem;
  std::mutex mutex;
  StopFlag stop;
  const auto run = [&](int k) {
    const StopFlag::Scope scope(stop);
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
#pragma omp parallel num_threads(num_side_by_side()) if (count > 1)
#pragma omp single
#pragma omp taskloop grainsize(1) default(shared)
    for (int k = 0; k < count; ++k) run(k);
  }
  stop.rethrow();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace tilewave::statevec::detail
