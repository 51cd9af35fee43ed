#include "tilewave/statevec/plan/side_by_side.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
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
  const auto num = static_cast<std::uint64_t>(count);
  if (omp_in_parallel()) {
#pragma omp taskloop grainsize(1) default(shared)
    for (std::uint64_t k = 0; k < num; ++k) run(static_cast<int>(k));
  } else {
#pragma omp parallel num_threads(num_side_by_side()) if (count > 1)
#pragma omp single
#pragma omp taskloop grainsize(1) default(shared)
    for (std::uint64_t k = 0; k < num; ++k) run(static_cast<int>(k));
  }
  stop.rethrow();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace tilewave::statevec::detail
