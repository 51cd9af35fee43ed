// What the program says to a command line that it does not understand.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tilewave::cli {

/// One line: what is wrong with the words, the nearest command or flag, and where help is.
std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tilewave::cli
