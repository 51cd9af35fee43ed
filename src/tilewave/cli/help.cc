// tilewave help [COMMAND]: the overview, or the flags of one command.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/commands.h"

namespace tilewave::cli {

void add_help_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("help", "the flags of a command");
  auto topic = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "a command listed by 'tilewave help'");
  command->callback([&app, topic] {
    if (topic->empty()) {
      // app.help() would print the help of the command that was parsed, which is this one.
      const auto& formatter = app.get_formatter();
      std::fputs(formatter->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal).c_str(),
                 stdout);
      return;
    }
    const auto commands =
        app.get_subcommands([&](const CLI::App* c) { return c->get_name() == *topic; });
    if (commands.empty()) {
      throw Error(ExitCode::kUsage, "there is no command '" + *topic + "': see 'tilewave help'");
    }
    std::fputs(commands[0]->help(app.get_name()).c_str(), stdout);
  });
}

}  // namespace tilewave::cli
