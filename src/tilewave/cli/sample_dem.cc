// tilewave sample_dem: detection events drawn from a detector error model.
#include <memory>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/io/dem_text.h"

namespace tilewave::cli {

void add_sample_dem_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("sample_dem", "detection events of a detector error model");
  struct Flags : SampleFlags {
    bool append = false;
    std::string obs_out, obs_out_format = "01";
  };
  auto f = std::make_shared<Flags>();
  add_sample_flags(*command, *f);
  command->add_flag("--append_observables", f->append, "observables behind the detectors");
  command->add_option("--obs_out", f->obs_out, "a file of their own for the observables");
  command->add_option("--obs_out_format", f->obs_out_format, "its format")->capture_default_str();
  command->callback([f] {
    StimFile in(f->in, "rb"), out(f->out, "wb");
    const circuit::FlatModel model = circuit::flatten(io::parse_dem(in.read_all(), in.name()));
    if (f->engine == "frame")
      throw Error(ExitCode::kUsage, "an error model has no gates: use --engine sparse or auto");
    const auto options = sample_options(*f, stabilizer::ShotOutput::kDetectors);
    std::vector<stabilizer::IndependentError> errors;
    errors.reserve(model.errors.size());
    for (const circuit::FlatError& e : model.errors) {
      auto& to = errors.emplace_back();
      to.probability = e.probability;
      for (std::uint64_t d : e.detectors) to.bits.push_back(static_cast<std::uint32_t>(d));
      for (std::uint64_t l : e.observables)
        to.bits.push_back(static_cast<std::uint32_t>(model.num_detectors + l));
    }
    const auto source = stabilizer::make_shot_source(
        stabilizer::build_sparse(errors, model.num_detectors, model.num_observables), options.gpu);
    if (f->explain) return out.write(source->explain());
    ShotSinkSpec detectors;
    detectors.layout.detectors = model.num_detectors;
    if (f->append) detectors.layout.observables = model.num_observables;
    detectors.file = &out;
    detectors.format = io::parse_shot_format(f->out_format);
    if (f->obs_out.empty()) return write_shots(*source, options, {detectors});
    StimFile obs(f->obs_out, "wb");
    ShotSinkSpec others;
    others.layout.observables = model.num_observables;
    others.first_bit = model.num_detectors;
    others.file = &obs;
    others.format = io::parse_shot_format(f->obs_out_format);
    write_shots(*source, options, {detectors, others});
  });
}

}  // namespace tilewave::cli
