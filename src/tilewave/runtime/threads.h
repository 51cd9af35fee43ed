// The number of CPU threads a run uses. OpenMP's own variables (OMP_NUM_THREADS, OMP_PLACES) are
// respected.
#pragma once

namespace tilewave::runtime {

/// Threads OpenMP would use by default here.
int default_num_threads();

/// `requested` if positive, otherwise default_num_threads().
int resolve_num_threads(int requested);

}  // namespace tilewave::runtime
