// See device_choice.h.
#include "tilewave/parametric/device_choice.h"

#include <bit>

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::parametric {
namespace {

constexpr int kLeastDeviceQubits = 16;  // below, starting kernels takes longer than a CPU

// What a block of threads needs at most: see cuda/pass_kernels.cuh.
constexpr int kTileQubits = 12;
constexpr std::uint64_t kBesideTileBytes = std::uint64_t{18} << 10;

}  // namespace

std::vector<int> devices_for(const DeviceSet& devices, std::uint32_t num_qubits,
                             Precision precision, const runtime::Ranks* ranks, bool share_state) {
  share_state = share_state && ranks;
  const auto own = [&](const auto& present) {
    return ranks ? static_cast<std::size_t>(ranks->rank_on_host()) % present.size() : 0;
  };
  if (devices.is_auto()) {
    const int shared = share_state ? std::bit_width(static_cast<unsigned>(ranks->size())) - 1 : 0;
    const int here = static_cast<int>(num_qubits) - shared;
    if (here < kLeastDeviceQubits || here > 40) return {-1};
    const auto present = runtime::cuda_devices();
    if (present.empty()) return {-1};
    const std::uint64_t amplitude = precision == Precision::kDouble ? 16 : 8;
    const std::uint64_t needed = (share_state ? 3 : 2) * (amplitude << here);
    const std::uint64_t tile = (amplitude << kTileQubits) + kBesideTileBytes;
    const auto serves = [&](const runtime::CudaDevice& device) {
      return device.has_code && tile <= device.shared_bytes &&
             needed + needed / 25 <= device.total_memory_bytes;
    };
    for (std::size_t k = own(present); k < present.size(); ++k) {
      if (serves(present[k])) return {present[k].index};
      if (ranks) break;  // the others are those of other ranks
    }
    return {-1};
  }
  if (devices.is_cpu()) return {-1};
  if (devices.has_cpu()) {
    fail(ExitCode::kUsage, "a function of parameters runs on the CPU or on CUDA devices, not on '",
         devices.text(), "': use cpu, or some like cuda:0-3");
  }
  if (!devices.is_numbered() && ranks) {
    const auto present = runtime::cuda_devices();
    if (!present.empty()) return {present[own(present)].index};
  }
  return {devices.cuda().begin(), devices.cuda().end()};
}

}  // namespace tilewave::parametric
