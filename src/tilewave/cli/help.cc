// tilewave help [COMMAND]: the overview, or the flags of one command.
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/circuit/gate_table.h"
#include "tilewave/circuit/stabilizer_circuit.h"
#include "tilewave/cli/commands.h"

namespace tilewave::cli {
namespace {

constexpr std::array<std::array<const char*, 2>, 9> kFormats = {{
    {"01", "a line of characters 0 and 1 a shot"},
    {"b8", "eight bits a byte, lowest first; a shot starts at a byte"},
    {"r8", "a byte for the zeros before each one and before the end of the shot; 255 goes on"},
    {"ptb64", "64 shots at a time, for every bit a little-endian u64 with a bit a shot"},
    {"hits", "a line a shot: the numbers of the ones, separated by commas"},
    {"dets", "a line a shot: `shot`, then the ones as M0, D3, L1"},
    {"sparse", "u32 count, then u32 numbers of the ones, a shot; written only"},
    {"counts", "the ones of every bit in all shots; written only"},
    {"pairs", "the same, and the ones of both bits of every pair; written only"},
}};

std::string arguments_of(const circuit::StabOpInfo& op) {
  if (op.max_args < 0) return "any number of";
  if (op.min_args == op.max_args) return op.max_args ? std::to_string(op.max_args) : "no";
  return std::to_string(op.min_args) + " to " + std::to_string(op.max_args);
}

// What is said of Stim's instructions and formats; empty when the topic is none of them.
std::string stim_topic(std::string topic) {
  for (const auto& [name, text] : kFormats) {
    if (topic == name) return std::string(name) + ": " + text + "\n";
  }
  std::string out;
  if (topic == "formats") {
    for (const auto& [name, text] : kFormats) {
      out.append(name).append(8 - std::string_view(name).size(), ' ').append(text) += '\n';
    }
    return out;
  }
  const auto line = [&](std::string_view names, std::string_view help) {
    out.append(names).append(names.size() < 36 ? 36 - names.size() : 1, ' ').append(help) += '\n';
  };
  if (topic == "gates") {
    for (const circuit::GateInfo& g : circuit::gate_table()) {
      if (!g.stim.empty()) line(g.stim, g.help);
    }
    for (const circuit::StabOpInfo& op : circuit::stabilizer_ops()) {
      if (op.name.empty()) continue;
      line(std::string(op.name) + (op.aliases.empty() ? "" : " ") + std::string(op.aliases),
           op.help);
    }
    return out;
  }
  for (char& c : topic) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  const circuit::StabName found = circuit::find_stabilizer_op(topic);
  if (!found.found) return "";
  if (found.kind == circuit::StabKind::kGate) {
    const circuit::GateInfo& g = circuit::gate_info(found.gate);
    line(g.stim, g.help);
    out += g.num_controls + g.num_targets == 2 ? "takes pairs of qubits" : "takes qubits";
    return out + (circuit::may_spread_leakage(found.gate)
                      ? ", no arguments or 4: leakage spreads from the first to the second, back, "
                        "moves, moves back\n"
                      : ", no arguments\n");
  }
  const circuit::StabOpInfo& op = circuit::stabilizer_op(found.kind);
  line(std::string(op.name) + (op.aliases.empty() ? "" : " ") + std::string(op.aliases), op.help);
  out += "takes " + std::string(circuit::describe(op.targets)) + ", " + arguments_of(op) +
         (op.probabilities ? " arguments, probabilities\n" : " arguments\n");
  return out;
}

}  // namespace

void add_help_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "help",
      "a command, an instruction of Stim's language or a format; gates or formats for lists");
  auto topic = std::make_shared<std::string>();
  command->add_option(
      "COMMAND", *topic,
      "a command listed by 'tilewave help', an instruction (CNOT), a format (b8), gates, formats");
  command->callback([&app, topic] {
    if (topic->empty()) {
      // app.help() would print the help of the command that was parsed, which is this one.
      const auto& formatter = app.get_formatter();
      std::fputs(formatter->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal).c_str(),
                 stdout);
      return;
    }
    const auto commands =
        app.get_subcommands([&](const CLI::App* c) { return c->get_name() == *topic; });
    if (commands.empty()) {
      const std::string text = stim_topic(*topic);
      if (text.empty()) {
        fail(ExitCode::kUsage, "there is no command, instruction or format '", *topic,
             "': see 'tilewave help', 'help gates' and 'help formats'");
      }
      std::fputs(text.c_str(), stdout);
      return;
    }
    std::fputs(commands[0]->help(app.get_name()).c_str(), stdout);
  });
}

}  // namespace tilewave::cli
