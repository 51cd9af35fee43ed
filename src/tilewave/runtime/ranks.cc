// Finds out whether a launcher started this process among others, and joins them: through a module
// (tilewave_mpi.so) that is loaded only then, so that the program itself needs no MPI; or over TCP
// where no MPI launched them.
//   TILEWAVE_PROCESSES=4 TILEWAVE_PROCESS=0..3 TILEWAVE_ROOT=host:port   by hand or by a script
//   SLURM_STEP_NUM_TASKS, SLURM_PROCID, SLURM_STEP_NODELIST              srun without PMIx
#include "tilewave/runtime/ranks.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "tilewave/base/error.h"
#include "tilewave/runtime/host_watch.h"
#include "tilewave/runtime/optional_libraries.h"
#include "tilewave/runtime/tcp_ranks.h"

namespace tilewave::runtime {

namespace {

int number(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return fallback;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end || value < 0 || value > 1'000'000 ? fallback : static_cast<int>(value);
}

// A whole number from `least` on; unset or empty: none.
std::optional<int> checked_number(const char* variable, int least) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  const int value = number(variable, -1);
  if (value < least || *text == ' ' || *text == '+') {
    fail(ExitCode::kUsage, variable, "=", text, ": give a whole number from ", least, " on");
  }
  return value;
}

// A process belongs to one run. The watch goes first.
struct Joined {
  std::shared_ptr<Ranks> ranks;
  std::unique_ptr<HostWatch> watch;
};
Joined& joined() {
  static Joined ranks;
  return ranks;
}

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

// The place that TILEWAVE_ROOT names, host or host:port.
void read_root(Meeting& meeting) {
  const std::string root = text_of("TILEWAVE_ROOT");
  if (root.empty()) return;
  const std::size_t colon = root.find(':');
  meeting.host = root.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : root.substr(colon + 1);
  char* end = nullptr;
  if (!port.empty()) meeting.port = static_cast<int>(std::strtol(port.c_str(), &end, 10));
  if (meeting.host.empty() || (end && *end) || meeting.port < 1 || meeting.port > 65535) {
    fail(ExitCode::kUsage, "TILEWAVE_ROOT=", root,
         ": name the host of process 0 and a free port there, as in node1:23456");
  }
}

std::shared_ptr<Ranks> join_over_tcp(const Launch& l) {
  Meeting meeting;
  if (l.by == Launch::By::kVariables) {
    read_root(meeting);
    if (meeting.host.empty()) {
      fail(ExitCode::kUsage, "TILEWAVE_PROCESSES=", l.size,
           " needs TILEWAVE_ROOT, where process 0 runs and a free port there, as in node1:23456");
    }
    meeting.key = text_of("TILEWAVE_KEY");
  } else {
    const int job = number("SLURM_JOB_ID", 0), step = number("SLURM_STEP_ID", 0);
    meeting.host = first_host(text_of("SLURM_STEP_NODELIST"));
    meeting.port = std::atoi(text_of("SLURM_STEP_RESV_PORTS").c_str());
    if (meeting.port < 1) meeting.port = 20'000 + (job * 7 + step * 131) % 10'000;
    meeting.key = text_of("SLURM_JOB_ID") + "." + text_of("SLURM_STEP_ID");
    read_root(meeting);
    if (meeting.host.empty()) {
      fail(ExitCode::kUsage,
           "SLURM does not say where the tasks run (SLURM_STEP_NODELIST): name the host of task 0 "
           "in TILEWAVE_ROOT=host:port");
    }
  }
  return meet_over_tcp(l.rank, l.size, meeting);
}

std::shared_ptr<Ranks> join() {
  if (launch().by != Launch::By::kMpi) return join_over_tcp(launch());
  const MpiModule module = load_mpi_module();
  const auto size = std::to_string(launch().size);
  if (!module.handle) {
    fail(ExitCode::kCommunication, "started as ", size, " processes, but MPI cannot be loaded (",
         module.problem,
         "): build with TW_MPI=ON (libopenmpi-dev), start with srun "
         "--mpi=none, or use one process with --ranks ",
         size);
  }
  std::string problem;
  const auto entry = reinterpret_cast<JoinRanks>(dlsym(module.handle, kJoinRanksName));
  std::shared_ptr<Ranks> ranks(entry ? entry(&problem) : nullptr);
  if (!ranks) {
    fail(ExitCode::kCommunication, "cannot join the ", size,
         " processes of this run: ", problem.empty() ? "not a module" : problem);
  }
  return ranks;
}

}  // namespace

void Ranks::meet() {
  const char mine = 0;
  std::vector<char> all(static_cast<std::size_t>(size()));
  gather(&mine, all.data(), 1);
}

std::vector<std::string> Ranks::hosts() {
  struct Name {
    std::array<char, 256> text{};
  } mine;
  gethostname(mine.text.data(), mine.text.size() - 1);
  std::vector<Name> all(static_cast<std::size_t>(size()));
  gather(&mine, all.data(), sizeof mine);
  std::vector<std::string> names;
  for (const Name& name : all) names.emplace_back(name.text.data());
  return names;
}

Launch launch() {
  using By = Launch::By;
  if (!text_of("TILEWAVE_PROCESSES").empty()) {
    return {number("TILEWAVE_PROCESS", 0), std::max(number("TILEWAVE_PROCESSES", 1), 1),
            By::kVariables};
  }
  if (const int size = number("OMPI_COMM_WORLD_SIZE", 0)) {
    return {number("OMPI_COMM_WORLD_RANK", 0), size, By::kMpi};
  }
  const int tasks = number("SLURM_STEP_NUM_TASKS", 1);
  if (std::getenv("PMIX_RANK")) return {number("PMIX_RANK", 0), tasks, By::kMpi};
  if (tasks > 1) return {number("SLURM_PROCID", 0), tasks, By::kSlurm};
  return {};
}

void check_launch() {
  const std::optional<int> size = checked_number("TILEWAVE_PROCESSES", 1);
  const std::optional<int> process = checked_number("TILEWAVE_PROCESS", 0);
  if (process && !size) {
    fail(ExitCode::kUsage, "TILEWAVE_PROCESS=", *process,
         " needs TILEWAVE_PROCESSES, the number of all");
  }
  if (size && (process ? *process >= *size : *size > 1)) {
    fail(ExitCode::kUsage, "TILEWAVE_PROCESSES=", *size,
         " and TILEWAVE_PROCESS=", text_of("TILEWAVE_PROCESS"), ": number the processes from 0 to ",
         *size - 1);
  }
}

// A process whose own number cannot be is the only one that knows.
bool tells_why_not_joined() {
  const Launch l = launch();
  return speaks_for_meeting(l.rank) || (l.by == Launch::By::kVariables && l.rank >= l.size);
}

std::shared_ptr<Ranks> launched_ranks() {
  check_launch();
  if (launch().size <= 1) return nullptr;
  if (!joined().ranks) {
    joined().ranks = join();
    if (launch().by == Launch::By::kMpi)
      joined().watch = std::make_unique<HostWatch>(*joined().ranks);
  }
  return joined().ranks;
}

std::shared_ptr<Ranks> joined_ranks() { return joined().ranks; }

}  // namespace tilewave::runtime
