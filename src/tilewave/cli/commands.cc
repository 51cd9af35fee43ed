// The commands, in the order of the overview; see commands.h.
#include "tilewave/cli/commands.h"

#include <CLI/CLI.hpp>

namespace tilewave::cli {

void add_all_commands(CLI::App& app) {
  add_run_command(app);
  add_entropy_command(app);
  add_map_command(app);
  add_bench_command(app);
  add_gen_command(app);
  add_sample_command(app);
  add_detect_command(app);
  add_m2d_command(app);
  add_analyze_errors_command(app);
  add_explain_errors_command(app);
  add_sample_dem_command(app);
  add_convert_command(app);
  add_diagram_command(app);
  add_info_command(app);
  add_doctor_command(app);
  add_tune_command(app);
  add_completions_command(app);
  add_manual_command(app);
  for (CLI::App* command : app.get_subcommands({})) add_limit_flags(*command);
  add_help_command(app);
}

}  // namespace tilewave::cli
