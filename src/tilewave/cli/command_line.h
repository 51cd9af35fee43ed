// The words of the command line: Stim's older forms of its commands, and what the program says to
// words that it does not understand.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tilewave::cli {

/// The words, with `--sample[=N]`, `--detect[=N]`, `--gen=CODE`, ... as commands.
std::vector<std::string> rewrite_older_flags(int argc, char** argv);

/// One line: what is wrong with the words, the nearest command or flag, and where help is.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tilewave::cli
