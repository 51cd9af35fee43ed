#include "tilewave/cli/strata.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/signals.h"
#include "tilewave/runtime/progress.h"
#include "tilewave/runtime/timer.h"
#include "tilewave/settings/words.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/sample/strata.h"

namespace tilewave::cli {
namespace {

using nlohmann::ordered_json;
using stabilizer::Estimate;
using stabilizer::StrataTable;
using stabilizer::Stratum;

ordered_json json_of(const Estimate& e) {
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}};
}

std::string json_text(const StrataTable& table, const stabilizer::SampleOptions& options,
                      const StrataFlags& flags) {
  ordered_json out = {{"attempted", table.attempted},
                      {"seed", options.seed},
                      {"fault_distance", flags.fault_distance},
                      {"confidence", table.confidence},
                      {"kept", json_of(table.kept)}};
  ordered_json errors = ordered_json::object();
  for (std::size_t l = 0; l < table.errors.size(); ++l)
    errors["L" + std::to_string(l)] = json_of(table.errors[l]);
  errors["any"] = json_of(table.any_error);
  out["errors"] = std::move(errors);
  out["strata"] = ordered_json::array();
  for (const Stratum& s : table.strata) {
    out["strata"].push_back({{"faults", words_of(s.faults)},
                             {"weight", s.weight},
                             {"attempted", s.attempted},
                             {"kept", s.kept},
                             {"errors", s.errors},
                             {"any_error", s.any_error}});
  }
  return out.dump(1, ' ') + "\n";
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// The strata, a line each. The estimates follow from them.
std::string csv_text(const StrataTable& table) {
  std::string text = "faults,weight,attempted,kept";
  for (std::size_t l = 0; l < table.errors.size(); ++l) text += ",L" + std::to_string(l);
  text += ",any\n";
  for (const Stratum& s : table.strata) {
    text += words_of(s.faults) + "," + number_text(s.weight) + "," + std::to_string(s.attempted) +
            "," + std::to_string(s.kept);
    for (const std::uint64_t e : s.errors) text += "," + std::to_string(e);
    text += "," + std::to_string(s.any_error) + "\n";
  }
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", 100 * share);
  return std::string(text) + "%";
}

void say(const char* what, const Estimate& e, double confidence) {
  std::fprintf(stderr, "%s %.6g, with %s confidence between %.6g and %.6g\n", what, e.value,
               percent(confidence).c_str(), e.low, e.high);
}

}  // namespace

void add_strata_flags(CLI::App& command, StrataFlags& f) {
  command.add_option("--strata", f.strata,
                     "importance sampling by the number of faults: counts and estimates, as JSON "
                     "or with --out_format csv; auto, or numbers such as 2-7,8+, the rest becomes "
                     "strata too");
  add_number_flag(command, "--fault_distance", f.fault_distance,
                  "with --strata: no kept shot with fewer faults is wrong")
      ->default_str("0");
  command
      .add_option_function<std::string>(
          "--allocation",
          [&f](const std::string& name) {
            if (name != "neyman" && name != "even") {
              fail(ExitCode::kUsage, "unknown allocation ", tilewave::quoted(name),
                   ": use neyman or even");
            }
            f.allocation = name;
          },
          "with --strata: neyman gives a stratum shots by what it adds to the error of the result, "
          "even gives all as many")
      ->default_str("neyman");
  command.add_option("--confidence", f.confidence, "with --strata: of the intervals")
      ->check(CLI::Range(0.5, 0.999999))
      ->capture_default_str();
}

void write_strata(const stabilizer::StabProgram& program, stabilizer::SampleOptions options,
                  const StrataFlags& flags, const std::optional<std::string>& format,
                  const SampleFlags& shared) {
  if (format && *format != "json" && *format != "csv") {
    fail(ExitCode::kUsage, "--strata writes a table and no shots: use --out_format json or csv");
  }
  options.faults = stabilizer::FaultRange{};
  const auto source = stabilizer::make_shot_source(program, options);
  const auto strata =
      stabilizer::parse_strata(*flags.strata, *source->faults(), flags.fault_distance);
  StimFile out(shared.out, "whole");
  if (shared.explain) {
    std::string text = source->explain() + "strata";
    for (const stabilizer::FaultRange& range : strata) text += " " + words_of(range);
    out.write(text + "\n");
    return out.done();
  }
  stabilizer::StrataOptions how{options};
  how.num_detectors = program.counts.detectors;
  how.num_observables = program.counts.observables;
  how.fault_distance = flags.fault_distance;
  how.even = flags.allocation == "even";
  how.confidence = flags.confidence;
  StrataTable table;
  {
    const NotedSignals signals;
    runtime::Timer timer;
    runtime::ProgressBar bar(stderr, !shared.quiet && runtime::wants_progress(stderr));
    table = stabilizer::sample_strata(*source, strata, how, [&](std::uint64_t done) {
      const double share = static_cast<double>(done) / static_cast<double>(how.num_shots);
      bar.update(share, timer.elapsed_s() * (1 / share - 1));
      return NotedSignals::noted() == 0;
    });
    bar.clear();
  }
  out.write(format == "csv" ? csv_text(table) : json_text(table, options, flags));
  out.done();
  if (!shared.quiet) {
    say("kept", table.kept, table.confidence);
    if (program.counts.observables > 0)
      say("errors of kept shots", table.any_error, table.confidence);
  }
  if (!NotedSignals::noted()) return;
  std::fprintf(stderr, "interrupted: the table is of the %llu shots attempted\n",
               static_cast<unsigned long long>(table.attempted));
  NotedSignals::raise_noted();
}

}  // namespace tilewave::cli
