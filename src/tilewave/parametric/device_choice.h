// Where a function of parameters runs.
#pragma once

#include <cstdint>

#include "tilewave/settings/device.h"
#include "tilewave/settings/precision.h"

namespace tilewave::parametric {

/// The number of the CUDA device, or -1 for the CPU. "auto": the first device from 16 qubits on, where
/// two states fit its memory. Throws Error(kUsage) for several devices: a function runs on one.
int cuda_device_for(const DeviceSet& devices, std::uint32_t num_qubits, Precision precision);

}  // namespace tilewave::parametric
