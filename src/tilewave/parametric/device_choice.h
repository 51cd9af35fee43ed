// The device that a function of parameters runs on: the CPU, or CUDA devices.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/runtime/ranks.h"
#include "tilewave/settings/device.h"
#include "tilewave/settings/precision.h"

namespace tilewave::parametric {

/// The numbers of the CUDA devices that share sets of values, or -1 for the CPU. "auto": the first device
/// from 16 qubits on, where two states fit its memory; where `ranks` share a state, of the qubits and the
/// states that are in each one's memory. Plain "cuda" among `ranks` (null: none): the device
/// of this process's number on its host. Throws Error(kUsage) for CPU and devices together.
std::vector<int> devices_for(const DeviceSet& devices, std::uint32_t num_qubits,
                             Precision precision, const runtime::Ranks* ranks, bool share_state);

}  // namespace tilewave::parametric
