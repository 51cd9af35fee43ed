#include "tilewave/cli/command_tree.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tilewave::cli {
namespace {

// Values of flags whose parser knows them only as a text. tests/cli/completions_test.py checks that the help of every such flag
// names these values.
struct Choices {
  std::string_view flag;
  std::vector<std::string> values;
};

const std::vector<Choices>& known_choices() {
  static const auto* const choices = new std::vector<Choices>{
      {"--precision", {"double", "single"}},
      {"--device", {"auto", "cpu", "cuda"}},
      {"--effort", {"auto", "once", "repeated", "best"}},
      {"--shape", {"square", "disk"}},
      {"--border", {"crop", "reflect", "nearest", "valid", "study2020"}},
      {"--algorithm", {"auto", "naive", "nibble", "plane", "sliding", "column"}},
      {"--type", {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"}},
      {"--code", {"surface_code", "repetition_code", "color_code"}},
      {"SHELL", {"bash", "zsh", "fish"}},
  };
  return *choices;
}

// "{f32,f16,u8}", as the parser describes a set of values.
std::vector<std::string> listed(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  std::vector<std::string> values;
  if (open == std::string::npos || close == std::string::npos) return values;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t end = std::min(type.find(',', at), close);
    values.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return values;
}

FlagInfo read_flag(const CLI::Option& option) {
  FlagInfo flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (flag.names.empty()) flag.positional = option.get_name(true);
  flag.help = option.get_description();
  flag.required = option.get_required();
  if (option.get_items_expected_max() == 0) return flag;
  const std::string type = option.get_type_name();
  flag.value = type.substr(0, type.find(':'));
  flag.choices = listed(type);
  const std::string& name = flag.names.empty() ? flag.positional : flag.names.back();
  for (const Choices& known : known_choices()) {
    if (flag.choices.empty() && known.flag == name) flag.choices = known.values;
  }
  return flag;
}

CommandInfo read_command(const CLI::App& app) {
  CommandInfo command;
  command.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) command.flags.push_back(read_flag(*option));  // not hidden
  }
  return command;
}

}  // namespace

std::vector<CommandInfo> read_command_tree(const CLI::App& app) {
  std::vector<CommandInfo> tree = {read_command(app)};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    tree.push_back(read_command(*sub));
    tree.back().name = sub->get_name();
  }
  for (CommandInfo& command : tree) {  // what `help COMMAND` and `manual COMMAND` take
    for (FlagInfo& flag : command.flags) {
      if (flag.positional != "COMMAND") continue;
      for (std::size_t k = 1; k < tree.size(); ++k) flag.choices.push_back(tree[k].name);
    }
  }
  return tree;
}

}  // namespace tilewave::cli
