// The program `tilewave`: hands the words of the command line to a command and turns what it throws
// into one line on the standard error and an exit code (see base/error.h).
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/cli/command_line.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/distribution.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/language/text/source.h"
#include "tilewave/runtime/ranks.h"
#include "tilewave/simulate/checkpoint/keeper.h"

namespace {

using tilewave::ExitCode;

bool is_silent = false;  // rank 0 alone speaks

// Where a standard stream is closed, the next file that is opened would take its place and get what
// is printed. A stream that cannot be used stands there instead: writing to it fails as before.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened =  // the lowest number that is free, which is this one
        open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// An output that keep_standard_streams() stands in for.
bool is_closed(int output) { return (fcntl(output, F_GETFL) & O_ACCMODE) == O_RDONLY; }

// Leaves a progress line cleanly and lets the signal end the process, so that the shell sees it.
void on_interrupt(int signal) {
  constexpr char kMessage[] = "\ninterrupted\n";
  if (!is_silent) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  }
  tilewave::remove_unfinished_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// An exception that nothing can catch: of a thread of OpenMP, or while another one is on its way.
// Nearly always the memory is at its end, so nothing is allocated here.
[[noreturn]] void on_terminate() {
  constexpr char kMemory[] = "error: out of memory: this machine has too little for it\n";
  constexpr char kLimited[] = "error: out of memory: less is allowed than this needs\n";
  constexpr char kOther[] = "error: internal error: an exception in a place that has no way out\n";
  bool is_memory = false, is_of_resources = false;
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    is_memory = true;
  } catch (const tilewave::MemoryError&) {
    is_memory = true;
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const tilewave::Error*>(&e);
    is_of_resources = error && error->code() == ExitCode::kResources;
    std::fprintf(stderr, "%s%s\n", is_of_resources ? "error: " : "", e.what());
  } catch (...) {
  }
  if (!is_silent && !is_of_resources) {
    const std::string_view note = tilewave::cli::memory_limit_note();
    const std::string_view what = !is_memory ? kOther : note.empty() ? kMemory : kLimited;
    [[maybe_unused]] auto written = write(STDERR_FILENO, what.data(), what.size());
    if (is_memory) written = write(STDERR_FILENO, note.data(), note.size());
  }
  tilewave::remove_unfinished_files();
  if (!is_memory && !is_of_resources) std::abort();
  _exit(static_cast<int>(ExitCode::kResources));
}

// The library of OpenMP ends the process where it gets no memory or no threads: with a line that
// says so and a code of its own, which becomes that of missing resources.
bool is_main_over = false;
void on_exit_of_library(int code, void*) {
  if (is_main_over || code != EXIT_FAILURE) return;
  tilewave::remove_unfinished_files();
  if (!is_silent) std::fputs(tilewave::cli::memory_limit_note(), stderr);
  std::fflush(stderr);
  _exit(static_cast<int>(ExitCode::kResources));
}

// File names and texts of others may hold anything; lines stay.
std::string for_terminal(const std::string& message) {
  std::string out;
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    out += tilewave::language::without_controls(std::string_view(message).substr(at, end - at));
    if (end < message.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

// One message for all processes of a run: rank 0 prints its own problem or the one it hears of and
// ends the others. Another rank speaks only when rank 0 does not end it.
int report_failure(ExitCode code, const std::string& message, bool is_of_memory = false) {
  std::fflush(stdout);
  const int rank = tilewave::runtime::launch().rank;
  const auto ranks = tilewave::runtime::joined_ranks();
  if (!ranks && !tilewave::runtime::tells_why_not_joined()) {
    sleep(2);  // before the processes met: rank 0 has the same problem
    return static_cast<int>(code);
  }
  std::string told = message;
  if (rank > 0 && ranks) {
    told = ranks->report_failure(message);
    code = ExitCode::kCommunication;
  }
  const std::string who = rank > 0 ? "rank " + std::to_string(rank) + ": " : "";
  std::fprintf(
      stderr, "error: %s%s\n%s", who.c_str(), for_terminal(told).c_str(),
      is_of_memory && code == ExitCode::kResources ? tilewave::cli::memory_limit_note() : "");
  std::fflush(stderr);
  if (ranks) ranks->abort(static_cast<int>(code));
  return static_cast<int>(code);
}

int run(int argc, char** argv) {
  CLI::App app{"Tilewave: quantum circuits and fused array kernels as fast as memory allows.",
               "tilewave"};
  app.set_version_flag("--version", "tilewave " TW_VERSION);
  app.require_subcommand(0, 1);
  app.failure_message(CLI::FailureMessage::simple);
  std::vector<std::string> words = tilewave::cli::rewrite_older_flags(argc, argv);
  words.erase(words.begin());
  tilewave::cli::add_commands(app, words);
  tilewave::runtime::check_launch();
  try {
    if (!words.empty() && words[0] != "run" && words[0] != "bench") {
      tilewave::cli::need_one_process(words[0]);
    }
    std::reverse(words.begin(), words.end());  // CLI11 takes them last first
    app.parse(std::move(words));
    if (app.get_subcommands().empty()) std::fputs(app.help().c_str(), stdout);
  } catch (const CLI::Success& e) {
    std::ostringstream text;  // --help, --version
    app.exit(e, text, text);
    std::fputs(text.str().c_str(), stdout);
  } catch (const CLI::ParseError& e) {
    return report_failure(ExitCode::kUsage, tilewave::cli::describe_usage_error(app, e));
  }
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    const int error = is_closed(STDOUT_FILENO) ? EBADF : errno;  // 0: an earlier write failed
    return report_failure(ExitCode::kResources, "cannot write the standard output: " +
                                                    (error ? tilewave::cli::why_not_written(error)
                                                           : "is the disk full?"));
  }
  if (const auto ranks = tilewave::runtime::joined_ranks()) ranks->finish();
  return 0;
}

int guarded_main(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::signal(SIGXFSZ, SIG_IGN);  // the write fails with a message and cleans up
  is_silent = tilewave::runtime::launch().rank > 0;
  if (is_silent && !std::freopen("/dev/null", "w", stdout)) return 1;
  try {
    return run(argc, argv);
  } catch (const tilewave::simulate::Stopped& stopped) {
    if (!is_silent) std::fprintf(stderr, "%s\n", for_terminal(stopped.what()).c_str());
    if (const auto ranks = tilewave::runtime::joined_ranks()) ranks->finish();
    return 128 + SIGTERM;  // as where the signal ends a program
  } catch (const tilewave::Error& e) {
    return report_failure(e.code(), e.what(),
                          dynamic_cast<const tilewave::MemoryError*>(&e) != nullptr);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::resource_unavailable_try_again)
      return report_failure(ExitCode::kInternal, std::string("internal error: ") + e.what());
    return report_failure(ExitCode::kResources,
                          "cannot start a thread (" + e.code().message() +
                              "): use fewer, or raise the limit on processes (ulimit -u)",
                          true);  // their stacks are memory
  } catch (const std::bad_alloc&) {
    const std::string command = argc > 1 ? argv[1] : "";
    const bool has_qubits = command == "run" || command == "bench";
    if (*tilewave::cli::memory_limit_note() != '\0') {
      return report_failure(ExitCode::kResources, "out of memory: less is allowed than this needs",
                            true);
    }
    return report_failure(
        ExitCode::kResources,
        has_qubits ? "out of memory: this machine has too little for the circuit, its state "
                     "and what is asked of it (fewer gates, qubits or shots need less)"
                   : "out of memory: this machine has too little for it");
  } catch (const std::exception& e) {
    return report_failure(ExitCode::kInternal, std::string("internal error: ") + e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  std::set_terminate(on_terminate);
  on_exit(on_exit_of_library, nullptr);
  const int code = guarded_main(argc, argv);
  is_main_over = true;
  return code;
}
