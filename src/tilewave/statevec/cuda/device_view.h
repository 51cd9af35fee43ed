// The amplitudes of a state where they lie on a CUDA device, for arrays of other packages.
#pragma once

#include "tilewave/statevec/state.h"

namespace tilewave::statevec {

struct DeviceView {
  void* data = nullptr;  ///< complex numbers of the state's precision, in order of basis states
  int device = 0;
};

/// Restores the layout and waits for the device. Throws Error(kUsage) for a state that does not lie
/// in the memory of one CUDA device.
DeviceView view_on_device(State& state);

}  // namespace tilewave::statevec
