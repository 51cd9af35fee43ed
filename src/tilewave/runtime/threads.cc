#include "tilewave/runtime/threads.h"

#include <omp.h>
#include <pthread.h>

namespace tilewave::runtime {
namespace {

// The next parallel region starts threads anew, in the parent and in the child. Within a region
// nothing happens.
void end_sleeping_threads() { omp_pause_resource_all(omp_pause_hard); }

[[maybe_unused]] const int registered = pthread_atfork(&end_sleeping_threads, nullptr, nullptr);

}  // namespace

int default_num_threads() { return omp_get_max_threads(); }

int resolve_num_threads(int requested) { return requested > 0 ? requested : default_num_threads(); }

ThreadLimit::ThreadLimit(int requested) : before_(omp_get_max_threads()) {
  if (requested > 0) omp_set_num_threads(requested);
}

ThreadLimit::~ThreadLimit() { omp_set_num_threads(before_); }

}  // namespace tilewave::runtime
