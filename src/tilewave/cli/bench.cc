// tilewave bench: times the engine on families of circuits or on files, against the measured limit
// of the machine.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/circuit/families.h"
#include "tilewave/cli/arguments.h"
#include "tilewave/cli/commands.h"
#include "tilewave/cli/distribution.h"
#include "tilewave/cli/output_files.h"
#include "tilewave/language/circuit_file.h"
#include "tilewave/language/qasm2/qasm2.h"
#include "tilewave/runtime/bandwidth.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/simulate/benchmark.h"

namespace tilewave::cli {
namespace {

using nlohmann::ordered_json;

struct BenchFlags {
  std::vector<std::string> names;
  std::string qubits = "24", precision = "both", threads, ranks, device = "auto", input = "both";
  std::string memory_fraction, repeats = "7", warmup = "1", write, json;
  bool no_limit = false, no_include = false;
  std::uint64_t most_operations = language::Reading::kMostSteps;
};

struct Subject {
  std::string name;
  circuit::Circuit circuit;
  std::vector<std::string> files = {};  // it was read from
};

bool is_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.find('.') != std::string::npos;
}

std::vector<Subject> subjects_of(const BenchFlags& flags) {
  const auto n = static_cast<std::uint32_t>(parse_number("--qubits", flags.qubits, 2, 40));
  std::vector<std::string> names = flags.names;
  if (names.empty()) {
    for (const auto name : circuit::family_names()) names.emplace_back(name);
  }
  language::Reading reading;
  if (flags.no_include) reading.includes = language::Includes::kRefused;
  reading.most_steps = flags.most_operations;
  std::vector<Subject> subjects;
  for (const auto& name : names) {
    if (is_file(name)) {
      std::vector<std::string> files = {name};
      circuit::Circuit circuit = language::read_circuit_file(name, {}, &files, reading);
      subjects.push_back({std::filesystem::path(name).stem().string(), std::move(circuit), files});
    } else {
      subjects.push_back({name + "_" + std::to_string(n), circuit::make_family(name, n)});
    }
  }
  return subjects;
}

// What the circuits are read from is not written over.
void need_no_input(const std::vector<Subject>& subjects, const OutputFile& output) {
  for (const Subject& s : subjects) need_distinct_files(s.files, {output});
}

void write_circuits(const std::vector<Subject>& subjects, const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  for (const auto& s : subjects) {
    const std::string path = folder + "/" + s.name + ".qasm";
    need_no_input(subjects, {"--write", path});
    need_writable({"--write", path});
    write_whole_file(path, language::to_qasm2(s.circuit));
    std::printf("%s\n", path.c_str());
  }
}

/// How fast this machine changes a large array in place, read + written: bytes a second.
class Limits {
 public:
  explicit Limits(bool speaks) : speaks_(speaks) {}

  void measure_cpu(int num_threads) {
    set("cpu", "256 MiB on the CPU",
        runtime::measure_scale_bandwidth(std::size_t{1} << 28,
                                         runtime::resolve_num_threads(num_threads)));
  }
  /// Of one device, measured when first asked (its memory must be free); 0 for several together.
  double of(const std::string& device) {
    constexpr std::string_view kCuda = "cuda:";
    if (!limits_.contains(device) && device.starts_with(kCuda)) {
      const int index = std::stoi(device.substr(kCuda.size()));
      std::size_t gib = 8;
      for (const auto& d : runtime::cuda_devices()) {
        while (d.index == index && gib > 1 && gib << 32 > d.total_memory_bytes) gib /= 2;
      }
      set(device, std::to_string(gib) + " GiB on " + device,
          runtime::measure_device_bandwidth(index, gib << 30));
    }
    return limits_.contains(device) ? limits_[device] : 0;
  }
  double of_cpu() { return of("cpu"); }

 private:
  void set(const std::string& device, const std::string& what, double limit) {
    limits_[device] = limit;
    if (speaks_) std::printf("in-place pass over %s: %.1f GB/s\n", what.c_str(), 1e-9 * limit);
  }

  std::map<std::string, double> limits_;
  bool speaks_;
};

ordered_json machine_json(double limit) {
  const runtime::Machine m = runtime::describe_machine();
  ordered_json out = {{"cpu", m.cpu_model},
                      {"cores", m.num_cores},
                      {"simd", m.simd_features},
                      {"memory_bytes", m.total_memory_bytes},
                      {"huge_pages", m.huge_pages}};
  if (limit > 0) out["in_place_bytes_per_s"] = limit;
  return out;
}

double percent(const statevec::StepTime& pass, double limit) {
  return 100 * pass.bytes / pass.measured_s / limit;
}

ordered_json result_json(const Subject& s, statevec::Precision precision,
                         const simulate::BenchResult& r, double limit) {
  ordered_json out = {
      {"circuit", s.name},
      {"num_qubits", s.circuit.num_qubits()},
      {"gates", r.gates},
      {"precision", precision == statevec::Precision::kDouble ? "double" : "single"},
      {"input", r.input == simulate::BenchInput::kZeros ? "zeros" : "arbitrary"},
      {"device", r.device},
      {"passes", r.passes},
      {"exchanges", r.exchanges},
      {"exchange_bytes", r.exchange_bytes},
      {"bytes", r.bytes},
      {"flops", r.flops},
      {"predicted_s", r.predicted_s},
      {"plan_s", r.plan_s},
      {"median_s", r.median_s},
      {"times_s", r.times_s},
      {"first_s", r.first_s},
      {"bytes_per_s", r.bytes / r.median_s},
      {"norm", r.norm}};
  ordered_json passes = ordered_json::array();
  for (const auto& pass : r.pass_times) {
    passes.push_back({{"s", pass.measured_s}, {"bytes_per_s", pass.bytes / pass.measured_s}});
    if (limit > 0) passes.back()["percent_of_limit"] = percent(pass, limit);
  }
  out["pass_times"] = passes;
  if (limit <= 0) return out;
  // Where the circuit is a known one and its input arbitrary, the floor is not the plan's own.
  double floor_s = r.bytes / limit;
  std::string from = "plan";
  const auto known = simulate::circuit_floor(s.name, precision);
  if (known && r.device.starts_with("cuda") && r.input == simulate::BenchInput::kArbitrary) {
    const double pass_bytes = std::ldexp(2.0 * static_cast<double>(amplitude_bytes(precision)),
                                         static_cast<int>(s.circuit.num_qubits()));
    floor_s = std::max(known->passes * pass_bytes / limit, known->h200_arithmetic_s);
    from = "greedy planner";
    out["floor_passes"] = known->passes;
  }
  out["limit_bytes_per_s"] = limit;
  out["floor_from"] = from;
  out["floor_s"] = floor_s;
  out["ratio_to_floor"] = r.median_s / floor_s;
  std::vector<double> shares;
  for (const auto& pass : r.pass_times) shares.push_back(percent(pass, limit));
  std::sort(shares.begin(), shares.end());
  if (!shares.empty()) out["pass_percent_of_limit"] = shares[shares.size() / 2];
  return out;
}

void print_row(const ordered_json& r) {
  std::printf("%-22s %-7s %-10s %6d %12.3f %12.3f %10.3f %8.1f",
              r["circuit"].get<std::string>().c_str(), r["precision"].get<std::string>().c_str(),
              r["input"].get<std::string>().c_str(), r["passes"].get<int>(),
              1e3 * r["first_s"].get<double>(), 1e3 * r["median_s"].get<double>(),
              1e3 * r["plan_s"].get<double>(), 1e-9 * r["bytes_per_s"].get<double>());
  if (r.contains("ratio_to_floor")) {
    std::printf(" %7.0f%% %8.2f%s", r.value("pass_percent_of_limit", 0.0),
                r["ratio_to_floor"].get<double>(), r["floor_from"] == "plan" ? "" : " *");
  }
  std::printf("\n");
  std::fflush(stdout);
}

void bench(const BenchFlags& flags) {
  const std::vector<Subject> subjects = subjects_of(flags);
  if (!flags.write.empty()) {
    write_circuits(subjects, flags.write);
    return;
  }
  simulate::BenchOptions options;
  options.device = DeviceSet::parse(flags.device);
  options.distribution = read_distribution(flags.ranks);
  need_no_input(subjects, {"--json", flags.json});
  if (options.distribution.is_root()) need_writable({"--json", flags.json});
  if (!flags.memory_fraction.empty()) {
    options.distribution.memory_fraction = parse_share("--memory-fraction", flags.memory_fraction);
  }
  if (!flags.threads.empty()) {
    options.num_threads =
        static_cast<int>(parse_number("--threads", flags.threads, 1, runtime::kMostAskedThreads));
  }
  options.repeats = static_cast<int>(parse_number("--repeats", flags.repeats, 1, 10000));
  options.warmup = static_cast<int>(parse_number("--warmup", flags.warmup, 0, 100));
  std::vector<simulate::BenchInput> inputs;
  if (flags.input != "zeros") inputs.push_back(simulate::BenchInput::kArbitrary);
  if (flags.input != "arbitrary") inputs.push_back(simulate::BenchInput::kZeros);
  std::vector<statevec::Precision> precisions;
  if (flags.precision != "single") precisions.push_back(statevec::Precision::kDouble);
  if (flags.precision != "double") precisions.push_back(statevec::Precision::kSingle);

  const bool table = flags.json != "-";
  Limits limits(table);
  if (!flags.no_limit) limits.measure_cpu(options.num_threads);
  if (table) {
    std::printf("%-22s %-7s %-10s %6s %12s %12s %10s %8s%s\n", "circuit", "prec", "input", "passes",
                "first ms", "median ms", "plan ms", "GB/s",
                flags.no_limit ? "" : "     pass  x floor");
  }
  ordered_json out = {{"machine", machine_json(limits.of_cpu())},
                      {"results", ordered_json::array()}};
  for (const auto& subject : subjects) {
    for (const auto precision : precisions) {
      options.precision = precision;
      for (const auto& r : simulate::benchmark(subject.circuit, inputs, options)) {
        const double own_limit = flags.no_limit ? 0 : limits.of(r.device);
        out["results"].push_back(result_json(subject, precision, r, own_limit));
        if (table) print_row(out["results"].back());
      }
    }
  }
  if (!options.distribution.is_root()) return;
  if (flags.json == "-") {
    std::printf("%s\n", out.dump(1, ' ').c_str());
  } else if (!flags.json.empty()) {
    write_whole_file(flags.json, out.dump(1, ' ') + '\n');
  }
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand("bench", "time families of circuits, or files");
  auto flags = std::make_shared<BenchFlags>();
  std::string names;
  for (const auto name : circuit::family_names()) names += " " + std::string(name);
  c->add_option("NAMES", flags->names, "circuit files, or families (default: all):" + names);
  c->add_flag("--no-include", flags->no_include, "refuse circuit files that include others");
  add_number_flag(
      *c, "--max-operations", [flags](std::uint64_t n) { flags->most_operations = n; },
      "refuse circuit files that expand to more steps and operations (default: 2^27)", 1,
      language::Reading::kMostSteps);
  c->add_option("--qubits", flags->qubits, "size of the families (default 24)");
  c->add_option("--precision", flags->precision, "double, single or both (default)")
      ->check(CLI::IsMember({"double", "single", "both"}));
  c->add_option("--input", flags->input, "arbitrary (a product state), zeros or both (default)")
      ->check(CLI::IsMember({"arbitrary", "zeros", "both"}));
  c->add_option("--threads", flags->threads, "CPU threads");
  c->add_option("--ranks", flags->ranks, "share each state among this many ranks of this process");
  c->add_option("--device", flags->device,
                "auto (default), cpu, cuda, cuda:<index> or several: cuda:0-3");
  c->add_option("--memory-fraction", flags->memory_fraction,
                "reserve this share of a device's memory once, as in 0.925");
  c->add_option("--repeats", flags->repeats, "timed runs, of which the median counts (default 7)");
  c->add_option("--warmup", flags->warmup, "runs before them (default 1)");
  c->add_flag("--no-limit", flags->no_limit, "do not measure the machine's limit first");
  c->add_option("--write", flags->write, "write the circuits as OpenQASM to this folder, only");
  c->add_option("--json", flags->json, "write JSON to this file (- for the standard output)");
  c->callback([flags] { bench(*flags); });
}

}  // namespace tilewave::cli
