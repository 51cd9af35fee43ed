// tilewave manual [COMMAND]: a manual page in the language of man(1), from the texts of the help; --folder writes all of them.
#include <cstdio>
#include <filesystem>
#include <fstream>
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

// A text in which roff sees no requests: no line begins with a period or a quote, dashes are minus signs.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string page_name(const CommandInfo& command) {
  return command.name.empty() ? "tilewave" : "tilewave-" + command.name;
}

std::string synopsis(const CommandInfo& command) {
  std::string out =
      "\\fBtilewave" + (command.name.empty() ? "" : " " + roff(command.name)) + "\\fR";
  bool has_flags = false;
  for (const FlagInfo& flag : command.flags) has_flags |= !flag.names.empty();
  if (has_flags) out += " [\\fIOPTIONS\\fR]";
  if (command.name.empty()) out += " [\\fICOMMAND\\fR]";
  for (const FlagInfo& flag : command.flags) {
    if (!flag.names.empty()) continue;
    out += flag.required ? " \\fI" + roff(flag.positional) + "\\fR"
                         : " [\\fI" + roff(flag.positional) + "\\fR]";
  }
  return out;
}

std::string entry(const FlagInfo& flag) {
  std::string head;
  for (const std::string& name : flag.names) {
    head += (head.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  }
  if (flag.names.empty()) {
    head = "\\fI" + roff(flag.positional) + "\\fR";
  } else if (!flag.value.empty()) {
    head += " \\fI" + roff(flag.value) + "\\fR";
  }
  std::string text = roff(flag.help);
  if (flag.required && !flag.names.empty()) text += " (required)";
  return ".TP\n" + head + "\n" + text + "\n";
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n0\nno problem\n"
    ".TP\n1\na defect of the program\n"
    ".TP\n2\narguments that are not understood\n"
    ".TP\n3\ntoo little memory or disk, or a device that is not there\n"
    ".TP\n4\nan input that cannot be read or is wrong\n"
    ".TP\n5\na result failed its check\n"
    ".TP\n6\nanother process or device failed\n";

std::string page(const std::vector<CommandInfo>& tree, const CommandInfo& command) {
  const std::string name = page_name(command);
  std::string title = name;
  for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::string out = ".TH " + roff(title) + " 1 \"\" \"tilewave " TW_VERSION "\" \"Tilewave\"\n";
  out += ".SH NAME\n" + roff(name) + " \\- " + roff(command.help) + "\n";
  out += ".SH SYNOPSIS\n" + synopsis(command) + "\n";
  std::string commands, positionals, flags;
  for (const FlagInfo& flag : command.flags) {
    (flag.names.empty() ? positionals : flags) += entry(flag);
  }
  if (command.name.empty()) {
    for (const CommandInfo& other : tree) {
      if (other.name.empty()) continue;
      commands += ".TP\n\\fB" + roff(other.name) + "\\fR\n" + roff(other.help) + "\n";
    }
  }
  if (!commands.empty()) out += ".SH COMMANDS\n" + commands;
  if (!positionals.empty()) out += ".SH ARGUMENTS\n" + positionals;
  if (!flags.empty()) out += ".SH OPTIONS\n" + flags;
  out += kExitStatus;
  out += ".SH SEE ALSO\n";
  std::string others;
  for (const CommandInfo& other : tree) {
    if (&other == &command || (!command.name.empty() && !other.name.empty())) continue;
    others += (others.empty() ? ".BR " : " ,\n.BR ") + roff(page_name(other)) + " (1)";
  }
  return out + others + "\n";
}

void write_page(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) {
    fail(ExitCode::kResources, "cannot write ", path.string(),
         ": --folder is to be a folder that can be written to");
  }
}

}  // namespace

void add_manual_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("manual", "a manual page for man, of a command or of all");
  auto topic = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "a command listed by 'tilewave help'");
  command->add_option("--folder", *folder, "write the pages of all commands into this folder");
  command->callback([&app, topic, folder] {
    if (!folder->empty() && !topic->empty()) {
      fail(ExitCode::kUsage, "--folder writes the pages of all commands: leave out ", *topic);
    }
    const std::vector<CommandInfo> tree = read_command_tree(app);
    bool found = false;
    for (const CommandInfo& one : tree) {
      if (!folder->empty()) {
        write_page(std::filesystem::path(*folder) / (page_name(one) + ".1"), page(tree, one));
      } else if (one.name == *topic) {
        std::fputs(page(tree, one).c_str(), stdout);
        found = true;
      }
    }
    if (folder->empty() && !found) {
      fail(ExitCode::kUsage, "there is no command '", *topic,
           "': see 'tilewave help' for the list");
    }
  });
}

}  // namespace tilewave::cli
