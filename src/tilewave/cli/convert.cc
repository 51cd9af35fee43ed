// tilewave convert: shots from one format into another, circuits into another tool's dialect.
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/language/stim/dialect.h"
#include "tilewave/language/stim/text.h"

namespace tilewave::cli {

namespace {

struct ConvertFlags {
  std::string in, in_format = "01", out, out_format = "01", circuit, dem, types, obs_out,
                  obs_out_format = "01", dialect;
  std::optional<std::uint64_t> measurements, detectors, observables, bits;  // those given
};

// The bits of a shot, from the numbers given, a circuit or an error model.
formats::ShotLayout layout_of(const ConvertFlags& f) {
  formats::ShotLayout layout;
  layout.measurements = f.measurements.value_or(0) + f.bits.value_or(0);
  layout.detectors = f.detectors.value_or(0);
  layout.observables = f.observables.value_or(0);
  if (!f.circuit.empty() && !f.dem.empty())
    fail(ExitCode::kUsage, "use one of --circuit and --dem");
  formats::ShotLayout known;  // all there are
  if (!f.circuit.empty()) {
    StimFile file(f.circuit, "rb");
    const circuit::StabCounts counts = language::parse_stim(file.read_all(), file.name()).counts();
    known = {counts.measurements, counts.detectors, counts.observables};
    if (f.types.empty()) fail(ExitCode::kUsage, "--circuit needs --types, for example --types DL");
  } else if (!f.dem.empty()) {
    StimFile file(f.dem, "rb");
    const circuit::ModelSize size =
        circuit::size_of(language::parse_dem(file.read_all(), file.name()));
    known = {0, size.detectors, size.observables};
  } else if (!f.types.empty()) {
    fail(ExitCode::kUsage, "--types chooses among the bits of --circuit or --dem");
  }
  for (char t : f.types.empty() && !f.dem.empty() ? "DL" : f.types) {
    if (t == 'M' && f.dem.empty())
      layout.measurements = known.measurements;
    else if (t == 'D')
      layout.detectors = known.detectors;
    else if (t == 'L')
      layout.observables = known.observables;
    else
      fail(ExitCode::kUsage, f.dem.empty() ? "--types takes letters of MDL"
                                           : "--types of an error model takes D and L");
  }
  // A shot may have no bits, where somebody said so.
  if (f.circuit.empty() && f.dem.empty() && !f.measurements && !f.detectors && !f.observables &&
      !f.bits) {
    fail(ExitCode::kUsage,
         "the bits of a shot are not known: use --circuit and --types, --dem, --bits_per_shot or "
         "--num_detectors");
  }
  return layout;
}

void convert_circuit(const ConvertFlags& f, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool is_of_circuits = name == "--to" || name == "--in" || name == "--out";
    if (option->count() > 0 && !is_of_circuits && !name.starts_with("--max-"))
      fail(ExitCode::kUsage, name, " is of shots, and --to converts a circuit: use one");
  }
  need_distinct_files({f.in}, {{"--out", f.out}});
  StimFile in(f.in, "rb");
  const std::string text = language::print_dialect(language::parse_stim(in.read_all(), in.name()),
                                                   language::parse_dialect(f.dialect), in.name());
  StimFile out(f.out, "whole");
  out.write(text);
  out.done();
}

}  // namespace

void add_convert_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "convert", "turns shots from one format into another, circuits into another tool's dialect");
  auto f = std::make_shared<ConvertFlags>();
  command->add_option("--in", f->in, "input file (standard input when left out)");
  command->add_option("--in_format", f->in_format, "01, b8, r8, ptb64, hits or dets")
      ->capture_default_str();
  command->add_option("--out", f->out, "output file (standard output when left out)");
  command
      ->add_option("--out_format", f->out_format,
                   "01, b8, r8, ptb64, hits, dets, sparse, counts or pairs")
      ->capture_default_str();
  command->add_option("--circuit", f->circuit,
                      "takes the numbers of bits from this circuit (with --types)");
  command->add_option("--dem", f->dem,
                      "takes the numbers of detectors and observables from this error model");
  command->add_option("--types", f->types,
                      "which bits of the circuit or model a shot holds: letters of MDL");
  const auto size = [&](const char* name, std::optional<std::uint64_t>& to, const char* help) {
    add_number_flag(
        *command, name, [&to](std::uint64_t v) { to = v; }, help, 0, formats::kMostShotBits);
  };
  size("--num_measurements", f->measurements, "measurements a shot");
  size("--num_detectors", f->detectors, "detectors a shot");
  size("--num_observables", f->observables, "observables a shot");
  size("--bits_per_shot", f->bits, "bits a shot when they have no type");
  command->add_option("--obs_out", f->obs_out, "a file of their own for the observables");
  command->add_option("--obs_out_format", f->obs_out_format, "its format")->capture_default_str();
  command
      ->add_option(
          "--to", f->dialect,
          "the input is a circuit in Stim's language, to be written for this tool: what it "
          "lacks is written exactly with instructions that it has, or refused")
      ->check(CLI::IsMember(std::vector<std::string>(language::dialect_names().begin(),
                                                     language::dialect_names().end())));
  command->callback([f, command] {
    if (!f->dialect.empty()) return convert_circuit(*f, *command);
    need_distinct_files({f->circuit, f->dem, f->in},
                        {{"--out", f->out}, {"--obs_out", f->obs_out}});
    const formats::ShotFormat to = formats::parse_shot_format(f->out_format),
                              obs_to = formats::parse_shot_format(f->obs_out_format);
    const formats::ShotLayout layout = layout_of(*f);
    if (f->bits.value_or(0) > 0 &&
        (to == formats::ShotFormat::kDets || obs_to == formats::ShotFormat::kDets)) {
      fail(ExitCode::kUsage,
           "dets says of every bit what it is, and --bits_per_shot does not: use "
           "--num_measurements, --num_detectors and --num_observables, --circuit or --dem");
    }
    StimFile in(f->in, "rb"), out(f->out, "whole");
    formats::ShotReader reader(in.get(), in.name(), formats::parse_shot_format(f->in_format),
                               layout);
    formats::ShotLayout most = layout, observables;  // what goes to --out and to --obs_out
    std::unique_ptr<StimFile> obs;
    if (!f->obs_out.empty()) {
      if (formats::is_summary(to) || formats::is_summary(obs_to))
        fail(ExitCode::kUsage, "counts and pairs cannot be combined with --obs_out");
      observables.observables = layout.observables;
      most.observables = 0;
      obs = std::make_unique<StimFile>(f->obs_out, "whole");
    }
    const formats::ShotFormatter format(to, most), obs_format(obs_to, observables);
    std::unique_ptr<formats::ShotSummary> summary;
    if (formats::is_summary(to)) summary = std::make_unique<formats::ShotSummary>(to, layout);
    const std::size_t at_once =
        formats::shots_at_once(layout, {formats::parse_shot_format(f->in_format), to, obs_to});
    std::vector<std::uint8_t> rows, part;
    formats::ByteBuffer bytes;
    while (true) {
      rows.clear(), bytes.clear();
      const std::size_t n = reader.read(at_once, rows);
      if (n == 0) break;
      if (summary) {
        summary->add(rows.data(), layout.bytes(), n);
        continue;
      }
      const auto write = [&](StimFile& file, const formats::ShotFormatter& formatter,
                             std::uint64_t first, const formats::ShotLayout& bits) {
        formats::cut_rows(rows.data(), layout.bytes(), n, first, bits.bits(), part);
        bytes.clear();
        formatter.append(part.data(), bits.bytes(), n, bytes);
        file.write(bytes.data(), bytes.size());
      };
      write(out, format, 0, most);
      if (obs) write(*obs, obs_format, most.bits(), observables);
    }
    if (summary) out.write(summary->text());
    if (obs) obs->flush();  // neither gets its name where the other one fails
    out.done();
    if (obs) obs->done();
  });
}

}  // namespace tilewave::cli
