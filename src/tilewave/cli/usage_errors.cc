// See usage_errors.h.
#include "tilewave/cli/usage_errors.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tilewave/base/concat.h"
#include "tilewave/language/text/source.h"

namespace tilewave::cli {
namespace {

std::string in_quotes(std::string_view word) { return concat({"'", word, "'"}); }

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

std::string describe_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = nullptr;
  for (const CLI::App* sub : app.get_subcommands()) command = sub;
  const std::string message = dynamic_cast<const CLI::ExtrasError*>(&error)
                                  ? unexpected(app, command)
                                  : in_plain_words(error.what());
  return message + ": see 'tilewave help" + (command ? " " + command->get_name() : "") + "'";
}

}  // namespace tilewave::cli
