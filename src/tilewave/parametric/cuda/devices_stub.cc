// Builds without CUDA: asking for a device is an error that says so.
#include "tilewave/base/error.h"
#include "tilewave/parametric/cuda/device_batch.h"
#include "tilewave/parametric/cuda/device_run.h"
#include "tilewave/parametric/plan/shard.h"

namespace tilewave::parametric {

template <class T>
struct DeviceRun<T>::Data {
  StageProgram program;
};

template <class T>
DeviceRun<T>::DeviceRun(const Actions&, const Strings&, const Program&, int) {
  throw NoCudaError();
}
template <class T>
DeviceRun<T>::~DeviceRun() = default;
template <class T>
std::span<const std::uint32_t> DeviceRun<T>::read_angles() const {
  return {};
}
template <class T>
const StageProgram& DeviceRun<T>::program() const {
  return data_->program;
}
template <class T>
std::string DeviceRun<T>::kernels() const {
  return "";
}
template <class T>
void DeviceRun<T>::rest() {}
template <class T>
void DeviceRun<T>::bind(const double*, std::size_t, std::size_t) {}
template <class T>
void DeviceRun<T>::forward() {}
template <class T>
void DeviceRun<T>::set_states(std::span<const std::complex<double>* const>) {}
template <class T>
void DeviceRun<T>::forward_from_state() {}
template <class T>
void DeviceRun<T>::make_lam(std::span<const double>) {}
template <class T>
void DeviceRun<T>::set_lams(std::span<const std::complex<double>* const>) {}
template <class T>
void DeviceRun<T>::dot(std::span<double>, std::span<double>) {}
template <class T>
void DeviceRun<T>::read_observables(double*) {}
template <class T>
void DeviceRun<T>::backward(std::span<double>) {}
template <class T>
void DeviceRun<T>::get_state(std::size_t, std::complex<double>*) const {}

template class DeviceRun<float>;
template class DeviceRun<double>;

template <class T>
std::unique_ptr<Shard> make_device_shard(const ShardPlan&, int, std::shared_ptr<runtime::Ranks>) {
  throw NoCudaError();
}
template std::unique_ptr<Shard> make_device_shard<float>(const ShardPlan&, int,
                                                         std::shared_ptr<runtime::Ranks>);
template std::unique_ptr<Shard> make_device_shard<double>(const ShardPlan&, int,
                                                          std::shared_ptr<runtime::Ranks>);

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
