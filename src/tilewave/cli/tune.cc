// tilewave tune: measures a device and writes its file of rates.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/settings/device.h"
#include "tilewave/simulate/tune/tune.h"

namespace tilewave::cli {
namespace {

using statevec::Precision;
namespace rates = statevec::rates;

struct TuneFlags {
  std::string device = "cpu", out, seconds, qubits;
  bool force = false, verbose = false, list = false;
};

const char* word(Precision p) { return p == Precision::kDouble ? "double" : "single"; }

void print_list() {
  for (const rates::Kind kind : {rates::Kind::kCpu, rates::Kind::kCuda}) {
    std::printf("%s%s\n", kind == rates::Kind::kCpu ? "" : "\n", rates::word_of(kind));
    for (const rates::NumberInfo& n : simulate::tuned_numbers(kind)) {
      std::printf("  %-26s %-19s %s (%s)\n", n.name, n.unit, n.meaning, n.measured);
    }
  }
}

// The check, a line a circuit, then what it says of each family.
void print_checks(const rates::RatesFile& file) {
  std::printf("\n%-20s %-7s %-10s %13s %12s %7s %7s\n", "circuit", "prec", "input", "predicted ms",
              "measured ms", "ratio", "spread");
  struct Worst {
    double off = 0;
    int count = 0;
  };
  std::map<std::string, Worst> families;
  for (const rates::Check& c : file.checks) {
    const double off = std::abs(c.ratio() - 1);
    std::printf("%-20s %-7s %-10s %13.3f %12.3f %7.2f %6.0f%%%s\n", c.circuit.c_str(),
                word(c.precision), c.input.c_str(), 1e3 * c.predicted_s, 1e3 * c.measured_s,
                c.ratio(), 100 * c.spread, off > rates::kAgreement ? "  off" : "");
    Worst& family = families[c.circuit.substr(0, c.circuit.rfind('_')) + " " + word(c.precision)];
    family.off = std::max(family.off, off);
    ++family.count;
  }
  std::printf("\n");
  int off = 0;
  for (const auto& [name, family] : families) {
    const bool agrees = family.off <= rates::kAgreement;
    off += !agrees;
    std::printf("%-24s %s 15%%: worst %.0f%% of %d\n", name.c_str(),
                agrees ? "within" : "NOT within", 100 * family.off, family.count);
  }
  std::printf("%zu of %zu families and precisions agree within 15%%\n", families.size() - off,
              families.size());
}

void tune(const TuneFlags& flags) {
  if (flags.list) {
    print_list();
    return;
  }
  const DeviceSet device = DeviceSet::parse(flags.device);
  if ((device.has_cpu() && device.has_cuda()) || device.cuda().size() > 1)
    throw Error(ExitCode::kUsage, "--device " + flags.device +
                                      ": one device is tuned at a time: cpu or cuda:<index>");
  simulate::TuneOptions options;
  const bool on_gpu = device.is_auto() ? !runtime::cuda_devices().empty() : device.has_cuda();
  options.cuda_device = !on_gpu ? -1 : device.is_auto() ? 0 : device.cuda()[0];
  if (!flags.seconds.empty()) {
    options.most_s = static_cast<double>(parse_number("--seconds", flags.seconds, 5, 3600));
  }
  if (!flags.qubits.empty()) {
    options.most_qubits = static_cast<int>(parse_number("--qubits", flags.qubits, 18, 34));
  }
  options.verbose = flags.verbose;
  options.tell = [](const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  };
  if (!flags.out.empty()) check_writable(flags.out, 1 << 16);
  simulate::TuneResult result = simulate::tune(options);
  rates::RatesFile& file = result.file;
  print_checks(file);
  for (const std::string& note : result.notes) std::printf("%s\n", note.c_str());
  std::printf(
      "\nfitted passes: off by %.1f%% (root mean square); repeats differ by %.1f%%, the machine's "
      "speed by %.0f%% from begin to end; %.0f s\n",
      100 * result.fit_rms, 100 * file.spread, 100 * file.drift, file.seconds);
  if (file.spread > simulate::kMostSpread || file.drift > simulate::most_drift(file.kind)) {
    char text[300];
    std::snprintf(
        text, sizeof text,
        "nothing is written: repeated measurements differ by %.1f%% and one from begin to "
        "end by %.0f%% (at most %.0f%% and %.0f%% are trusted), so something else uses this "
        "machine: try again when it is at rest, or --force",
        100 * file.spread, 100 * file.drift, 100 * simulate::kMostSpread,
        100 * simulate::most_drift(file.kind));
    if (!flags.force) throw Error(ExitCode::kVerification, text);
    file.is_forced = true;
    std::printf("written although the machine was noisy (--force)\n");
  }
  const std::string place = rates::place_of(file.kind, file.device);
  const std::string path = flags.out.empty() ? place : flags.out;
  if (path.empty())
    throw Error(ExitCode::kUsage,
                "there is no folder for rates (TILEWAVE_RATES=off, or neither XDG_CACHE_HOME nor "
                "HOME is set): say where with --out FILE");
  if (flags.out.empty()) {
    std::error_code ignored;  // said by who writes
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  }
  write_whole_file(path, rates::print(file, simulate::tuned_numbers(file.kind)));
  std::printf("written to %s\n", path.c_str());
  if (path != place) std::printf("used by runs with TILEWAVE_RATES=%s\n", path.c_str());
}

}  // namespace

void add_tune_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand(
      "tune", "measure a device, so that plans suit it and predicted times are right");
  auto flags = std::make_shared<TuneFlags>();
  c->add_option("--device", flags->device,
                "cpu (default), cuda or cuda:<index>; auto: a GPU if there is one");
  c->add_option("--out", flags->out, "write here instead of where runs look for it");
  c->add_option("--seconds", flags->seconds,
                "about how long to measure, 5 to 3600 (default 60); no limit: what was begun is "
                "measured whole");
  c->add_option("--qubits", flags->qubits, "size of the circuits that are checked");
  c->add_flag("--force", flags->force, "write the file even if the machine was noisy");
  c->add_flag("--verbose", flags->verbose, "print every measured pass beside what was fitted");
  c->add_flag("--list", flags->list, "print the numbers that are measured, and measure nothing");
  c->callback([flags] { tune(*flags); });
}

}  // namespace tilewave::cli
