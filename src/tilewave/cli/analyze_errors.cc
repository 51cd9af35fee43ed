// tilewave analyze_errors: the detector error model of a circuit.
#include <memory>

#include <CLI/CLI.hpp>

#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/stabilizer/error_analysis.h"

namespace tilewave::cli {

void add_analyze_errors_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("analyze_errors", "the detector error model of a circuit");
  struct Flags {
    std::string in, out;
    stabilizer::AnalysisOptions options;
  };
  auto f = std::make_shared<Flags>();
  auto& o = f->options;
  command->add_option("--in", f->in, "input file (standard input when left out)");
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command->add_flag("--decompose_errors", o.decompose_errors,
                    "suggest parts that flip at most two detectors");
  command->add_flag("--fold_loops", o.fold_loops, "keep loops as repeat blocks");
  command->add_flag("--allow_gauge_detectors", o.allow_gauge_detectors,
                    "detectors that are random together become error(0.5)");
  command
      ->add_option(
          "--approximate_disjoint_errors", o.approximate_disjoint_errors,
          "treat disjoint branches up to this probability as independent (1 when given alone)")
      ->expected(0, 1)
      ->default_str("1")
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--ignore_decomposition_failures", o.ignore_decomposition_failures,
                    "keep errors that cannot be split");
  command->add_flag("--block_decompose_from_introducing_remnant_edges", o.block_remnant_edges,
                    "split only into errors of the model");
  command->callback([f, command] {
    if (command->get_option("--approximate_disjoint_errors")->count() == 0)
      f->options.approximate_disjoint_errors = 0;
    need_distinct_files({f->in}, {{"--out", f->out}});
    const stabilizer::StabProgram program = read_program(f->in);
    StimFile out(f->out, "whole");
    bool written = false;
    language::DemWriter writer([&](std::string_view text) {
      out.write(text.data(), text.size());
      written |= !text.empty();
    });
    stabilizer::analyze_errors(program, f->options, writer);
    writer.flush();
    if (!written) out.write("\n");
    out.done();
  });
}

}  // namespace tilewave::cli
