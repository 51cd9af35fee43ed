// See device_choice.h.
#include "tilewave/parametric/device_choice.h"

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::parametric {
namespace {

constexpr std::uint32_t kLeastDeviceQubits = 16;  // below, starting kernels takes longer than a CPU

// What a block of threads needs at most: see cuda/pass_kernels.cuh.
constexpr int kTileQubits = 12;
constexpr std::uint64_t kBesideTileBytes = std::uint64_t{18} << 10;

}  // namespace

int cuda_device_for(const DeviceSet& devices, std::uint32_t num_qubits, Precision precision) {
  if (devices.is_auto()) {
    if (num_qubits < kLeastDeviceQubits || num_qubits > 40) return -1;
    const auto present = runtime::cuda_devices();
    if (present.empty()) return -1;
    const std::uint64_t amplitude = precision == Precision::kDouble ? 16 : 8;
    const std::uint64_t needed = 2 * (amplitude << num_qubits);
    const std::uint64_t tile = (amplitude << kTileQubits) + kBesideTileBytes;
    for (const runtime::CudaDevice& device : present) {
      if (device.has_code && tile <= device.shared_bytes &&
          needed + needed / 25 <= device.total_memory_bytes)
        return device.index;
    }
    return -1;
  }
  if (devices.is_cpu()) return -1;
  if (devices.has_cpu() || devices.cuda().size() != 1)
    throw Error(ExitCode::kUsage, "a function of parameters runs on one device, not on '" +
                                      devices.text() + "': use cpu, or one like cuda:0");
  return devices.cuda().front();
}

}  // namespace tilewave::parametric
