#include "tilewave/cli/distribution.h"

#include "tilewave/base/error.h"
#include "tilewave/cli/arguments.h"

namespace tilewave::cli {

simulate::Distribution read_distribution(const std::string& ranks_flag) {
  simulate::Distribution d;
  d.processes = runtime::launched_ranks();
  if (!ranks_flag.empty()) {
    d.num_logical_ranks = static_cast<int>(parse_number("--ranks", ranks_flag, 1, 1 << 16));
    if (d.processes && d.num_logical_ranks != d.processes->size()) {
      fail(ExitCode::kUsage, "--ranks ", ranks_flag, ": started as ", d.processes->size(),
           " processes, each is a rank: leave --ranks out");
    }
  }
  return d;
}

void need_one_process(const std::string& command) {
  const int size = runtime::launch().size;
  if (size <= 1) return;
  fail(ExitCode::kUsage, "'", command, "' uses one process but ", size,
       " were started: run it without mpirun or srun");
}

}  // namespace tilewave::cli
