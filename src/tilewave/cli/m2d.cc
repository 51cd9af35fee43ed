// tilewave m2d: measured shots into detection events.
#include <algorithm>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/stabilizer/detections.h"

namespace tilewave::cli {

void add_m2d_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("m2d", "turns measured shots into detection events");
  struct Flags {
    std::string circuit, in, in_format, out, out_format = "01", sweep, sweep_format = "01", obs_out,
                                             obs_out_format = "01";
    bool append = false, skip_reference_sample = false, ran_without_feedback = false;
  };
  auto f = std::make_shared<Flags>();
  command->add_option("--circuit", f->circuit, "the circuit whose detectors are meant")->required();
  command->add_option("--in", f->in, "measured shots (standard input when left out)");
  command->add_option("--in_format", f->in_format, "01, b8, r8, ptb64, hits or dets")->required();
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command->add_option("--out_format", f->out_format, "01, b8, r8, ptb64, hits, dets or sparse")
      ->capture_default_str();
  command->add_option("--sweep", f->sweep, "sweep bits of every shot");
  command->add_option("--sweep_format", f->sweep_format, "their format")->capture_default_str();
  command->add_flag("--append_observables", f->append, "observables behind the detectors");
  command->add_option("--obs_out", f->obs_out, "a file of their own for the observables");
  command->add_option("--obs_out_format", f->obs_out_format, "its format")->capture_default_str();
  command->add_flag("--skip_reference_sample", f->skip_reference_sample,
                    "take the noiseless shot as all zeros (it must be one)");
  command->add_flag("--ran_without_feedback", f->ran_without_feedback,
                    "the shots were measured without the circuit's feedback: do it now");
  command->callback([f] {
    need_distinct_files({f->circuit, f->in, f->sweep},
                        {{"--out", f->out}, {"--obs_out", f->obs_out}});
    const stabilizer::StabProgram program =
        read_program(f->circuit, stabilizer::Rotations::kRefuse, stabilizer::Leakage::kKeep);
    const stabilizer::DetectionConverter converter(program, !f->skip_reference_sample,
                                                   !f->ran_without_feedback);
    for (const std::string& name : {f->out_format, f->obs_out_format}) {
      if (formats::is_summary(formats::parse_shot_format(name))) {
        fail(ExitCode::kUsage, "m2d writes shots only: use another format, then tilewave convert");
      }
    }
    StimFile in(f->in, "rb"), out(f->out, "whole");
    formats::ShotLayout measured, sweep, detectors, observables;
    measured.measurements = program.counts.measurements;
    sweep.measurements = program.counts.sweep_bits;
    detectors.detectors = program.counts.detectors;
    observables.observables = program.counts.observables;
    if (f->append) detectors.observables = program.counts.observables;
    formats::ShotReader reader(in.get(), in.name(), formats::parse_shot_format(f->in_format),
                               measured);
    std::unique_ptr<StimFile> sweep_file, obs_file;
    std::unique_ptr<formats::ShotReader> sweep_reader;
    if (!f->sweep.empty() && program.counts.sweep_bits == 0) {
      // rows of no bits say nothing; what is more is meant for another circuit
      if (StimFile(f->sweep, "rb").read_all().find_first_not_of("\r\n") != std::string::npos) {
        fail(ExitCode::kUsage, "--sweep ", f->sweep, ": ", f->circuit,
             " has no sweep bits: leave the flag out, or name the circuit that the bits are of");
      }
    } else if (!f->sweep.empty()) {
      sweep_file = std::make_unique<StimFile>(f->sweep, "rb");
      sweep_reader =
          std::make_unique<formats::ShotReader>(sweep_file->get(), sweep_file->name(),
                                                formats::parse_shot_format(f->sweep_format), sweep);
    }
    if (!f->obs_out.empty()) obs_file = std::make_unique<StimFile>(f->obs_out, "whole");
    const formats::ShotFormatter format(formats::parse_shot_format(f->out_format), detectors);
    const formats::ShotFormatter obs_format(formats::parse_shot_format(f->obs_out_format),
                                            observables);
    const auto formats = {
        formats::parse_shot_format(f->in_format), formats::parse_shot_format(f->out_format),
        formats::parse_shot_format(f->obs_out_format), formats::parse_shot_format(f->sweep_format)};
    const std::size_t at_once = std::min({formats::shots_at_once(measured, formats),
                                          formats::shots_at_once(detectors, formats),
                                          formats::shots_at_once(sweep, formats)});
    std::vector<std::uint8_t> rows, sweeps, events, obs_rows;
    formats::ByteBuffer bytes;
    while (true) {
      rows.clear(), sweeps.clear(), bytes.clear();
      const std::size_t n = reader.read(at_once, rows);
      if (n == 0) break;
      if (sweep_reader && sweep_reader->read(n, sweeps) != n) {
        fail(ExitCode::kInput, f->sweep,
             ": there are fewer shots of sweep bits than measured shots");
      }
      events.resize(n * converter.row_bytes());
      converter.convert(rows.data(), measured.bytes(), sweep_reader ? sweeps.data() : nullptr,
                        sweep.bytes(), n, events.data());
      format.append(events.data(), converter.row_bytes(), n, bytes);
      out.write(bytes.data(), bytes.size());
      if (!obs_file) continue;
      formats::cut_rows(events.data(), converter.row_bytes(), n, program.counts.detectors,
                        program.counts.observables, obs_rows);
      bytes.clear();
      obs_format.append(obs_rows.data(), observables.bytes(), n, bytes);
      obs_file->write(bytes.data(), bytes.size());
    }
    if (sweep_reader && sweep_reader->read(1, sweeps) != 0) {
      fail(ExitCode::kInput, f->sweep, ": there are more shots of sweep bits than measured shots");
    }
    if (obs_file) obs_file->flush();  // neither gets its name where the other one fails
    out.done();
    if (obs_file) obs_file->done();
  });
}

}  // namespace tilewave::cli
