// tilewave sample_dem: detection events drawn from a detector error model, or of errors drawn
// before.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/cli/stim_files.h"
#include "tilewave/language/stim/dem_text.h"

namespace tilewave::cli {
namespace {

struct Flags : SampleFlags {
  bool append = false;
  std::string obs_out, obs_out_format = "01", err_out, err_out_format = "01", replay,
                       replay_format = "01";
};

// A row: detectors, observables, and where they are asked for, a bit of its own for every error.
struct Model {
  circuit::FlatModel flat;
  std::vector<stabilizer::IndependentError> errors;
  bool with_errors = false;
  std::uint64_t first_error() const { return flat.num_detectors + flat.num_observables; }
};

Model read_model(const Flags& f) {
  StimFile in(f.in, "rb");
  constexpr std::uint64_t kMostBits = std::uint64_t{1} << 31;  // of the sparse engine
  Model m;
  m.flat = circuit::flatten(language::parse_dem(in.read_all(), in.name()));
  m.with_errors = !f.err_out.empty();
  const std::uint64_t bits =
      saturating_add(saturating_add(m.flat.num_detectors, m.flat.num_observables),
                     m.with_errors ? m.flat.errors.size() : 0);
  if (bits >= kMostBits) {
    throw Error(ExitCode::kResources, in.name() + ": shots of " + std::to_string(bits) +
                                          " bits are too large, below 2^31 are sampled: shorten "
                                          "the model's repeat blocks");
  }
  m.errors.reserve(m.flat.errors.size());
  for (const circuit::FlatError& e : m.flat.errors) {
    auto& to = m.errors.emplace_back();
    to.probability = e.probability;
    for (std::uint64_t d : e.detectors) to.bits.push_back(static_cast<std::uint32_t>(d));
    for (std::uint64_t l : e.observables)
      to.bits.push_back(static_cast<std::uint32_t>(m.flat.num_detectors + l));
    if (m.with_errors)
      to.bits.push_back(static_cast<std::uint32_t>(m.first_error() + m.errors.size() - 1));
  }
  return m;
}

// The shots whose errors a file tells.
void replay(const Flags& f, const Model& m, const std::vector<ShotSinkSpec>& sinks) {
  formats::ShotLayout errors;
  errors.measurements = m.errors.size();
  StimFile in(f.replay, "rb");
  formats::ShotReader reader(in.get(), in.name(), formats::parse_shot_format(f.replay_format),
                             errors);
  std::vector<formats::ShotFormatter> formatters;
  for (const ShotSinkSpec& s : sinks) formatters.emplace_back(s.format, s.layout);
  const std::uint64_t bits = m.first_error() + (m.with_errors ? m.errors.size() : 0),
                      bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> drawn, rows, part;
  formats::ByteBuffer text;
  const std::size_t at_once = formats::shots_at_once(
      errors, {formats::parse_shot_format(f.replay_format), sinks.front().format,
               sinks[sinks.size() / 2].format, sinks.back().format});  // at most three
  for (std::uint64_t done = 0; done < f.shots;) {
    drawn.clear();
    const std::size_t n = reader.read(at_once, drawn);
    if (n == 0) {
      throw Error(ExitCode::kInput, in.name() + ": the file has " + std::to_string(done) +
                                        " shots of errors: use a smaller --shots");
    }
    const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(n, f.shots - done));
    rows.assign(used * bytes, 0);
    for (std::size_t s = 0; s < used; ++s) {
      const std::uint8_t* from = drawn.data() + s * errors.bytes();
      for (std::size_t e = 0; e < m.errors.size(); ++e) {
        if (!((from[e / 8] >> (e % 8)) & 1)) continue;
        for (std::uint32_t b : m.errors[e].bits)
          rows[s * bytes + b / 8] ^= static_cast<std::uint8_t>(1u << (b % 8));
      }
    }
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
  need_distinct_files({f.in, f.replay},
                      {{"--out", f.out}, {"--obs_out", f.obs_out}, {"--err_out", f.err_out}});
  const auto options = sample_options(f, stabilizer::ShotOutput::kDetectors);
  const Model m = read_model(f);
  StimFile out(f.out, "wb");
  std::vector<std::unique_ptr<StimFile>> files;
  std::vector<ShotSinkSpec> sinks(1);
  sinks[0].layout.detectors = m.flat.num_detectors;
  if (f.append) sinks[0].layout.observables = m.flat.num_observables;
  sinks[0].file = &out;
  sinks[0].format = formats::parse_shot_format(f.out_format);
  const auto also = [&](const std::string& path, const std::string& format) -> ShotSinkSpec& {
    ShotSinkSpec& s = sinks.emplace_back();
    s.format = formats::parse_shot_format(format);
    files.push_back(std::make_unique<StimFile>(path, "wb"));
    s.file = files.back().get();
    return s;
  };
  if (!f.obs_out.empty()) {
    ShotSinkSpec& s = also(f.obs_out, f.obs_out_format);
    s.layout.observables = m.flat.num_observables;
    s.first_bit = m.flat.num_detectors;
  }
  if (m.with_errors) {
    ShotSinkSpec& s = also(f.err_out, f.err_out_format);
    s.layout.measurements = m.errors.size();
    s.first_bit = m.first_error();
  }
  for (const ShotSinkSpec& s : sinks) {
    if (formats::is_summary(s.format) && (sinks.size() > 1 || !f.replay.empty())) {
      throw Error(ExitCode::kUsage,
                  "counts and pairs cannot be combined with other files of shots");
    }
  }
  if (!f.replay.empty()) return replay(f, m, sinks);
  const auto source = stabilizer::make_shot_source(
      stabilizer::build_sparse(m.errors, m.flat.num_detectors,
                               m.flat.num_observables + (m.with_errors ? m.errors.size() : 0)),
      options.gpus);
  if (f.explain) return out.write(source->explain());
  write_shots(*source, options, sinks, f.quiet);
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
