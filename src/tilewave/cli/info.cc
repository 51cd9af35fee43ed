// tilewave info: this machine, what the build can use of it, and what would run where.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/base/error.h"
#include "tilewave/cli/commands.h"
#include "tilewave/runtime/gpu_code.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/statevec/cpu/cpu_numbers.h"
#include "tilewave/statevec/device_costs.h"

namespace tilewave::cli {
namespace {

// The largest state vector that fits in `bytes` with 4% and 200 MB to spare.
int max_qubits(std::uint64_t bytes, int amplitude_bytes) {
  int n = 0;
  while (1.04 * amplitude_bytes * static_cast<double>(std::uint64_t{1} << (n + 1)) + 200e6 <=
         static_cast<double>(bytes)) {
    ++n;
  }
  return n;
}

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

struct Report {
  runtime::Machine machine = runtime::describe_machine();
  std::string no_cuda;
  std::vector<runtime::CudaDevice> devices = runtime::cuda_devices(&no_cuda);
  int num_threads = runtime::default_num_threads();
  std::vector<std::vector<double>> links = runtime::measure_links();
};

/// What the planner is told of a device.
struct Costs {
  statevec::CostOrigin origin;
  statevec::CostModel of[2];  ///< double, single
  std::string refused;        ///< why the user's file of rates is

  explicit Costs(const runtime::CudaDevice& device) {
    using enum statevec::Precision;
    try {
      for (const auto precision : {kDouble, kSingle})
        of[precision == kSingle] = statevec::cuda_cost_model(device, precision, true, &origin);
    } catch (const Error& e) {
      if (e.code() != ExitCode::kInput && e.code() != ExitCode::kUsage) throw;
      refused = e.what();
    }
  }
};

/// The file of rates of the processor.
struct CpuRates {
  std::shared_ptr<const statevec::rates::RatesFile> file;
  std::string refused;

  CpuRates() {
    try {
      file = statevec::cpu::tuned_cpu();
    } catch (const Error& e) {
      if (e.code() != ExitCode::kInput && e.code() != ExitCode::kUsage) throw;
      refused = e.what();
    }
  }
  std::string origin() const {
    if (file) return "tuned on " + file->date.substr(0, 10) + ", kept in " + file->path;
    return "a model and a moment's measurement of states of 22 qubits or more; 'tilewave tune' "
           "measures all";
  }
};

// "worst of 36 checks: ising_24 single zeros 0.88 of the measured time"
std::string checks_text(const statevec::rates::RatesFile& file) {
  const statevec::rates::Check* worst = file.worst();
  if (!worst) return "not checked against times of circuits";
  char text[200];
  std::snprintf(text, sizeof text,
                "worst of %zu checks: %s %s %s, predicted %.2f of the measured time",
                file.checks.size(), worst->circuit.c_str(),
                worst->precision == statevec::Precision::kDouble ? "double" : "single",
                worst->input.c_str(), worst->ratio());
  return std::string(text) +
         (file.is_forced ? " (written with --force: the machine was noisy)" : "");
}

nlohmann::ordered_json file_json(const statevec::rates::RatesFile* file) {
  if (!file) return nullptr;
  nlohmann::ordered_json out = {
      {"path", file->path},     {"date", file->date},        {"machine", file->machine},
      {"device", file->device}, {"version", file->version},  {"spread", file->spread},
      {"drift", file->drift},   {"forced", file->is_forced}, {"num_checks", file->checks.size()}};
  if (const auto* worst = file->worst()) {
    out["worst"] = {
        {"circuit", worst->circuit},
        {"precision", worst->precision == statevec::Precision::kDouble ? "double" : "single"},
        {"input", worst->input},
        {"ratio", worst->ratio()}};
  }
  return out;
}

nlohmann::ordered_json costs_json(const statevec::CostModel& c) {
  nlohmann::ordered_json out = {
      {"tile_qubits", c.tile_qubits}, {"bytes_per_s", c.bandwidth}, {"exposed_share", c.exposed}};
  if (c.wide_tile_qubits) {
    out["wide_tile_qubits"] = c.wide_tile_qubits;
    out["wide_bytes_per_s"] = c.wide_bandwidth;
    out["wide_exposed_share"] = c.wide_exposed;
  }
  out["amplitude_s"] = {{"lift", c.lift_s},
                        {"flip", c.flip_s},
                        {"rotation", c.rotate_s},
                        {"phases", c.phase_s},
                        {"multiply_add", c.multiply_s}};
  return out;
}

void print_costs(const runtime::CudaDevice& device) {
  const Costs costs(device);
  if (!costs.refused.empty()) {
    std::printf("  rates       %d: refused: %s\n", device.index, costs.refused.c_str());
    return;
  }
  std::printf("  rates       %d: %s\n", device.index, costs.origin.text().c_str());
  if (costs.origin.file) std::printf("              %s\n", checks_text(*costs.origin.file).c_str());
  for (const bool single : {false, true}) {
    const statevec::CostModel& c = costs.of[single];
    std::printf("              %s: tiles of 2^%d %.0f GB/s", single ? "single" : "double",
                c.tile_qubits, 1e-9 * c.bandwidth);
    if (c.wide_tile_qubits) {
      std::printf(", of 2^%d %.0f", c.wide_tile_qubits, 1e-9 * c.wide_bandwidth);
    }
    std::printf("; an amplitude, fs: lift %.0f, rotation %.0f, phases %.0f, multiply-add %.0f\n",
                1e15 * c.lift_s, 1e15 * c.rotate_s, 1e15 * c.phase_s, 1e15 * c.multiply_s);
  }
}

void print_json(const Report& r) {
  nlohmann::ordered_json out;
  out["version"] = TW_VERSION;
  out["cpu"] = {{"model", r.machine.cpu_model},
                {"cores", r.machine.num_cores},
                {"threads", r.num_threads},
                {"simd", r.machine.simd_features},
                {"huge_pages", r.machine.huge_pages}};
  const CpuRates rates;
  out["cpu"]["rates"] = rates.refused.empty()
                            ? nlohmann::ordered_json{{"origin", rates.origin()},
                                                     {"file", file_json(rates.file.get())}}
                            : nlohmann::ordered_json{{"refused", rates.refused}};
  out["memory_bytes"] = {{"total", r.machine.total_memory_bytes},
                         {"available", r.machine.available_memory_bytes}};
  out["cuda"] = {{"built", runtime::built_with_cuda()},
                 {"code", nlohmann::ordered_json::array()},
                 {"devices", nlohmann::ordered_json::array()}};
  for (const runtime::GpuCode& code : runtime::built_gpu_code())
    out["cuda"]["code"].push_back(code.text());
  for (const auto& d : r.devices) {
    out["cuda"]["devices"].push_back({{"index", d.index},
                                      {"name", d.name},
                                      {"compute", std::to_string(d.major * 10 + d.minor)},
                                      {"code", runtime::code_text(d)},
                                      {"memory_bytes", d.total_memory_bytes}});
    if (!d.has_code) continue;
    const Costs costs(d);
    if (!costs.refused.empty()) {
      out["cuda"]["devices"].back()["pass_costs"] = {{"refused", costs.refused}};
      continue;
    }
    out["cuda"]["devices"].back()["pass_costs"] = {{"origin", costs.origin.text()},
                                                   {"file", file_json(costs.origin.file.get())},
                                                   {"double", costs_json(costs.of[0])},
                                                   {"single", costs_json(costs.of[1])}};
  }
  out["cuda"]["compiled_passes"] = statevec::compiled_passes();
  out["cuda"]["link_bytes_per_s"] = r.links;
  std::printf("%s\n", out.dump(2).c_str());
}

void print_text(const Report& r) {
  std::printf("tilewave %s\n\n", TW_VERSION);
  std::printf("  processor   %s\n", r.machine.cpu_model.c_str());
  std::printf("  cores       %d, %d threads would be used\n", r.machine.num_cores, r.num_threads);
  std::string simd;
  for (const auto& f : r.machine.simd_features) simd += (simd.empty() ? "" : " ") + f;
  std::printf("  vectors     %s\n", simd.empty() ? "none known" : simd.c_str());
  std::printf("  memory      %.1f GiB, %.1f GiB available\n", gib(r.machine.total_memory_bytes),
              gib(r.machine.available_memory_bytes));
  std::printf("  huge pages  %s\n", r.machine.huge_pages.c_str());
  const CpuRates rates;
  std::printf("  rates       cpu: %s\n", rates.refused.empty()
                                             ? rates.origin().c_str()
                                             : ("refused: " + rates.refused).c_str());
  if (rates.file) std::printf("              %s\n", checks_text(*rates.file).c_str());
  if (runtime::built_with_cuda()) {
    std::printf("  CUDA code   %s\n", runtime::gpu_code_text(runtime::built_gpu_code()).c_str());
  }
  if (r.devices.empty()) {
    std::printf("  CUDA        none: %s\n", r.no_cuda.c_str());
  }
  for (const auto& d : r.devices) {
    std::printf("  CUDA        %d: %s, %.1f GiB, compute capability %d.%d, code: %s\n", d.index,
                d.name.c_str(), gib(d.total_memory_bytes), d.major, d.minor,
                runtime::code_text(d).c_str());
    if (d.has_code) print_costs(d);
  }
  if (!r.devices.empty()) {
    std::printf("  compiled    passes that run often: %s\n", statevec::compiled_passes().c_str());
  }
  if (!r.links.empty()) std::printf("  links       GB/s from a device (row) to another\n");
  for (std::size_t from = 0; from < r.links.size(); ++from) {
    std::printf("              cuda:%zu", from);
    for (const double rate : r.links[from]) {
      rate > 0 ? std::printf(" %6.0f", 1e-9 * rate) : std::printf(" %6s", "-");
    }
    std::printf("\n");
  }
  std::printf("\nwhat would run where\n");
  const auto available = r.machine.available_memory_bytes;
  std::printf("  state vectors  cpu: up to %d qubits double, %d single\n",
              max_qubits(available, 16), max_qubits(available, 8));
  for (const auto& d : r.devices) {
    std::printf("                 cuda:%d: up to %d qubits double, %d single\n", d.index,
                max_qubits(d.total_memory_bytes, 16), max_qubits(d.total_memory_bytes, 8));
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("info", "this machine, its features, and what would run where");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] {
    const Report report;
    *json ? print_json(report) : print_text(report);
  });
}

}  // namespace tilewave::cli
