// tilewave sample: measurement records of a circuit in Stim's language.
#include <cstdint>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tilewave/base/fingerprint.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/shot_run.h"
#include "tilewave/cli/stim_files.h"

namespace tilewave::cli {

void add_sample_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("sample", "measurement records of a circuit in Stim's language");
  struct Flags : SampleFlags {
    bool skip_reference_sample = false, skip_loop_folding = false;
  };
  auto f = std::make_shared<Flags>();
  add_sample_flags(*command, *f);
  command->add_flag("--skip_reference_sample", f->skip_reference_sample,
                    "take the noiseless shot as all zeros (it must be one)");
  command->add_flag("--skip_loop_folding", f->skip_loop_folding,
                    "accepted; the result is the same");
  command->add_flag("--frame0", f->skip_reference_sample, "older name of --skip_reference_sample");
  command->callback([f] {
    need_distinct_files({f->in}, {{"--out", f->out}});
    need_no_checkpoints({f->checkpoint, f->resume}, {{"--out", f->out}});
    std::uint64_t input = 0;
    const stabilizer::StabProgram program =
        read_program(f->in, stabilizer::Rotations::kKeep, stabilizer::Leakage::kKeep, &input);
    stabilizer::SampleOptions options = sample_options(*f, stabilizer::ShotOutput::kRecords);
    options.reference = !f->skip_reference_sample;
    ShotRun run(*f, input, Fingerprint().add(std::string_view("sample")).value(), options);
    StimFile out(f->out, run.mode());
    const auto source = stabilizer::make_shot_source(program, options);
    if (f->explain) return out.write(source->explain());
    say_fault_weight(*source, f->quiet);
    ShotSinkSpec sink;
    sink.layout.measurements = program.counts.measurements;
    sink.file = &out;
    sink.format = formats::parse_shot_format(f->out_format);
    write_shots(*source, options, {sink}, f->quiet, run);
  });
}

}  // namespace tilewave::cli
