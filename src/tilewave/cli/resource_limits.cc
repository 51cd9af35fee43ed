// The limits of every command: see add_limit_flags() in commands.h.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/runtime/ranks.h"

namespace tilewave::cli {

namespace {

constexpr std::uint64_t kMostMib = std::uint64_t{1} << 30;
constexpr double kMostSeconds = 1e8;

char memory_note[100] = "";  // written before memory is short

// The system refuses memory beyond the limit: of the heap, of states and of stacks of threads.
void limit_memory(std::uint64_t mib) {
  const rlim_t bytes = static_cast<rlim_t>(mib) << 20;
  struct rlimit limit {};
  ::getrlimit(RLIMIT_DATA, &limit);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= bytes) return;  // a tighter one stands
  limit.rlim_cur = bytes;
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > bytes) limit.rlim_max = bytes;
  if (::setrlimit(RLIMIT_DATA, &limit) != 0)
    throw Error(ExitCode::kResources, "--max-memory: the system sets no such limit");
  std::snprintf(memory_note, sizeof memory_note,
                "  --max-memory lets this process take %llu MiB: a greater one may be enough\n",
                static_cast<unsigned long long>(mib));
}

bool tells = true;  // the first process of a run; asked before the signal may come

void end_for_time(int) {
  constexpr char kMessage[] = "error: stopped after the time that --max-seconds allows\n";
  if (tells) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  }
  remove_unfinished_files();
  cut_growing_files();
  ::_exit(static_cast<int>(ExitCode::kResources));
}

void limit_seconds(const std::string& text) {
  const double seconds = parse_duration("--max-seconds", text);
  if (seconds > kMostSeconds)
    throw Error(ExitCode::kUsage, "--max-seconds " + text + ": at most 1e8 seconds, three years");
  tells = runtime::launch().rank == 0;
  constexpr int kSignal = SIGVTALRM;  // SIGALRM is that of samplers
  std::signal(kSignal, end_for_time);
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = kSignal;
  timer_t timer{};
  struct itimerspec when {};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec =
      std::max(1L, static_cast<long>((seconds - static_cast<double>(when.it_value.tv_sec)) * 1e9));
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      ::timer_settime(timer, 0, &when, nullptr) != 0)
    throw Error(ExitCode::kResources, "--max-seconds: the system sets no such timer");
}

}  // namespace

const char* memory_limit_note() { return memory_note; }

void add_limit_flags(CLI::App& command) {
  add_number_flag(command, "--max-memory", limit_memory,
                  "MiB of memory that the process may take; more ends with exit code 3", 1,
                  kMostMib);
  command
      .add_option_function<std::string>(
          "--max-seconds", limit_seconds,
          "the time that the command may take, as in 90, 10m or 1.5h; more ends with exit code 3")
      ->type_name("TIME");
}

}  // namespace tilewave::cli
