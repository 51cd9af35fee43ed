// tilewave convert: shots from one format into another.
#include <memory>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/io/stim_text.h"

namespace tilewave::cli {

void add_convert_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("convert", "turns shots from one format into another");
  struct Flags {
    std::string in, in_format, out, out_format, circuit, types, obs_out, obs_out_format = "01";
    std::uint64_t measurements = 0, detectors = 0, observables = 0, bits = 0;
  };
  auto f = std::make_shared<Flags>();
  command->add_option("--in", f->in, "input file (standard input when left out)");
  command->add_option("--in_format", f->in_format, "01, b8, r8, ptb64, hits or dets")->required();
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command
      ->add_option("--out_format", f->out_format,
                   "01, b8, r8, ptb64, hits, dets, sparse, counts or pairs")
      ->required();
  command->add_option("--circuit", f->circuit,
                      "takes the numbers of bits from this circuit (with --types)");
  command->add_option("--types", f->types,
                      "which of the circuit's bits a shot holds: letters of MDL");
  add_number_flag(*command, "--num_measurements", f->measurements, "measurements a shot");
  add_number_flag(*command, "--num_detectors", f->detectors, "detectors a shot");
  add_number_flag(*command, "--num_observables", f->observables, "observables a shot");
  add_number_flag(*command, "--bits_per_shot", f->bits, "bits a shot when they have no type");
  command->add_option("--obs_out", f->obs_out, "a file of their own for the observables");
  command->add_option("--obs_out_format", f->obs_out_format, "its format")->capture_default_str();
  command->callback([f] {
    need_distinct_files({f->circuit, f->in}, {{"--out", f->out}, {"--obs_out", f->obs_out}});
    io::ShotLayout layout;
    layout.measurements = f->measurements + f->bits;
    layout.detectors = f->detectors;
    layout.observables = f->observables;
    if (!f->circuit.empty()) {
      StimFile file(f->circuit, "rb");
      const circuit::StabCounts counts = io::parse_stim(file.read_all(), file.name()).counts();
      if (f->types.empty())
        throw Error(ExitCode::kUsage, "--circuit needs --types, for example --types DL");
      for (char t : f->types) {
        if (t == 'M')
          layout.measurements = counts.measurements;
        else if (t == 'D')
          layout.detectors = counts.detectors;
        else if (t == 'L')
          layout.observables = counts.observables;
        else
          throw Error(ExitCode::kUsage, "--types takes letters of MDL");
      }
    }
    if (layout.bits() == 0)
      throw Error(ExitCode::kUsage,
                  "the bits of a shot are not known: use --circuit and --types, --bits_per_shot or "
                  "--num_detectors");
    StimFile in(f->in, "rb"), out(f->out, "wb");
    io::ShotReader reader(in.get(), in.name(), io::parse_shot_format(f->in_format), layout);
    const io::ShotFormat to = io::parse_shot_format(f->out_format),
                         obs_to = io::parse_shot_format(f->obs_out_format);
    io::ShotLayout most = layout, observables;  // what goes to --out and to --obs_out
    std::unique_ptr<StimFile> obs;
    if (!f->obs_out.empty()) {
      if (io::is_summary(to) || io::is_summary(obs_to))
        throw Error(ExitCode::kUsage, "counts and pairs cannot be combined with --obs_out");
      observables.observables = layout.observables;
      most.observables = 0;
      obs = std::make_unique<StimFile>(f->obs_out, "wb");
    }
    const io::ShotFormatter format(to, most), obs_format(obs_to, observables);
    std::unique_ptr<io::ShotSummary> summary;
    if (io::is_summary(to)) summary = std::make_unique<io::ShotSummary>(to, layout);
    std::vector<std::uint8_t> rows, part;
    io::ByteBuffer bytes;
    while (true) {
      rows.clear(), bytes.clear();
      const std::size_t n = reader.read(1024, rows);
      if (n == 0) break;
      if (summary) {
        summary->add(rows.data(), layout.bytes(), n);
        continue;
      }
      const auto write = [&](StimFile& file, const io::ShotFormatter& formatter,
                             std::uint64_t first, const io::ShotLayout& bits) {
        io::cut_rows(rows.data(), layout.bytes(), n, first, bits.bits(), part);
        bytes.clear();
        formatter.append(part.data(), bits.bytes(), n, bytes);
        file.write(bytes.data(), bytes.size());
      };
      write(out, format, 0, most);
      if (obs) write(*obs, obs_format, most.bits(), observables);
    }
    if (summary) out.write(summary->text());
    out.flush();
    if (obs) obs->flush();
  });
}

}  // namespace tilewave::cli
