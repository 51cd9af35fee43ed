// tilewave doctor: what a run can use here and what it lacks, what each lack costs, and the line that mends it. `tilewave info` tells
// rates and sizes; this tells what is missing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tilewave/cli/commands.h"
#include "tilewave/runtime/cgroup.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/gpu_code.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/optional_libraries.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/statevec/device_costs.h"

namespace tilewave::cli {
namespace {

struct Finding {
  std::string name;
  std::string found;
  std::string cost;  ///< of what is missing; empty: nothing is
  std::string mend;  ///< a line for a shell, or what to do
};

std::string gib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / (1 << 30));
  return text;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Finding processor(const runtime::Machine& machine) {
  Finding out{"vectors", machine.cpu_model, "", ""};
  for (const std::string& feature : machine.simd_features) out.found += " " + feature;
  if (has(machine.simd_features, "avx512f") || has(machine.simd_features, "asimd")) return out;
  if (has(machine.simd_features, "avx2") && has(machine.simd_features, "fma")) return out;
  out.cost =
      "kernels run on vectors of 16 bytes: a quarter of what AVX-512 and half of what AVX2 has";
  out.mend =
      "use a machine, or a type of virtual machine, that shows avx2 and fma in /proc/cpuinfo";
  return out;
}

Finding threads(const runtime::Machine& machine) {
  const int count = runtime::default_num_threads();
  const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const char* const named = std::getenv("OMP_NUM_THREADS");
  Finding out{"threads",
              std::to_string(count) + " threads on " + std::to_string(machine.num_cores) + " cores",
              "", ""};
  if (named && *named) out.found += ", OMP_NUM_THREADS=" + std::string(named);
  if (count < machine.num_cores && named && *named) {
    out.cost = std::to_string(machine.num_cores - count) +
               " cores stay idle unless --threads says otherwise";
    out.mend = "unset OMP_NUM_THREADS";
  } else if (machine.num_cores < online) {
    out.cost = "this process may use " + std::to_string(machine.num_cores) + " of the machine's " +
               std::to_string(online) + " cores";
    out.mend =
        "ask the batch system for more (srun --cpus-per-task, mpirun --bind-to none), or taskset "
        "-c 0-" +
        std::to_string(online - 1);
  } else if (count > machine.num_cores) {
    out.cost = "threads take turns: passes over the state wait for the slowest";
    out.mend = "export OMP_NUM_THREADS=" + std::to_string(machine.num_cores);
  }
  return out;
}

Finding processor_quota(const runtime::Machine& machine, const runtime::GroupLimits& limits) {
  Finding out{"processor quota", "none", "", ""};
  if (limits.cpus <= 0) return out;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g processors", limits.cpus);
  out.found = text;
  if (limits.cpus >= machine.num_cores) return out;
  out.cost = "a control group lets this process run on " + out.found + " of " +
             std::to_string(machine.num_cores) + " at a time";
  out.mend = "start the container with more (docker run --cpus " +
             std::to_string(machine.num_cores) + "), or ask the batch system";
  return out;
}

Finding memory(const runtime::Machine& machine, const runtime::GroupLimits& limits) {
  const auto total = static_cast<double>(machine.total_memory_bytes);
  const auto available = static_cast<double>(machine.available_memory_bytes);
  Finding out{"memory", gib(available) + " of " + gib(total) + " available", "", ""};
  if (static_cast<double>(limits.memory_bytes) < total / 2 &&
      limits.memory_bytes <= machine.available_memory_bytes) {
    out.found += ", a control group leaves " + gib(static_cast<double>(limits.memory_bytes));
    out.cost =
        std::to_string(static_cast<int>(std::floor(std::log2(total / std::max(available, 1.0))))) +
        " qubits fewer than the machine holds";
    out.mend =
        "start the container with more (docker run --memory), or ask the batch system (srun "
        "--mem=0)";
  }
  return out;
}

Finding huge_pages(const runtime::Machine& machine) {
  Finding out{"huge pages", machine.huge_pages, "", ""};
  if (machine.huge_pages == "always" || machine.huge_pages == "madvise") return out;
  out.cost =
      "states lie in pages of 4 KiB: passes wait for address translation, and first touches take "
      "longer";
  out.mend = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  return out;
}

// The folder of measured rates and compiled kernels, whether or not it has been made.
Finding cache_folder() {
  namespace fs = std::filesystem;
  const fs::path file = runtime::cost_file();
  Finding out{"cache", file.empty() ? "none" : file.parent_path().string(), "", ""};
  fs::path there = file.parent_path();
  std::error_code ignored;
  while (!there.empty() && !fs::exists(there, ignored)) there = there.parent_path();
  if (!file.empty() && !there.empty() && access(there.c_str(), W_OK) == 0) return out;
  out.cost = "every process measures this machine anew, and compiles kernels of GPU passes anew";
  out.mend = "export XDG_CACHE_HOME=/a/folder/that/can/be/written";
  return out;
}

Finding gpus(const std::vector<runtime::CudaDevice>& devices, const std::string& problem) {
  Finding out{"GPUs", "", "", ""};
  std::string without;
  for (const runtime::CudaDevice& d : devices) {
    out.found += (out.found.empty() ? "" : "; ") + std::to_string(d.index) + ": " + d.name + ", " +
                 gib(static_cast<double>(d.total_memory_bytes)) + ", compute capability " +
                 std::to_string(d.major) + "." + std::to_string(d.minor) +
                 ", code: " + runtime::code_text(d);
    if (!d.has_code) without += (without.empty() ? "" : " and ") + std::to_string(d.index);
  }
  if (!devices.empty()) {
    const int version = devices[0].driver_version;
    out.found += "; driver for CUDA " + std::to_string(version / 1000) + "." +
                 std::to_string(version % 1000 / 10);
    if (!without.empty()) {
      out.cost = "device " + without + " stays idle";
      out.mend = "build with its compute capability in CMAKE_CUDA_ARCHITECTURES (docs/install.md)";
    }
    return out;
  }
  const int shown = runtime::num_nvidia_gpus();
  if (shown == 0) {
    out.found = "none in this machine";
    return out;  // nothing to mend
  }
  out.found = std::to_string(shown) + " in this machine, none usable: " + problem;
  out.cost = "everything runs on the processor";
  if (!runtime::built_with_cuda()) {
    out.mend =
        "install a wheel with the CUDA back end, or build with nvcc: pip install . -C "
        "cmake.define.TW_CUDA=ON";
  } else if (const std::string why = runtime::cuda_driver_problem(); !why.empty()) {
    out.found += " (" + why + ")";
    out.mend = "make the driver's libcuda.so.1 visible: docker run --gpus all, apptainer exec --nv";
  } else {
    out.mend =
        "nvidia-smi says whether the driver works; unset CUDA_VISIBLE_DEVICES if it hides them";
  }
  return out;
}

Finding links(const std::vector<runtime::CudaDevice>& devices) {
  Finding out{"GPU links", "one device", "", ""};
  if (devices.size() < 2) return out;
  const std::vector<std::vector<double>> rates = runtime::measure_links();
  double least = INFINITY, most = 0;
  int without = 0;
  for (std::size_t from = 0; from < rates.size(); ++from) {
    for (std::size_t to = 0; to < rates.size(); ++to) {
      if (from == to) continue;
      without += rates[from][to] <= 0;
      if (rates[from][to] > 0) least = std::min(least, rates[from][to]);
      most = std::max(most, rates[from][to]);
    }
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.0f to %.0f GB/s between two devices",
                most > 0 ? 1e-9 * least : 0, 1e-9 * most);
  out.found = text;
  if (without == 0) return out;
  out.found += ", " + std::to_string(without) + " directions without a link";
  out.cost = "devices that cannot reach each other's memory cannot share a state in one process";
  out.mend =
      "use devices of one NVLink or PCIe group (nvidia-smi topo -m), or a process a device: mpirun "
      "-np N tilewave run FILE --device cuda";
  return out;
}

// A library that is done without where it is not: `note` follows its version.
Finding library(const char* name, const runtime::OptionalLibrary& library, const std::string& note,
                const char* cost, const char* mend) {
  if (library.version.empty()) return {name, "none: " + library.problem, cost, mend};
  return {name, library.version + note, "", ""};
}

Finding nvrtc() {
  return library(
      "NVRTC", runtime::find_nvrtc(), "; passes that run often: " + statevec::compiled_passes(),
      "GPU passes that run often are interpreted, which may take several times as long; maps do "
      "not run on a GPU",
      "pip install nvidia-cuda-nvrtc, or TILEWAVE_NVRTC=/path/to/libnvrtc.so");
}

Finding nccl() {
  return library(
      "NCCL", runtime::find_nccl(), "",
      "between hosts amplitudes of GPUs travel through host memory (within a host they do not need "
      "it)",
      "apt-get install libnccl2, pip install nvidia-nccl-cu13, or "
      "TILEWAVE_NCCL=/path/to/libnccl.so.2");
}

Finding mpi() {
  return library(
      "MPI", runtime::find_mpi(), ", for launchers of that library only",
      "processes that mpirun or srun --mpi=pmix starts cannot join; they can over TCP, more slowly "
      "(docs/many.md)",
      "build the module with TW_MPI=ON against the launcher's MPI and set "
      "TILEWAVE_MPI=/path/to/tilewave_mpi.so, or srun --mpi=none");
}

std::vector<Finding> examine() {
  const runtime::Machine machine = runtime::describe_machine();
  const runtime::GroupLimits limits = runtime::read_group_limits();
  std::string no_cuda;
  const std::vector<runtime::CudaDevice> devices = runtime::cuda_devices(&no_cuda);
  std::vector<Finding> all = {
      processor(machine),      threads(machine),    processor_quota(machine, limits),
      memory(machine, limits), huge_pages(machine), cache_folder(),
      gpus(devices, no_cuda)};
  if (!devices.empty()) {  // what else only GPUs need
    for (const Finding& one : {links(devices), nvrtc(), nccl()}) all.push_back(one);
  }
  all.push_back(mpi());
  return all;
}

void print_text(const std::vector<Finding>& findings) {
  std::printf("tilewave %s, CUDA back end %s\n\n", TW_VERSION,
              runtime::built_with_cuda()
                  ? ("built in (" + runtime::gpu_code_text(runtime::built_gpu_code()) + ")").c_str()
                  : "not built in");
  int lacks = 0;
  for (const Finding& f : findings) {
    std::printf("  %-5s %-16s %s\n", f.cost.empty() ? "ok" : "lack", f.name.c_str(),
                f.found.c_str());
    if (f.cost.empty()) continue;
    ++lacks;
    std::printf("        %-16s %s\n        %-16s %s\n", "  it costs", f.cost.c_str(),
                "  to mend it", f.mend.c_str());
  }
  std::printf("\n%d of %zu lack something\n", lacks, findings.size());
}

void print_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json out = {{"version", TW_VERSION},
                                {"cuda_built", runtime::built_with_cuda()},
                                {"cuda_code", nlohmann::ordered_json::array()}};
  for (const runtime::GpuCode& code : runtime::built_gpu_code())
    out["cuda_code"].push_back(code.text());
  out["findings"] = nlohmann::ordered_json::array();
  for (const Finding& f : findings) {
    nlohmann::ordered_json one = {
        {"name", f.name}, {"state", f.cost.empty() ? "ok" : "lack"}, {"found", f.found}};
    if (!f.cost.empty()) one["cost"] = f.cost, one["mend"] = f.mend;
    out["findings"].push_back(one);
  }
  std::printf("%s\n",
              out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "doctor", "what this machine lacks for fast runs, what that costs, and how to mend it");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] {
    const std::vector<Finding> findings = examine();
    *json ? print_json(findings) : print_text(findings);
  });
}

}  // namespace tilewave::cli
