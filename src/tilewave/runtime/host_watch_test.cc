#include "tilewave/runtime/host_watch.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewave::runtime {
namespace {

TEST(HostWatch, a_stopped_process_is_told_from_one_that_runs) {
  EXPECT_FALSE(is_stopped(getpid()));
  EXPECT_FALSE(is_stopped(0x7ffffff0));  // no process has this number
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  EXPECT_FALSE(is_stopped(child));
  int status = 0;
  kill(child, SIGSTOP);
  waitpid(child, &status, WUNTRACED);
  EXPECT_TRUE(is_stopped(child));
  kill(child, SIGCONT);
  waitpid(child, &status, WCONTINUED);
  EXPECT_FALSE(is_stopped(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

}  // namespace
}  // namespace tilewave::runtime
