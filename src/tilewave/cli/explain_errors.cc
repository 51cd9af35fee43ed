// tilewave explain_errors: which places of a circuit cause which detection events.
#include <memory>

#include <CLI/CLI.hpp>

#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/explain.h"

namespace tilewave::cli {

void add_explain_errors_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain_errors",
                                         "which places of a circuit cause which detection events");
  struct Flags {
    std::string in, out, dem_filter;
    bool single = false;
  };
  auto f = std::make_shared<Flags>();
  command->add_option("--in", f->in, "input file (standard input when left out)");
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command->add_option("--dem_filter", f->dem_filter,
                      "an error model: explain its errors only (all errors when left out)");
  command->add_flag("--single", f->single,
                    "the simplest place of each error instead of all places");
  command->callback([f] {
    need_distinct_files({f->in, f->dem_filter}, {{"--out", f->out}});
    StimFile in(f->in, "rb");
    const circuit::StabilizerCircuit circuit = language::parse_stim(in.read_all(), in.name());
    circuit::ErrorModel filter;
    stabilizer::ExplainOptions options;
    options.single = f->single;
    options.name = in.name();
    if (!f->dem_filter.empty()) {
      StimFile file(f->dem_filter, "rb");
      filter = language::parse_dem(file.read_all(), file.name());
      options.filter = &filter;
    }
    StimFile out(f->out, "whole");
    out.write(stabilizer::explain_errors(circuit, options));
    out.done();
  });
}

}  // namespace tilewave::cli
