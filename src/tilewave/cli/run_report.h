// What `tilewave run` prints about a result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::cli {

/// One run of several of the same circuit.
struct RunTimes {
  std::uint64_t passes = 0;
  Effort effort = Effort::kOnce;
  double plan_s = 0, execute_s = 0, observe_s = 0;
};

struct ReportOptions {
  bool quiet = false;
  bool explain = false;
  bool profile = false;
  bool dry_run = false;
  std::string page_path, title;
  std::vector<RunTimes> runs;    ///< where there are several, all of them
  double limit_bytes_per_s = 0;  ///< of the machine, 0: not measured
  circuit::PauliOrder pauli_order = circuit::PauliOrder::kLastIsQubit0;
};

/// For people: counts with bars, tables, one line of summary. On the standard output.
void print_run_text(const simulate::Result& result, const simulate::Options& asked,
                    const ReportOptions& report);

/// For programs: one JSON object. On the standard output.
void print_run_json(const simulate::Result& result, const simulate::Options& asked,
                    const ReportOptions& report);

/// For people, later: an HTML page (simulate/report_page.h) in the file report.page_path. Throws
/// Error(kResources) where it cannot be written.
void write_run_page(const simulate::Result& result, const simulate::Options& asked,
                    const ReportOptions& report);

}  // namespace tilewave::cli
