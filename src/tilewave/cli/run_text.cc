// A run for people.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tilewave/base/read_double.h"
#include "tilewave/base/units.h"
#include "tilewave/cli/run_report.h"
#include "tilewave/language/pauli/text.h"
#include "tilewave/runtime/memory.h"

namespace tilewave::cli {
namespace {

constexpr std::size_t kMostRows = 16;
constexpr int kBarWidth = 40;

// "1 pass", "3 passes", "2 qubits"
std::string in_number(std::uint64_t count, const std::string& noun) {
  const char* many = noun.ends_with('s') ? "es" : "s";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : many);
}

struct Row {
  std::string label;
  double share;  // of the whole, in [0, 1]
  std::string value;
};

// Largest first; a bar is relative to the largest.
void print_bars(std::vector<Row> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.share > b.share; });
  const std::size_t shown = std::min(rows.size(), kMostRows);
  std::size_t value_width = 0;
  for (std::size_t k = 0; k < shown; ++k) value_width = std::max(value_width, rows[k].value.size());
  for (std::size_t k = 0; k < shown; ++k) {
    const Row& row = rows[k];
    const double relative = rows[0].share > 0 ? row.share / rows[0].share : 0;
    const int length =
        row.share > 0 ? std::max(1, static_cast<int>(relative * kBarWidth + 0.5)) : 0;
    std::printf("%s  %*s  %5.1f%%  %s\n", row.label.c_str(), static_cast<int>(value_width),
                row.value.c_str(), 100 * row.share,
                std::string(static_cast<std::size_t>(length), '#').c_str());
  }
  if (rows.size() > shown) std::printf("... and %zu more outcomes\n", rows.size() - shown);
}

void print_counts(const simulate::Result& r) {
  std::vector<Row> rows;
  for (const auto& [key, count] : r.counts) {
    rows.push_back(
        {key, static_cast<double>(count) / static_cast<double>(r.shots), std::to_string(count)});
  }
  print_bars(std::move(rows));
}

std::string twelve_digits(double value) {
  return write_double(value, std::chars_format::general, 12);
}

// " +- 0.0012" where a number is a mean over several trajectories.
std::string error_text(const std::vector<double>& errors, std::size_t k) {
  if (errors.empty() || std::isnan(errors[k])) return "";
  return " +- " + write_double(errors[k], std::chars_format::general, 2);
}

void print_probabilities(const simulate::Result& r, const simulate::Options& asked) {
  const auto& chosen = asked.probability_qubits;
  for (std::size_t k = 0; k < r.probabilities.size(); ++k) {
    std::printf("P(q%zu = 1) = %s%s\n", chosen.empty() ? k : static_cast<std::size_t>(chosen[k]),
                twelve_digits(r.probabilities[k]).c_str(),
                error_text(r.probability_errors, k).c_str());
  }
  if (r.joint_probabilities.empty()) return;
  std::string order;
  for (std::size_t j = chosen.size(); j-- > 0;) order += " q" + std::to_string(chosen[j]);
  std::printf("jointly, as%s:\n", order.c_str());
  std::vector<Row> rows;
  for (std::size_t x = 0; x < r.joint_probabilities.size(); ++x) {
    if (r.joint_probabilities[x] < 1e-12) continue;
    std::string label;
    for (std::size_t j = chosen.size(); j-- > 0;) label.push_back(x >> j & 1 ? '1' : '0');
    rows.push_back({label, r.joint_probabilities[x], nine_digits(r.joint_probabilities[x])});
  }
  print_bars(std::move(rows));
}

void print_expectations(const simulate::Result& r, const simulate::Options& asked,
                        const ReportOptions& report) {
  const std::size_t shown = std::min(r.expectations.size(), kMostRows);
  for (std::size_t k = 0; k < shown; ++k) {
    std::printf("<%s> = %s%s\n",
                language::to_text(asked.observables[k], report.pauli_order, r.num_qubits).c_str(),
                twelve_digits(r.expectations[k]).c_str(),
                error_text(r.expectation_errors, k).c_str());
  }
  if (r.expectations.size() > shown) {
    std::printf("... and %zu more terms (--json prints all)\n", r.expectations.size() - shown);
  }
  std::printf("expectation sum = %s%s\n", twelve_digits(r.expectation_sum).c_str(),
              r.expectation_errors.empty() ? "" : error_text({r.expectation_sum_error}, 0).c_str());
}

void print_profile(const simulate::Result& r) {
  double whole_s = 0;
  for (const auto& [name, p] : r.profile) whole_s += p.total_s;
  std::printf("%-14s %7s %10s %10s %10s %7s %10s %10s\n", "step", "calls", "min", "mean", "max",
              "share", "measured", "predicted");
  for (const auto& [name, p] : r.profile) {
    std::printf("%-14s %7llu %10s %10s %10s %6.1f%% %10s %10s\n", name.c_str(),
                static_cast<unsigned long long>(p.calls), in_time(p.min_s).c_str(),
                in_time(p.total_s / static_cast<double>(p.calls)).c_str(), in_time(p.max_s).c_str(),
                whole_s > 0 ? 100 * p.total_s / whole_s : 0, in_time(p.total_s).c_str(),
                p.predicted_s > 0 ? in_time(p.predicted_s).c_str() : "-");
  }
}

void print_runs(const std::vector<RunTimes>& runs) {
  std::printf("%5s %7s %-9s %10s %10s %10s\n", "run", "passes", "effort", "plan", "execute",
              "observe");
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const RunTimes& run = runs[k];
    std::printf("%5zu %7llu %-9s %10s %10s %10s\n", k + 1,
                static_cast<unsigned long long>(run.passes),
                std::string(name_of(run.effort)).c_str(), in_time(run.plan_s).c_str(),
                in_time(run.execute_s).c_str(), in_time(run.observe_s).c_str());
  }
}

void print_summary(const simulate::Result& r, const ReportOptions& report) {
  const bool stabilizer = r.engine == "stabilizer";
  const char* precision = r.precision == statevec::Precision::kDouble ? "double" : "single";
  const std::string qubits = in_number(r.num_qubits, "qubit");
  if (!r.engine_choice.empty()) std::printf("engine: %s\n", r.engine_choice.c_str());
  if (!r.transport.empty()) std::printf("amplitudes travel: %s\n", r.transport.c_str());
  if (stabilizer) {
    std::printf("%s, stabilizer engine, %s: Clifford gates %s", qubits.c_str(), r.device.c_str(),
                r.has_magic ? "and some beyond" : "only");
    if (!report.dry_run) {
      const auto& s = r.timings;
      std::printf(", %s (parse %s, plan %s, execute %s, observe %s), seed %llu",
                  in_time(s.parse_s + s.plan_s + s.execute_s + s.observe_s).c_str(),
                  in_time(s.parse_s).c_str(), in_time(s.plan_s).c_str(),
                  in_time(s.execute_s).c_str(), in_time(s.observe_s).c_str(),
                  static_cast<unsigned long long>(r.seed));
    }
    std::printf("\n");
    return;
  }
  if (report.dry_run) {
    const bool whole = r.plan.predicted_for == "the run";
    std::printf("%s, %s, %s: %s, %s predicted%s, %s\n", qubits.c_str(), precision, r.device.c_str(),
                in_number(r.plan.passes, "pass").c_str(), in_time(r.plan.predicted_s).c_str(),
                whole ? "" : (" for " + r.plan.predicted_for).c_str(),
                in_bytes(r.memory_bytes).c_str());
    if (r.num_ranks > 1) {
      const auto ranks = static_cast<std::uint64_t>(r.num_ranks);
      std::printf("a rank: %s of memory, %s sent in %s\n", in_bytes(r.memory_bytes / ranks).c_str(),
                  in_bytes(static_cast<std::uint64_t>(r.plan.exchange_bytes) / ranks).c_str(),
                  in_number(r.plan.exchanges, "exchange").c_str());
    }
    const std::uint64_t available = runtime::available_host_bytes();
    if (r.num_ranks <= 1 && r.device == "cpu" && r.memory_bytes > available) {
      std::printf("this machine has %s: the run would be refused\n", in_bytes(available).c_str());
    }
    return;
  }
  const auto& t = r.timings;
  std::printf("%s, %s, %s: %s (parse %s, plan %s, execute %s, observe %s), %s, %s", qubits.c_str(),
              precision, r.device.c_str(),
              in_time(t.parse_s + t.plan_s + t.execute_s + t.observe_s).c_str(),
              in_time(t.parse_s).c_str(), in_time(t.plan_s).c_str(), in_time(t.execute_s).c_str(),
              in_time(t.observe_s).c_str(), in_bytes(r.memory_bytes).c_str(),
              in_number(r.plan.passes, "pass").c_str());
  std::printf(", effort %s", std::string(name_of(r.plan.effort)).c_str());
  if (r.num_trajectories) {
    std::printf(", %llu trajectories", static_cast<unsigned long long>(r.num_trajectories));
  }
  if (r.num_branches > 1) {
    std::printf(", %llu branches", static_cast<unsigned long long>(r.num_branches));
  }
  if (r.shots > 0 || r.num_trajectories)
    std::printf(", seed %llu", static_cast<unsigned long long>(r.seed));
  std::printf("\n");
}

}  // namespace

void print_run_text(const simulate::Result& r, const simulate::Options& asked,
                    const ReportOptions& report) {
  if (report.explain) std::printf("%s\n", r.plan.text.c_str());
  print_counts(r);
  if (asked.probabilities) print_probabilities(r, asked);
  for (const auto& a : r.amplitudes) {
    std::printf("amplitude %llu = %.15g %+.15gi\n", static_cast<unsigned long long>(a.index),
                a.value.real(), a.value.imag());
  }
  if (!asked.observables.empty() && !report.dry_run) print_expectations(r, asked, report);
  if (report.profile) print_profile(r);
  if (!report.runs.empty()) print_runs(report.runs);
  if (!report.quiet) print_summary(r, report);
  if (report.quiet) return;
  for (const auto& warning : r.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
}

}  // namespace tilewave::cli
