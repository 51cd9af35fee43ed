// tilewave diagram: pictures of a circuit or its error model.
#include <memory>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/text.h"
#include "tilewave/stabilizer/diagram/diagram.h"

namespace tilewave::cli {
namespace {

struct DiagramFlags {
  std::string in, out, type, tick, filter;
  bool remove_noise = false, has_filter = false;
};

std::string draw(const DiagramFlags& f) {
  stabilizer::DiagramOptions options{
      stabilizer::parse_diagram_kind(f.type), f.tick, {}, f.remove_noise};
  if (f.has_filter) options.shown = f.filter;
  StimFile in(f.in, "rb");
  const std::string text = in.read_all();
  const bool is_model = std::string_view(f.in).ends_with(".dem") || language::is_dem(text);
  if (options.kind == stabilizer::DiagramKind::kMatchGraph && is_model)
    return stabilizer::model_svg(language::parse_dem(text, in.name()), options);
  return stabilizer::circuit_svg(language::parse_stim(text, in.name()), in.name(), options);
}

}  // namespace

void add_diagram_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("diagram", "pictures of a circuit in Stim's language, as SVG");
  auto f = std::make_shared<DiagramFlags>();
  command
      ->add_option("--type", f->type,
                   "timeline-svg: operations; detslice-svg: what detectors check at a tick; "
                   "matchgraph-svg: errors between detectors, of a circuit or an error model")
      ->required()
      ->check(
          CLI::IsMember(std::vector<std::string>{"timeline-svg", "detslice-svg", "matchgraph-svg",
                                                 "detector-slice-svg", "match-graph-svg"}));
  command->add_option("--in", f->in, "input file (standard input when left out)");
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command->add_option(
      "--tick", f->tick,
      "ticks, 3 or 3:7 for 3 to 6: the steps of a time line (all when left out), the "
      "moments of detector slices");
  CLI::Option* filter = command->add_option(
      "--filter_coords", f->filter,
      "what detector slices show, such as 2,3:D5:L0: detectors whose coordinates begin with 2,3, "
      "detector 5, observable 0 (all detectors and observables when left out)");
  command->add_flag("--remove_noise", f->remove_noise,
                    "draws a time line or detector slices without noise");
  command->callback([f, filter] {
    f->has_filter = filter->count() > 0;
    need_distinct_files({f->in}, {{"--out", f->out}});
    const std::string picture = draw(*f);
    StimFile out(f->out, "whole");
    out.write(picture);
    out.done();
  });
}

}  // namespace tilewave::cli
