#include "tilewave/cli/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tilewave/base/concat.h"
#include "tilewave/language/text/source.h"

namespace tilewave::cli {
namespace {

std::string in_quotes(std::string_view word) { return concat("'", word, "'"); }

// " (did you mean 'x'?)", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = language::nearest_name(word, views);
  return nearest.empty() ? "" : " (did you mean " + in_quotes(nearest) + "?)";
}

std::string unknown_flag(const CLI::App& command, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return "there is no flag " + in_quotes(flag) + suggestion(flag, names);
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  const std::string message = "there is no command " + in_quotes(word) + suggestion(word, names);
  return word.ends_with(".qasm") ? message + ": a circuit is run by 'tilewave run " + word + "'"
                                 : message;
}

std::string unexpected(const CLI::App& app, const CLI::App* command) {
  const std::vector<std::string> words = (command ? *command : app).remaining();
  if (words.empty()) return "a word is not expected here";
  const auto flag = std::find_if(words.begin(), words.end(),
                                 [](const std::string& word) { return word.starts_with('-'); });
  if (command && flag != words.end()) return unknown_flag(*command, *flag);
  if (!command) {
    return words[0].starts_with('-') ? unknown_flag(app, words[0]) : unknown_command(app, words[0]);
  }
  const CLI::Option* in = command->get_option_no_throw("--in");
  const bool wants_in = in && in->count() == 0;
  return in_quotes(words[0]) + " is not expected here" +
         (wants_in ? ": write --in " + words[0] : "");
}

// CLI11's own words, but for two that are hard to read.
std::string in_plain_words(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  const std::string name = message.substr(0, message.find(':'));
  if (message.ends_with(" missing")) return name + " needs a value";
  if (message.find(": At Most 1 required") != std::string::npos) return name + " is given twice";
  return message;
}

}  // namespace

// `--detect=1000 ...` (or `--detect 1000 ...`) is `detect --shots 1000 ...`, `--help CNOT` is
// `help CNOT`.
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

std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = nullptr;
  for (const CLI::App* sub : app.get_subcommands()) command = sub;
  const std::string message = dynamic_cast<const CLI::ExtrasError*>(&error)
                                  ? unexpected(app, command)
                                  : in_plain_words(error.what());
  return message + ": see 'tilewave help" + (command ? " " + command->get_name() : "") + "'";
}

}  // namespace tilewave::cli
