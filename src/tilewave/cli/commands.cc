// The table of commands; see commands.h.
#include "tilewave/cli/commands.h"

namespace tilewave::cli {

void add_all_commands(CLI::App& app) {
  constexpr void (*kCommands[])(CLI::App&) = {
      add_run_command,
      add_entropy_command,
      add_bench_command,
      add_sample_command,
      add_detect_command,
      add_m2d_command,
      add_analyze_errors_command,
      add_sample_dem_command,
      add_gen_command,
      add_convert_command,
      add_info_command,
      add_help_command,
  };
  for (const auto add : kCommands) add(app);
}

}  // namespace tilewave::cli
