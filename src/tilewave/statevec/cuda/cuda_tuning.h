// Tuning values of the CUDA back end in passes that no measurement sets; the others are numbers of
// the device (tile/device_numbers.h).
#pragma once

namespace tilewave::statevec::cuda {

constexpr int kMeasureRatesFrom = 22;  ///< qubits from which the device's own rates are used
/// Plans whose passes take less are not tried with the larger tile: planning takes time too.
constexpr double kWideFrom_s = 2e-3;

}  // namespace tilewave::statevec::cuda
