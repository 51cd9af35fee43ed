// Threads where the system has none to give: an error of their own, or a computation that goes on
// without them. In processes of their own, whose address space has room for so many stacks.
#include "tilewave/runtime/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>

#include "tilewave/base/error.h"
#include "tilewave/runtime/waiting.h"

namespace tilewave::runtime {
namespace {

TEST(Threads, failures_are_those_of_the_function) {
  for (const int failing : {0, 1, 2}) {
    std::atomic<int> ran{0};
    const auto f = [&](int k) {
      ++ran;
      if (k == failing) throw std::system_error(std::make_error_code(std::errc::io_error), "mine");
    };
    EXPECT_THROW(run_on_threads(3, f), std::system_error) << failing;
    EXPECT_EQ(ran, 3) << failing;
  }
}

// Sanitizers need address space of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void leave_room_for_stacks(double count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  std::size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto used = static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = static_cast<rlim_t>(used + count * static_cast<double>(stack));
  ::setrlimit(RLIMIT_AS, &limit);
}

// 0 where `f` throws the error of threads that cannot be started.
template <class F>
int code_of(const std::string& what, F f) {
  try {
    f();
  } catch (const Error& e) {
    const std::string text = e.what();
    return e.code() == ExitCode::kResources && text.starts_with("cannot start " + what + " (") ? 0
                                                                                               : 2;
  }
  return 1;
}

TEST(ThreadsDeathTest, that_cannot_be_started_are_an_error) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        leave_room_for_stacks(4.5);
        std::atomic<int> ran{0};
        const int code = code_of("50 threads", [&] { run_on_threads(50, [&](int) { ++ran; }); });
        run_on_threads(2, [&](int) { ran += 100; });
        std::exit(ran == 200 ? code : 3);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        leave_room_for_stacks(0.5);
        std::exit(code_of("a thread", [] { start_thread([] {}).join(); }));
      },
      testing::ExitedWithCode(0), "");
}

// Regions that lose their time to waiting ask for a thread that keeps waits brief, and it for a
// team: where either cannot be had, they go on.
TEST(ThreadsDeathTest, waits_go_on_without_a_thread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const double stacks : {0.5, 1.5}) {
    EXPECT_EXIT(
        {
          ::unsetenv("OMP_WAIT_POLICY");
          ::unsetenv("GOMP_SPINCOUNT");
          leave_room_for_stacks(stacks);
          for (int k = 0; k < 30; ++k) {
            TeamTimer timer(2);
            timer.ready(0);
            timer.done(0);
            ::usleep(10'000);
          }
          std::exit(0);
        },
        testing::ExitedWithCode(0), "")
        << stacks;
  }
}
#endif

}  // namespace
}  // namespace tilewave::runtime
