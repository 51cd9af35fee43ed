// The number of CPU threads a run uses. OpenMP's own variables (OMP_NUM_THREADS, OMP_PLACES) are
// respected. A process may fork between two computations: sleeping threads are ended before, for
// the child has none of them and would wait for them for ever.
#pragma once

namespace tilewave::runtime {

/// Threads OpenMP would use by default here.
int default_num_threads();

/// `requested` if positive, otherwise default_num_threads().
int resolve_num_threads(int requested);

/// While it lives, parallel regions of this thread that ask for no number of threads use as many as
/// were requested (0: the default).
class ThreadLimit {
 public:
  explicit ThreadLimit(int requested);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace tilewave::runtime
