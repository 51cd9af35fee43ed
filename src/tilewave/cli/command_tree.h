// The commands and their flags as data, read from the parser itself: what shell completions and manual pages are printed from, so that
// they say what `tilewave help` says.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tilewave::cli {

struct FlagInfo {
  std::vector<std::string> names;  ///< with their dashes, short ones first; empty: a positional
  std::string positional;          ///< as the usage names it, "FILE"
  std::string value;               ///< kind of value, "TEXT"; empty: the flag takes none
  std::string help;
  std::vector<std::string> choices;  ///< values it takes; empty: any, perhaps the name of a file
  bool required = false;
};

struct CommandInfo {
  std::string name;  ///< empty: the program
  std::string help;
  std::vector<FlagInfo> flags;
};

/// The program itself, then its commands in the order of `tilewave help`.
std::vector<CommandInfo> read_command_tree(const CLI::App& app);

}  // namespace tilewave::cli
