// A build without CUDA has no states on devices.
#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/device_view.h"

namespace tilewave::statevec {

DeviceView view_on_device(State& state) {
  throw Error(ExitCode::kUsage, "the state lies on " + state.device() +
                                    ", not on one CUDA device: this build has no CUDA back end");
}

}  // namespace tilewave::statevec
