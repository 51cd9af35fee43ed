// tilewave sample_dem: detection events drawn from a detector error model, or of errors drawn
// before.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/shot_run.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/dem_text.h"
#include "tilewave/stabilizer/model_rows.h"
#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::cli {
namespace {

using stabilizer::ModelRows;

struct Flags : SampleFlags {
  bool append = false;
  std::string obs_out, obs_out_format = "01", err_out, err_out_format = "01", replay,
                       replay_format = "01";
};

ModelRows read_model(const Flags& f, std::uint64_t& fingerprint) {
  StimFile in(f.in, "rb");
  const std::string text = in.read_all();
  fingerprint = fingerprint_of(std::as_bytes(std::span(text)));
  return stabilizer::model_rows(language::parse_dem(text, in.name()), !f.err_out.empty(),
                                in.name());
}

// The shots whose errors a file tells.
void replay(const Flags& f, const ModelRows& m, const std::vector<ShotSinkSpec>& sinks) {
  formats::ShotLayout errors;
  errors.measurements = m.errors.size();
  StimFile in(f.replay, "rb");
  formats::ShotReader reader(in.get(), in.name(), formats::parse_shot_format(f.replay_format),
                             errors);
  std::vector<formats::ShotFormatter> formatters;
  for (const ShotSinkSpec& s : sinks) formatters.emplace_back(s.format, s.layout);
  const std::uint64_t bytes = m.row_bytes();
  std::vector<std::uint8_t> drawn, rows, part;
  formats::ByteBuffer text;
  const std::size_t at_once = formats::shots_at_once(
      errors, {formats::parse_shot_format(f.replay_format), sinks.front().format,
               sinks[sinks.size() / 2].format, sinks.back().format});  // at most three
  for (std::uint64_t done = 0; done < f.shots;) {
    drawn.clear();
    const std::size_t n = reader.read(at_once, drawn);
    if (n == 0) {
      fail(ExitCode::kInput, in.name(), ": the file has ", done,
           " shots of errors: use a smaller --shots");
    }
    const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(n, f.shots - done));
    rows.resize(used * bytes);
    m.replay(drawn.data(), errors.bytes(), used, rows.data());
    for (std::size_t k = 0; k < sinks.size(); ++k) {
      formats::cut_rows(rows.data(), bytes, used, sinks[k].first_bit, sinks[k].layout.bits(), part);
      text.clear();
      formatters[k].append(part.data(), sinks[k].layout.bytes(), used, text);
      sinks[k].file->write(text.data(), text.size());
    }
    done += used;
  }
  for (const ShotSinkSpec& s : sinks) s.file->flush();
}

void sample_dem(const Flags& f) {
  const OutputFile shots{"--out", f.out}, observables{"--obs_out", f.obs_out},
      errors{"--err_out", f.err_out};
  need_distinct_files({f.in, f.replay}, {shots, observables, errors});
  need_no_checkpoints({f.checkpoint, f.resume}, {shots, observables, errors});
  auto options = sample_options(f, stabilizer::ShotOutput::kDetectors);
  std::uint64_t input = 0;
  const ModelRows m = read_model(f, input);
  if (!f.replay.empty() && !(f.checkpoint.empty() && f.resume.empty()))
    fail(ExitCode::kUsage, "shots that are replayed are not kept: leave out --checkpoint");
  if (!f.replay.empty() && f.faults) {
    fail(ExitCode::kUsage,
         "shots that are replayed have the errors of the file: leave out --faults");
  }
  Fingerprint outputs;
  outputs.add(std::string_view("sample_dem")).add(std::uint64_t{f.append});
  for (const auto& [path, format] :
       {std::pair(&f.obs_out, &f.obs_out_format), std::pair(&f.err_out, &f.err_out_format)})
    outputs.add(std::string_view(path->empty() ? "" : *format));
  ShotRun run(f, input, outputs.value(), options);
  StimFile out(f.out, run.mode());
  std::vector<std::unique_ptr<StimFile>> files;
  std::vector<ShotSinkSpec> sinks(1);
  sinks[0].layout.detectors = m.num_detectors;
  if (f.append) sinks[0].layout.observables = m.num_observables;
  sinks[0].file = &out;
  sinks[0].format = formats::parse_shot_format(f.out_format);
  const auto also = [&](const std::string& path, const std::string& format) -> ShotSinkSpec& {
    ShotSinkSpec& s = sinks.emplace_back();
    s.format = formats::parse_shot_format(format);
    files.push_back(std::make_unique<StimFile>(path, run.mode()));
    s.file = files.back().get();
    return s;
  };
  if (!f.obs_out.empty()) {
    ShotSinkSpec& s = also(f.obs_out, f.obs_out_format);
    s.layout.observables = m.num_observables;
    s.first_bit = m.num_detectors;
  }
  if (m.with_errors) {
    ShotSinkSpec& s = also(f.err_out, f.err_out_format);
    s.layout.measurements = m.errors.size();
    s.first_bit = m.first_error();
  }
  for (const ShotSinkSpec& s : sinks) {
    if (formats::is_summary(s.format) && (sinks.size() > 1 || !f.replay.empty())) {
      fail(ExitCode::kUsage, "counts and pairs cannot be combined with other files of shots");
    }
  }
  if (!f.replay.empty()) return replay(f, m, sinks);
  const auto source = stabilizer::make_shot_source(m, options);
  if (f.explain) return out.write(source->explain());
  say_fault_weight(*source, f.quiet);
  write_shots(*source, options, sinks, f.quiet, run);
}

}  // namespace

void add_sample_dem_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("sample_dem", "detection events of a detector error model");
  auto f = std::make_shared<Flags>();
  add_sample_flags(*command, *f, {"auto", "sparse"});  // a model has no gates for frames
  command->add_flag("--append_observables", f->append, "observables behind the detectors");
  const auto file = [&](const char* name, std::string& path, std::string& format,
                        const char* help) {
    command->add_option(name, path, help);
    command->add_option(std::string(name) + "_format", format, "its format")->capture_default_str();
  };
  file("--obs_out", f->obs_out, f->obs_out_format, "a file of their own for the observables");
  file("--err_out", f->err_out, f->err_out_format,
       "a file for the errors that happened, a bit for each of the model");
  file("--replay_err_in", f->replay, f->replay_format,
       "errors of such a file instead of drawn ones");
  command->callback([f] { sample_dem(*f); });
}

}  // namespace tilewave::cli
