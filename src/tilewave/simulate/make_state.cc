// See make_state.h.
#include "tilewave/simulate/make_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "tilewave/base/error.h"
#include "tilewave/base/memory_error.h"
#include "tilewave/runtime/cost_cache.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/runtime/placement.h"
#include "tilewave/runtime/threads.h"

namespace tilewave::simulate {
namespace {

using statevec::Precision;

constexpr int kMinThreadedQubits = 14;          // below, waking a thread costs more than it does
constexpr std::uint32_t kCostModelQubits = 22;  // of a rank: its own rates are used from here on
constexpr std::uint32_t kSurelyFits = 16;     // reading what is free costs more than running these
constexpr std::uint32_t kMinCudaQubits = 20;  // smaller circuits end before a device has woken up

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int k = 0;
  for (; bytes >= 1024 && k < 5; ++k) bytes /= 1024;
  if (bytes > 1e6) return "more than 1000000 PiB";
  char text[32];
  std::snprintf(text, sizeof text, bytes < 100 && k > 0 ? "%.1f %s" : "%.0f %s", bytes, units[k]);
  return text;
}

double needed(std::uint32_t num_qubits, Precision precision, int num_threads) {
  if (num_qubits > statevec::kMaxQubits) {
    return std::ldexp(static_cast<double>(statevec::amplitude_bytes(precision)),
                      static_cast<int>(num_qubits));
  }
  return static_cast<double>(
      statevec::needed_bytes(static_cast<int>(num_qubits), precision, num_threads));
}

// The devices "auto" means: one that is large enough, or as few as hold the state together; none
// for the CPU.
std::vector<int> find_devices(std::uint32_t num_qubits, Precision precision) {
  if (num_qubits < kMinCudaQubits || num_qubits > statevec::kMaxQubits ||
      !runtime::built_with_cuda()) {
    return {};
  }
  const double state = 1.04 * std::ldexp(static_cast<double>(amplitude_bytes(precision)),
                                         static_cast<int>(num_qubits));
  const std::vector<runtime::CudaDevice> devices = runtime::cuda_devices();
  for (std::size_t count = 1; count <= devices.size(); count *= 2) {
    std::vector<int> fitting;
    for (const auto& d : devices) {
      if (d.has_code &&
          1e9 + state / static_cast<double>(count) <= static_cast<double>(d.total_memory_bytes)) {
        fitting.push_back(d.index);
      }
      if (fitting.size() == count) return fitting;
    }
  }
  return {};
}

// The CUDA devices, none for the CPU.
std::vector<int> choose_devices(std::uint32_t num_qubits, Precision precision,
                                const DeviceSet& device) {
  need_one_kind(device);
  if (device.is_auto()) return find_devices(num_qubits, precision);
  return {device.cuda().begin(), device.cuda().end()};
}

}  // namespace

std::uint32_t most_qubits(Precision precision, int num_threads, std::uint64_t available_bytes) {
  std::uint32_t most = 0;
  while (most < statevec::kMaxQubits &&
         needed(most + 1, precision, num_threads) <= static_cast<double>(available_bytes)) {
    ++most;
  }
  return most;
}

void check_memory(std::uint32_t num_qubits, Precision precision, int num_threads,
                  std::uint64_t available_bytes) {
  const double bytes = needed(num_qubits, precision, num_threads);
  const auto available = static_cast<double>(available_bytes);
  if (bytes <= available && num_qubits <= statevec::kMaxQubits) return;
  const std::uint32_t most = most_qubits(precision, num_threads, available_bytes);
  const bool is_double = precision == Precision::kDouble;
  std::string message = "cannot place " + std::to_string(num_qubits) + " qubits in " +
                        (is_double ? "double" : "single") + " precision (needs " +
                        bytes_text(bytes) + ", " + bytes_text(available) + " available): ";
  const std::string fewer = "use at most " + std::to_string(most) + " qubits";
  const double single_bytes = needed(num_qubits, Precision::kSingle, num_threads);
  if (!is_double) {
    message += "split the circuit where few gates cross, " + fewer;
  } else if (single_bytes <= available && num_qubits <= statevec::kMaxQubits) {
    message += "use --precision single (" + bytes_text(single_bytes) + "), " + fewer;
  } else {
    message += fewer + " (one more with --precision single)";
  }
  message += ", or a machine with more memory";
  if (num_qubits > statevec::kMaxQubits) fail(ExitCode::kResources, message);
  fail_memory(message);
}

bool runs_on_cpu(std::uint32_t num_qubits, Precision precision, const DeviceSet& device) {
  return choose_devices(num_qubits, precision, device).empty();
}

namespace {

// Memory of each device a state may stream through; 0 when it fits.
std::uint64_t stream_bytes(std::uint32_t num_qubits, Precision precision,
                           const std::vector<int>& devices, const Distribution& distribution) {
  std::uint64_t bytes = distribution.device_bytes;
  for (const auto& d : runtime::cuda_devices()) {
    if (std::find(devices.begin(), devices.end(), d.index) == devices.end()) continue;
    // what other programs and the driver hold is a few percent
    const std::uint64_t usable = d.total_memory_bytes / 100 * 98;
    bytes = bytes ? std::min(bytes, usable) : usable;
    if (distribution.memory_fraction > 0) {
      const double share = distribution.memory_fraction * static_cast<double>(d.total_memory_bytes);
      bytes = std::min(bytes, static_cast<std::uint64_t>(share));
    }
  }
  const double state =
      std::ldexp(static_cast<double>(amplitude_bytes(precision)), static_cast<int>(num_qubits));
  const double needed = 3e8 + state / static_cast<double>(devices.size());
  return needed > static_cast<double>(bytes) ? bytes : 0;
}

// Devices in the order of ranks: fast links between ranks that differ in low bits. The links are
// measured once a machine (runtime/cost_cache.h).
runtime::DeviceOrder placed(const std::vector<int>& devices) {
  const std::vector<runtime::CudaDevice> all = runtime::cuda_devices();
  for (const int device : devices) {
    if (device < 0 || device >= static_cast<int>(all.size()))
      return {devices, {}};  // said elsewhere
  }
  return runtime::order_devices(devices, all.size(), [&] {
    return runtime::cached_costs(runtime::cost_key(all[0], "links_" + std::to_string(all.size())),
                                 all.size() * all.size(), [] {
                                   std::vector<double> flat;
                                   for (const auto& row : runtime::measure_links())
                                     for (const double rate : row)
                                       flat.push_back(std::max(rate, 1.0));
                                   return flat;
                                 });
  });
}

std::unique_ptr<statevec::State> make_distributed(std::uint32_t num_qubits, Precision precision,
                                                  int num_threads, const DeviceSet& device,
                                                  const Distribution& distribution) {
  const int ranks = distribution.num_ranks(), n = static_cast<int>(num_qubits);
  const int bits = statevec::checked_shard_bits(ranks, n);
  const auto& processes = distribution.processes;
  const std::vector<int> devices =
      device.is_auto() ? std::vector<int>{} : choose_devices(num_qubits, precision, device);
  if (!devices.empty()) {
    if (!processes) {
      fail(ExitCode::kUsage,
           "--ranks are ranks on the CPU: for several devices use --device cuda:0-", ranks - 1);
    }
    // "cuda" gives every process of a host a device of its own; a launcher may show it that one
    // only
    const int shown = std::max<int>(1, static_cast<int>(runtime::cuda_devices().size()));
    int index = processes->rank_on_host() % shown;
    if (device.is_numbered()) index = devices[static_cast<std::size_t>(index) % devices.size()];
    return statevec::make_process_state(n, precision, 1, processes, index);
  }
  const int on_host = processes ? processes->ranks_on_host() : ranks;
  int threads = num_threads;
  if (threads <= 0) {
    threads = runtime::resolve_num_threads(0);
    if (processes) threads = std::max(1, threads / on_host);
  }
  // the ranks of a host share its memory
  const std::uint32_t together =
      num_qubits - static_cast<std::uint32_t>(bits) +
      static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(on_host) - 1));
  check_memory(std::max(together, std::min(num_qubits, 1u)), precision, threads * on_host,
               runtime::available_host_bytes());
  const int useful = n - bits < kMinThreadedQubits ? 1 : threads;
  if (processes) return statevec::make_process_state(n, precision, useful, processes);
  return statevec::make_logical_state(n, precision, useful, ranks);
}

}  // namespace

int count_ranks(std::uint32_t num_qubits, Precision precision, const DeviceSet& device,
                const Distribution& distribution) {
  if (distribution.num_ranks() != 1) return distribution.num_ranks();
  const std::vector<int> devices = choose_devices(num_qubits, precision, device);
  if (devices.size() < 2) return 1;
  // chunks that visit several devices are no ranks of theirs
  const bool streams = stream_bytes(num_qubits, precision, devices, distribution) > 0;
  return streams ? 1 : static_cast<int>(devices.size());
}

std::optional<statevec::StreamLayout> find_stream(std::uint32_t num_qubits, Precision precision,
                                                  const DeviceSet& device,
                                                  const Distribution& distribution) {
  if (distribution.num_ranks() != 1 || num_qubits > statevec::kMaxQubits) return std::nullopt;
  const std::vector<int> devices = choose_devices(num_qubits, precision, device);
  if (devices.empty()) return std::nullopt;
  const std::uint64_t bytes = stream_bytes(num_qubits, precision, devices, distribution);
  if (!bytes) return std::nullopt;
  return statevec::plan_stream(static_cast<int>(num_qubits), precision, bytes,
                               static_cast<int>(devices.size()));
}

std::unique_ptr<statevec::State> make_state(std::uint32_t num_qubits, Precision precision,
                                            int num_threads, const DeviceSet& device,
                                            const Distribution& distribution) {
  if (distribution.num_ranks() != 1) {
    if (distribution.memory_fraction > 0) {
      fail(ExitCode::kUsage,
           "--memory-fraction serves the devices of one process: leave out --ranks and mpirun, or "
           "the fraction");
    }
    return make_distributed(num_qubits, precision, num_threads, device, distribution);
  }
  const std::vector<int> devices = choose_devices(num_qubits, precision, device);
  if (devices.empty() && distribution.device_bytes) {
    fail(ExitCode::kUsage,
         "--memory-limit is about a device's memory: give one, as in --device cuda");
  }
  if (devices.empty() && distribution.memory_fraction > 0) {
    fail(ExitCode::kUsage,
         "--memory-fraction is about a device's memory: give one, as in --device cuda");
  }
  if ((devices.empty() && num_qubits > kSurelyFits) || num_qubits > statevec::kMaxQubits) {
    check_memory(num_qubits, precision, runtime::resolve_num_threads(num_threads),
                 runtime::available_host_bytes());
  }
  const int n = static_cast<int>(num_qubits);
  if (devices.empty()) {
    const int useful = n < kMinThreadedQubits ? 1 : runtime::resolve_num_threads(num_threads);
    return statevec::make_cpu_state(n, precision, useful);
  }
  const double fraction = distribution.memory_fraction;
  if (const std::uint64_t bytes = stream_bytes(num_qubits, precision, devices, distribution)) {
    check_memory(num_qubits, precision, 1, runtime::available_host_bytes());
    return statevec::make_streamed_cuda_state(n, precision, devices, bytes, fraction);
  }
  if (devices.size() > 1) {
    const runtime::DeviceOrder order = placed(devices);
    return statevec::make_multi_cuda_state(n, precision, order.devices, -1, fraction, order.remark);
  }
  return statevec::make_cuda_state(n, precision, devices[0], fraction);
}

std::unique_ptr<statevec::State> make_small_state(std::uint32_t num_qubits, Precision precision,
                                                  int num_threads, const DeviceSet& device,
                                                  const Distribution& distribution) {
  const bool several = distribution.num_ranks() > 1;
  const std::vector<int> devices = several && device.is_auto()
                                       ? std::vector<int>{}
                                       : choose_devices(num_qubits, precision, device);
  if (devices.empty()) {
    return make_state(std::min(num_qubits, kCostModelQubits), precision, num_threads,
                      DeviceSet::cpu(), distribution);
  }
  const DeviceSet kind = device.is_auto() ? DeviceSet::cuda(devices) : device;
  Distribution small = distribution;  // asked about, not filled
  small.memory_fraction = 0;
  small.device_bytes = 0;
  const int ranks = count_ranks(num_qubits, precision, device, distribution);
  const std::uint32_t wanted =
      kCostModelQubits +
      static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(ranks)) - 1);
  return make_state(std::min(num_qubits, wanted), precision, num_threads, kind, small);
}

}  // namespace tilewave::simulate
