// tilewave gen: memory experiments of error-correcting codes as circuits.
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/read_double.h"
#include "tilewave/circuit/code_circuits.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/settings/words.h"

namespace tilewave::cli {

void add_gen_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("gen", "circuits of error-correcting codes");
  struct Flags {
    std::string code, task, out;
    circuit::CodeOptions options;
  };
  auto f = std::make_shared<Flags>();
  auto& o = f->options;
  command->add_option("--code", f->code, "surface_code, repetition_code or color_code")->required();
  command
      ->add_option("--task", f->task,
                   "rotated_memory_x|z, unrotated_memory_x|z; memory; memory_xyz")
      ->required();
  add_number_flag(
      *command, "--distance", [&o](std::uint64_t d) { o.distance = static_cast<std::uint32_t>(d); },
      "distance of the code", 2, 2047)
      ->required();
  add_number_flag(*command, "--rounds", o.rounds, "rounds of checks")->required();
  const auto knob = [&](const char* flag, double& value, const char* help) {
    command->add_option_function<std::string>(
        flag,
        [flag, &value](const std::string& text) {
          const std::optional<double> p = whole_double(text);
          if (!p || !(*p >= 0 && *p <= 1)) {
            throw Error(ExitCode::kUsage, std::string(flag) + " " + tilewave::quoted(text) +
                                              ": give a probability, from 0 to 1");
          }
          value = *p;
        },
        help);
  };
  knob("--after_clifford_depolarization", o.after_clifford_depolarization, "after every gate");
  knob("--before_round_data_depolarization", o.before_round_data_depolarization,
       "on idle data qubits");
  knob("--before_measure_flip_probability", o.before_measure_flip_probability,
       "before every measurement");
  knob("--after_reset_flip_probability", o.after_reset_flip_probability, "after every reset");
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command->callback([f] {
    const auto circuit = circuit::code_circuit(f->code, f->task, f->options);
    StimFile out(f->out, "whole");
    const auto number = [](double p) { return language::shortest_number(p); };
    const circuit::CodeOptions& g = f->options;
    out.write(
        "# Generated " + f->code + " circuit.\n# task: " + f->task +
        "\n# rounds: " + std::to_string(g.rounds) + "\n# distance: " + std::to_string(g.distance) +
        "\n# before_round_data_depolarization: " + number(g.before_round_data_depolarization) +
        "\n# before_measure_flip_probability: " + number(g.before_measure_flip_probability) +
        "\n# after_reset_flip_probability: " + number(g.after_reset_flip_probability) +
        "\n# after_clifford_depolarization: " + number(g.after_clifford_depolarization) + "\n");
    out.write(language::print_stim(circuit));
    out.done();
  });
}

}  // namespace tilewave::cli
