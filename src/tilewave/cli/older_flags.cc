// Stim's older forms of its commands: `--detect=1000 ...` (or `--detect 1000 ...`) is
// `detect --shots 1000 ...`, `--help CNOT` is `help CNOT`.
#include "tilewave/cli/older_flags.h"

#include <array>
#include <string_view>

namespace tilewave::cli {

std::vector<std::string> rewrite_older_flags(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  // The flag's name and the command it means.
  constexpr std::array<std::array<std::string_view, 2>, 9> kCommands = {
      {{"sample", "sample"},
       {"detect", "detect"},
       {"m2d", "m2d"},
       {"convert", "convert"},
       {"gen", "gen"},
       {"analyze_errors", "analyze_errors"},
       {"detector_hypergraph", "analyze_errors"},
       {"sample_dem", "sample_dem"},
       {"explain_errors", "explain_errors"}}};
  if (words.size() < 2 || words[1].rfind("--", 0) != 0) return words;
  if (words.size() == 3 && words[1] == "--help") {
    words[1] = "help";
    return words;
  }
  // The flag may stand anywhere; the first one that names a command decides.
  for (std::size_t k = 1; k < words.size(); ++k) {
    for (const auto& [name, command] : kCommands) {
      const std::string flag = "--" + std::string(name);
      const bool plain = words[k] == flag, valued = words[k].rfind(flag + "=", 0) == 0;
      if (!plain && !valued) continue;
      std::string value = valued ? words[k].substr(flag.size() + 1) : "";
      auto at = words.begin() + static_cast<std::ptrdiff_t>(k);
      at = words.erase(at);
      // `--sample 1000`, `--gen surface_code`: the value may be a word of its own.
      const bool apart = plain && at != words.end() && at->rfind('-', 0) != 0 &&
                         (command == "sample" || command == "detect" || command == "gen");
      if (apart) value = *at, words.erase(at);
      words.insert(words.begin() + 1, std::string(command));
      if (valued || apart) {
        words.push_back(command == "gen" ? "--code" : "--shots");
        words.push_back(value);
      }
      return words;
    }
  }
  return words;
}

}  // namespace tilewave::cli
