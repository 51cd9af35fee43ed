#include "tilewave/runtime/threads.h"

#include <omp.h>

namespace tilewave::runtime {

int default_num_threads() { return omp_get_max_threads(); }

int resolve_num_threads(int requested) { return requested > 0 ? requested : default_num_threads(); }

}  // namespace tilewave::runtime
