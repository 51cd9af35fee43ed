// tilewave detect: detection events (and observable flips) of a circuit in Stim's language.
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/shot_run.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/cli/strata.h"
#include "tilewave/stabilizer/sample/post_select.h"

namespace tilewave::cli {

namespace {

// `all`, a list of detectors, or a file of one.
std::vector<std::uint64_t> read_mask(const std::string& words, std::uint64_t num_detectors) {
  const bool is_list = words == "all" || words.find_first_not_of("0123456789Dd,- ") == words.npos;
  if (is_list) return stabilizer::post_selection_mask(words, num_detectors);
  return stabilizer::post_selection_mask(StimFile(words, "rb").read_all(), num_detectors);
}

}  // namespace

void add_detect_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("detect", "detection events of a circuit in Stim's language");
  struct Flags : SampleFlags {
    bool append = false, prepend = false;
    std::string obs_out, obs_out_format = "01";
    std::optional<std::string> post_select;
    StrataFlags strata;
  };
  auto f = std::make_shared<Flags>();
  add_sample_flags(*command, *f);
  command->add_flag("--append_observables", f->append, "observables behind the detectors");
  command->add_flag("--prepend_observables", f->prepend,
                    "observables before the detectors (deprecated)");
  command->add_option("--obs_out", f->obs_out, "a file of their own for the observables");
  command->add_option("--obs_out_format", f->obs_out_format, "its format")->capture_default_str();
  command->add_option("--postselect", f->post_select,
                      "keep shots in which these detectors are silent: all, numbers and ranges "
                      "such as 0,3,5-8, or a file of these; says how many were kept");
  add_strata_flags(*command, f->strata);
  command->callback([f, command] {
    if (f->append + f->prepend + !f->obs_out.empty() > 1) {
      fail(ExitCode::kUsage,
           "use one of --append_observables, --prepend_observables and --obs_out");
    }
    const OutputFile shots{"--out", f->out}, observables{"--obs_out", f->obs_out};
    need_distinct_files({f->in}, {shots, observables});
    need_no_checkpoints({f->checkpoint, f->resume}, {shots, observables});
    std::uint64_t input = 0;
    const stabilizer::StabProgram program =
        read_program(f->in, stabilizer::Rotations::kKeep, stabilizer::Leakage::kKeep, &input);
    SampleFlags flags = *f;
    if (f->strata.strata) flags.out_format = "01";  // what --strata writes are no shots
    auto options = sample_options(flags, stabilizer::ShotOutput::kDetectors);
    const bool selects = f->post_select.has_value();
    if (selects) options.must_be_zero = read_mask(*f->post_select, program.counts.detectors);
    if (f->strata.strata) {
      for (const char* flag : {"--faults", "--append_observables", "--prepend_observables",
                               "--obs_out", "--first_shot", "--checkpoint", "--resume"}) {
        if (command->count(flag) > 0) {
          const std::string problem = "--strata makes a table of shots of its own: leave out ";
          fail(ExitCode::kUsage, problem + flag);
        }
      }
      std::optional<std::string> format;
      if (command->count("--out_format") > 0) format = f->out_format;
      return write_strata(program, options, f->strata, format, *f);
    }
    for (const char* flag : {"--fault_distance", "--allocation", "--confidence"}) {
      if (command->count(flag) > 0) fail(ExitCode::kUsage, flag, " goes with --strata");
    }
    Fingerprint outputs;
    outputs.add(std::string_view("detect"));
    outputs.add(std::uint64_t{f->append} << 1 | std::uint64_t{f->prepend});
    outputs.add(std::string_view(f->obs_out.empty() ? "" : f->obs_out_format));
    ShotRun run(*f, input, outputs.value(), options);
    StimFile out(f->out, run.mode());
    const auto source = stabilizer::make_shot_source(program, options);
    if (f->explain) return out.write(source->explain());
    say_fault_weight(*source, f->quiet);
    ShotSinkSpec detectors;
    detectors.layout.detectors = program.counts.detectors;
    detectors.file = &out;
    detectors.format = formats::parse_shot_format(f->out_format);
    ShotSinkSpec others = detectors;
    others.layout = {};
    others.layout.observables = program.counts.observables;
    others.first_bit = program.counts.detectors;
    // Stim writes the observables of dets in front when it is not told where they go.
    const bool first =
        f->prepend || (detectors.format == formats::ShotFormat::kDets && f->obs_out.empty());
    const auto write = [&](const std::vector<ShotSinkSpec>& sinks) {
      if (selects) return write_kept_shots(*source, options, program.counts, sinks, f->quiet, run);
      write_shots(*source, options, sinks, f->quiet, run);
    };
    if (f->append || first) {
      detectors.layout.observables = program.counts.observables;
      detectors.layout.observables_first = !f->append;
      return write({detectors});
    }
    if (f->obs_out.empty()) return write({detectors});
    StimFile obs(f->obs_out, run.mode());
    others.file = &obs;
    others.format = formats::parse_shot_format(f->obs_out_format);
    write({detectors, others});
  });
}

}  // namespace tilewave::cli
