#include "tilewave/statevec/cuda/device_view.h"

#include "tilewave/base/error.h"
#include "tilewave/statevec/cuda/cuda_state.h"

namespace tilewave::statevec {
namespace {

template <class T>
bool view(State& state, DeviceView& out) {
  auto* on_device = dynamic_cast<cuda::CudaState<T>*>(&state);
  if (!on_device) return false;
  on_device->restore_layout();
  on_device->stream().synchronize();
  out = {on_device->open_memory(), on_device->device_index()};
  return true;
}

}  // namespace

DeviceView view_on_device(State& state) {
  DeviceView out;
  if (view<double>(state, out) || view<float>(state, out)) return out;
  throw Error(ExitCode::kUsage, "the state lies on " + state.device() +
                                    ", not on one CUDA device: ask for device=\"cuda\"");
}

}  // namespace tilewave::statevec
