// The threads a piece of work takes.
#include "tilewave/field/work_threads.h"

#include <gtest/gtest.h>

namespace tilewave::field {
namespace {

TEST(WorkThreads, are_no_more_than_are_worth_it_or_were_asked_for) {
  const int all = runtime::default_num_threads();
  struct Work {
    int requested;
    double work_ns;
    int want;
  };
  for (const Work& c : {Work{0, 0, 1},
                        {0, 1e12, all},
                        {-1, 1e12, all},
                        {1, 1e12, 1},
                        {3, 1e12, 3},
                        {3, 2.5 * kThreadWorkNs, 2},
                        {0, kThreadWorkNs, 1},
                        // nobody starts threads that have no work
                        {1 << 30, 0, 1},
                        {1 << 30, 2.5 * kThreadWorkNs, 2}}) {
    EXPECT_EQ(threads_for_work(c.requested, c.work_ns), c.want) << c.requested << " " << c.work_ns;
  }
}

}  // namespace
}  // namespace tilewave::field
