// Loops shared by a team of OpenMP's threads. A team of one is none: each of its barriers would cost
// a system call that wakes nobody, which for a state of a few amplitudes is longer than the work.
#pragma once

#include <omp.h>

#include <cstdint>

namespace tilewave::runtime {

/// f(thread) on each of so many threads; on one, in place.
template <class F>
void on_team(int num_threads, F f) {
  if (num_threads <= 1) {
    f(0);
    return;
  }
#pragma omp parallel num_threads(num_threads)
  f(omp_get_thread_num());
}

/// f(first, last) for a stretch of [0, count) a thread, all of equal size up to one.
template <class F>
void in_shares(int num_threads, std::uint64_t count, F f) {
  if (num_threads <= 1 || count <= 1) {
    f(std::uint64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(num_threads)
  {
    const auto size = static_cast<std::uint64_t>(omp_get_num_threads());
    const auto mine = static_cast<std::uint64_t>(omp_get_thread_num());
    f(count * mine / size, count * (mine + 1) / size);
  }
}

/// f(k) for all k of [0, count).
template <class F>
void for_all(int num_threads, std::uint64_t count, F f) {
  in_shares(num_threads, count, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t k = first; k < last; ++k) f(k);
  });
}

}  // namespace tilewave::runtime
