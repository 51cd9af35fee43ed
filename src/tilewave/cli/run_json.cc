// A run as JSON. Keys that were not asked for are absent, except counts (then empty).
#include <cstdio>

#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/cli/run_report.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/simulate/report_page.h"

namespace tilewave::cli {
namespace {

using nlohmann::ordered_json;

ordered_json plan_json(const simulate::Result& r, const ReportOptions& report) {
  ordered_json plan = {{"passes", r.plan.passes},
                       {"gates", r.plan.gates},
                       {"bytes", r.plan.bytes},
                       {"flops", r.plan.flops},
                       {"predicted_s", r.plan.predicted_s},
                       {"effort", name_of(r.plan.effort)}};
  if (!r.plan.predicted_for.empty()) plan["predicted_for"] = r.plan.predicted_for;
  if (r.num_ranks > 1) {
    plan["exchanges"] = r.plan.exchanges;
    plan["exchange_bytes"] = r.plan.exchange_bytes;
  }
  if (!report.dry_run) plan["branches"] = r.num_branches;
  if (!r.plan.text.empty()) plan["text"] = r.plan.text;
  return plan;
}

ordered_json profile_json(const simulate::Result& r) {
  ordered_json steps = ordered_json::object();
  for (const auto& [name, p] : r.profile) {
    steps[name] = {{"calls", p.calls},
                   {"min_s", p.min_s},
                   {"mean_s", p.total_s / static_cast<double>(p.calls)},
                   {"max_s", p.max_s},
                   {"total_s", p.total_s},
                   {"bytes", p.bytes},
                   {"predicted_s", p.predicted_s}};
  }
  return steps;
}

// The keys are distinct and in order: put behind each other, without looking through those before.
ordered_json counts_json(const simulate::Result& r) {
  ordered_json counts = ordered_json::object();
  auto& entries = static_cast<std::vector<std::pair<const std::string, ordered_json>>&>(
      counts.get_ref<ordered_json::object_t&>());
  entries.reserve(r.counts.size());
  for (const auto& [key, count] : r.counts) entries.emplace_back(key, count);
  return counts;
}

ordered_json run_json(const simulate::Result& r, const simulate::Options& asked,
                      const ReportOptions& report) {
  ordered_json out;
  out["num_qubits"] = r.num_qubits;
  const bool stabilizer = r.engine == "stabilizer";
  out["engine"] = r.engine;
  if (!r.engine_choice.empty()) out["engine_choice"] = r.engine_choice;
  if (!r.transport.empty()) out["transport"] = r.transport;
  if (r.num_trajectories) out["trajectories"] = r.num_trajectories;
  if (!stabilizer)
    out["precision"] = r.precision == statevec::Precision::kDouble ? "double" : "single";
  out["device"] = r.device;
  out["seed"] = r.seed;
  out["shots"] = r.shots;
  out["bit_order"] = "little";
  if (!report.dry_run) {
    out["counts"] = counts_json(r);
    if (asked.probabilities) out["probabilities"] = r.probabilities;
    if (!r.probability_errors.empty()) out["probability_errors"] = r.probability_errors;
    if (!r.joint_probabilities.empty()) {
      out["probability_qubits"] = asked.probability_qubits;
      out["joint_probabilities"] = r.joint_probabilities;
    }
    if (!asked.amplitudes.empty()) {
      out["amplitudes"] = ordered_json::array();
      for (const auto& a : r.amplitudes) {
        out["amplitudes"].push_back(
            {{"index", a.index}, {"re", a.value.real()}, {"im", a.value.imag()}});
      }
    }
    if (!asked.observables.empty()) {
      out["expectations"] = r.expectations;
      out["expectation_sum"] = r.expectation_sum;
      if (!r.expectation_errors.empty()) {
        out["expectation_errors"] = r.expectation_errors;
        out["expectation_sum_error"] = r.expectation_sum_error;
      }
    }
    if (!stabilizer && r.num_branches > 0) out["norm"] = r.norm;
    if (r.shot_deviation > 0) out["shot_deviation"] = r.shot_deviation;
  }
  if (r.num_ranks > 1) out["ranks"] = r.num_ranks;
  out["memory_bytes"] = r.memory_bytes;
  out["plan"] = plan_json(r, report);
  out["timings_s"] = {{"parse", r.timings.parse_s},
                      {"plan", r.timings.plan_s},
                      {"execute", r.timings.execute_s},
                      {"observe", r.timings.observe_s}};
  for (const RunTimes& run : report.runs) {
    out["runs"].push_back({{"passes", run.passes},
                           {"effort", name_of(run.effort)},
                           {"plan_s", run.plan_s},
                           {"execute_s", run.execute_s},
                           {"observe_s", run.observe_s}});
  }
  if (report.profile) out["profile"] = profile_json(r);
  if (!r.warnings.empty()) out["warnings"] = r.warnings;
  if (!report.page_path.empty()) {
    out["limit_bytes_per_s"] = report.limit_bytes_per_s;
    out["steps"] = ordered_json::array();
    for (const auto& step : r.steps) {
      out["steps"].push_back({{"step", step.step},
                              {"bytes", step.bytes},
                              {"predicted_s", step.predicted_s},
                              {"measured_s", step.measured_s}});
    }
  }
  return out;
}

}  // namespace

void print_run_json(const simulate::Result& r, const simulate::Options& asked,
                    const ReportOptions& report) {
  std::printf("%s\n", run_json(r, asked, report).dump(1, ' ').c_str());
}

void write_run_page(const simulate::Result& r, const simulate::Options& asked,
                    const ReportOptions& report) {
  ordered_json json = {{"title", report.title}};
  json.update(run_json(r, asked, report));
  json["seed"] = std::to_string(r.seed);  // a script's numbers have 53 bits
  for (const circuit::WidePauliTerm& term : asked.observables) {
    json["observables"].push_back(language::to_text(term, report.pauli_order, r.num_qubits));
  }
  const std::string page =
      simulate::report_page(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  write_whole_file(report.page_path, page);
}

}  // namespace tilewave::cli
