// Stim's older forms of its commands: `--detect=1000 ...` is `detect --shots 1000 ...`.
#include "tilewave/cli/older_flags.h"

#include <array>
#include <string_view>

namespace tilewave::cli {

std::vector<std::string> rewrite_older_flags(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  constexpr std::array<std::string_view, 8> kCommands = {
      "sample", "detect",         "m2d",        "convert",
      "gen",    "analyze_errors", "sample_dem", "explain_errors"};
  if (words.size() < 2 || words[1].rfind("--", 0) != 0) return words;
  // The flag may stand anywhere; the first one that names a command decides.
  for (std::size_t k = 1; k < words.size(); ++k) {
    for (std::string_view command : kCommands) {
      const std::string flag = "--" + std::string(command);
      const bool plain = words[k] == flag, valued = words[k].rfind(flag + "=", 0) == 0;
      if (!plain && !valued) continue;
      const std::string value = valued ? words[k].substr(flag.size() + 1) : "";
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(k));
      words.insert(words.begin() + 1, std::string(command));
      if (valued) {
        words.push_back(command == "gen" ? "--code" : "--shots");
        words.push_back(value);
      }
      return words;
    }
  }
  return words;
}

}  // namespace tilewave::cli
