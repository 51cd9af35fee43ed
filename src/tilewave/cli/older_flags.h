// Stim's older single-flag forms of its commands.
#pragma once

#include <string>
#include <vector>

namespace tilewave::cli {

/// The words of the command line, with `--sample[=N]`, `--detect[=N]`, `--gen=CODE`, ... as
/// commands.
std::vector<std::string> rewrite_older_flags(int argc, char** argv);

}  // namespace tilewave::cli
