// Tuning values of the CUDA back end in passes that no measurement sets; the others are numbers of
// the device (tile/device_numbers.h).
#pragma once

namespace tilewave::statevec::cuda {

constexpr int kMeasureRatesFrom = 22;  ///< qubits from which the device's own rates are used
/// Plans whose passes take less are not tried with the larger tile: planning takes time too.
constexpr double kWideFrom_s = 2e-3;
/// Of the time of a plan that comes again, in which its passes are written in more ways; less behind the first
/// run of a plan that was searched for, which may be one long run.
constexpr double kRefineShare = 0.6, kFirstRefine_s = 0.05;

}  // namespace tilewave::statevec::cuda
