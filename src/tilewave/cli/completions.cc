// tilewave completions SHELL: a script with which bash, zsh or fish completes commands, flags and their values. Packages install it;
// without one: eval "$(tilewave completions bash)".
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/command_tree.h"
#include "tilewave/cli/commands.h"

namespace tilewave::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : between).append(word);
  return out;
}

// In single quotes, with `escaped` for a quote inside them.
std::string quoted(std::string_view text, std::string_view escaped) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out.append(escaped) : out.append(1, c);
  return out + "'";
}

std::vector<std::string> names_of(const std::vector<CommandInfo>& tree) {
  std::vector<std::string> names;
  for (std::size_t k = 1; k < tree.size(); ++k) names.push_back(tree[k].name);
  return names;
}

// The values of a positional, and the flags by what follows them.
std::string bash(const std::vector<CommandInfo>& tree) {
  std::string values, flags;
  for (const CommandInfo& command : tree) {
    std::vector<std::string> names, without_choices, plain;
    for (const FlagInfo& flag : command.flags) {
      names.insert(names.end(), flag.names.begin(), flag.names.end());
      if (flag.names.empty()) plain.insert(plain.end(), flag.choices.begin(), flag.choices.end());
      if (flag.names.empty() || flag.value.empty()) continue;
      std::string pattern;
      for (const std::string& name : flag.names) {
        pattern += (pattern.empty() ? "'" : " | '") + command.name + " " + name + "'";
      }
      if (flag.choices.empty()) {
        without_choices.push_back(pattern);
      } else {
        values += "    " + pattern + ") words='" + joined(flag.choices) + "' ;;\n";
      }
    }
    if (!without_choices.empty()) {
      values += "    " + joined(without_choices, " |\\\n    ") + ") return ;;\n";
    }
    if (command.name.empty()) plain = names_of(tree);
    flags += "      '" + command.name + "') flags='" + joined(names) + "' words='" + joined(plain) +
             "' ;;\n";
  }
  return "# bash completion of tilewave, printed by 'tilewave completions bash'\n"
         "_tilewave() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= "
         "flags= words=\n"
         "  [ \"$COMP_CWORD\" -le 1 ] || command=${COMP_WORDS[1]}\n"
         "  [ \"$word\" != = ] || word=  # --flag=value comes in three words\n"
         "  [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  COMPREPLY=()\n"
         "  case \"$command $before\" in\n" +
         values +
         "    *)\n"
         "      case \"$command\" in\n" +
         flags +
         "      esac\n"
         "      [[ $word != -* ]] || words=$flags ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o bashdefault -o default -F _tilewave tilewave\n";
}

// What _arguments reads: brackets and colons end a part of it.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const FlagInfo& flag) {
  const std::string kind = flag.positional.empty() ? flag.value : flag.positional;
  return ":" + zsh_text(kind) + ":" +
         (flag.choices.empty() ? "_files" : "(" + zsh_text(joined(flag.choices)) + ")");
}

std::string zsh_flags(const CommandInfo& command) {
  std::string out;
  for (const FlagInfo& flag : command.flags) {
    if (flag.names.empty()) {
      out += " \\\n        " + quoted("*" + zsh_action(flag), "'\\''");
      continue;
    }
    for (const std::string& name : flag.names) {
      std::string text = name + "[" + zsh_text(flag.help) + "]";
      if (!flag.value.empty()) text += zsh_action(flag);
      out += " \\\n        " + quoted(text, "'\\''");
    }
  }
  return out;
}

std::string zsh(const std::vector<CommandInfo>& tree) {
  std::string names, cases;
  for (std::size_t k = 1; k < tree.size(); ++k) {
    names += "    " + quoted(zsh_text(tree[k].name) + ":" + tree[k].help, "'\\''") + "\n";
    cases +=
        "    (" + tree[k].name + ")\n      _arguments -s" + zsh_flags(tree[k]) + "\n      ;;\n";
  }
  return "#compdef tilewave\n"
         "# zsh completion of tilewave, printed by 'tilewave completions zsh'\n"
         "_tilewave() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a commands\n"
         "  commands=(\n" +
         names +
         "  )\n"
         "  _arguments -C" +
         zsh_flags(tree[0]) +
         " \\\n        '1:command:->command' '*::argument:->argument' && return\n"
         "  case $state in\n"
         "  (command)\n"
         "    _describe command commands\n"
         "    ;;\n"
         "  (argument)\n"
         "    case $line[1] in\n" +
         cases +
         "    esac\n"
         "    ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _tilewave ]; then\n"
         "  _tilewave \"$@\"\n"
         "else\n"
         "  compdef _tilewave tilewave\n"
         "fi\n";
}

std::string fish_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += '\\';
    out += c;
  }
  return quoted(out, "\\'");
}

std::string fish(const std::vector<CommandInfo>& tree) {
  std::string out = "# fish completion of tilewave, printed by 'tilewave completions fish'\n";
  for (const CommandInfo& command : tree) {
    const std::string start =
        "complete -c tilewave -n " + (command.name.empty()
                                          ? std::string("__fish_use_subcommand")
                                          : "'__fish_seen_subcommand_from " + command.name + "'");
    if (!command.name.empty()) {
      out += "complete -c tilewave -n __fish_use_subcommand -f -a " + command.name + " -d " +
             fish_text(command.help) + "\n";
    }
    for (const FlagInfo& flag : command.flags) {
      out += start;
      for (const std::string& name : flag.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!flag.choices.empty()) {
        out += (flag.names.empty() ? " -f -a '" : " -x -a '") + joined(flag.choices) + "'";
      } else if (!flag.value.empty()) {
        out += flag.names.empty() ? " -F" : " -r -F";
      }
      out += " -d " + fish_text(flag.help) + "\n";
    }
  }
  return out;
}

}  // namespace

void add_completions_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("completions", "a script with which a shell completes commands and flags");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->callback([&app, shell] {
    const std::vector<CommandInfo> tree = read_command_tree(app);
    std::string script;
    if (*shell == "bash") script = bash(tree);
    if (*shell == "zsh") script = zsh(tree);
    if (*shell == "fish") script = fish(tree);
    if (script.empty()) {
      fail(ExitCode::kUsage, "there are no completions for '", *shell, "': use bash, zsh or fish");
    }
    std::fputs(script.c_str(), stdout);
  });
}

}  // namespace tilewave::cli
