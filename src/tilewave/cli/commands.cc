// The commands, in the order of the overview; see commands.h.
#include "tilewave/cli/commands.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tilewave::cli {
namespace {

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app);
  bool lists_others = false;  // prints what there is of the other commands
};

constexpr Command kCommands[] = {{"run", add_run_command},
                                 {"entropy", add_entropy_command},
                                 {"map", add_map_command},
                                 {"bench", add_bench_command},
                                 {"gen", add_gen_command},
                                 {"sample", add_sample_command},
                                 {"detect", add_detect_command},
                                 {"m2d", add_m2d_command},
                                 {"analyze_errors", add_analyze_errors_command},
                                 {"explain_errors", add_explain_errors_command},
                                 {"sample_dem", add_sample_dem_command},
                                 {"convert", add_convert_command},
                                 {"diagram", add_diagram_command},
                                 {"info", add_info_command},
                                 {"doctor", add_doctor_command},
                                 {"tune", add_tune_command},
                                 {"completions", add_completions_command, true},
                                 {"manual", add_manual_command, true},
                                 {"help", add_help_command, true}};

}  // namespace

void add_commands(CLI::App& app, const std::vector<std::string>& words) {
  const auto is_among = [&](const Command& command) {
    return std::find(words.begin(), words.end(), command.name) != words.end();
  };
  const bool starts_with_one =
      !words.empty() && std::any_of(std::begin(kCommands), std::end(kCommands),
                                    [&](const Command& c) { return c.name == words[0]; });
  const bool is_of_all = !starts_with_one || std::any_of(std::begin(kCommands), std::end(kCommands),
                                                         [&](const Command& c) {
                                                           return c.lists_others && is_among(c);
                                                         });
  for (const Command& command : kCommands) {
    if (is_of_all || is_among(command)) command.add(app);
  }
  for (CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() != "help") add_limit_flags(*command);
  }
}

}  // namespace tilewave::cli
