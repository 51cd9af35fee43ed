// Builds without CUDA: asking for a device is an error that says so.
#include "tilewave/base/error.h"
#include "tilewave/parametric/cuda/device_batch.h"

namespace tilewave::parametric {

template <class T>
struct DeviceBatch<T>::Data {};

template <class T>
DeviceBatch<T>::DeviceBatch(const Actions&, const Strings&, const std::vector<bool>&, int) {
  throw NoCudaError();
}
template <class T>
DeviceBatch<T>::~DeviceBatch() = default;
template <class T>
bool DeviceBatch<T>::run(const BatchCall&) {
  return true;
}

template class DeviceBatch<float>;
template class DeviceBatch<double>;

}  // namespace tilewave::parametric
