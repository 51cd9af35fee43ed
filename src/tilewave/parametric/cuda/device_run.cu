// See device_run.h.
#include "tilewave/parametric/cuda/device_run.cuh"
#include "tilewave/parametric/cuda/device_shard.cuh"

namespace tilewave::parametric {

template <class T>
DeviceRun<T>::DeviceRun(const Actions& actions, const Strings& strings, const Program& program,
                        int device) {
  cuda::use_device(device);
  data_ = std::make_unique<Data>(actions, strings, program, device);
}
template <class T>
DeviceRun<T>::~DeviceRun() = default;

template <class T>
std::span<const std::uint32_t> DeviceRun<T>::read_angles() const {
  return data_->program.read_angle;
}

template <class T>
void DeviceRun<T>::rest() {
  Data& d = *data_;
  cuda::offer_idle(&d, d.index, [&d] {
    d.psi = {};
    d.lam = {};
  });
}

template <class T>
const StageProgram& DeviceRun<T>::program() const {
  return data_->program;
}

template <class T>
std::string DeviceRun<T>::kernels() const {
  Data& d = *data_;
  const std::size_t passes = d.program.passes.size();
  std::size_t forward = 0, back = 0, swept = 0;
  for (std::size_t k = 0; k < passes; ++k) {
    forward += d.compiled && d.compiled->kernel(k);
    back += d.compiled_back && d.compiled_back->kernel(k);
  }
  for (const auto* kept : {&d.of_lam, &d.of_observables}) {
    for (const auto& sweep : kept->compiled) swept += sweep.kernel() != nullptr;
  }
  return std::to_string(forward) + " of " + std::to_string(passes) + " passes forward, " +
         std::to_string(back) + " of " + std::to_string(passes) + " back and " +
         std::to_string(swept) + " sweeps";
}

template <class T>
void DeviceRun<T>::bind(const double* values, std::size_t, std::size_t num_parameters) {
  data_->bind({values, num_parameters});
}

template <class T>
void DeviceRun<T>::forward() {
  Data& d = *data_;
  d.need_states(1);
  d.from_zero = true;
  d.clear(d.psi, d.program.zeros ? d.num_amplitudes() : 1);
  const Amplitude<T> one = {static_cast<T>(d.global.real()), static_cast<T>(d.global.imag())};
  cuda::copy(d.psi.data(), &one, sizeof one, d.stream);
  d.move_forward();
}

template <class T>
void DeviceRun<T>::set_states(std::span<const std::complex<double>* const> of_lanes) {
  Data& d = *data_;
  d.use();
  d.need_states(1);
  std::vector<int> wires(d.actions.wire_of_qubit.size());
  for (std::size_t q = 0; q < wires.size(); ++q) wires[q] = static_cast<int>(q);
  d.write_state(d.psi, wires, of_lanes[0], d.global);
}

template <class T>
void DeviceRun<T>::forward_from_state() {
  Data& d = *data_;
  d.from_zero = false;
  d.move_forward();
}

template <class T>
void DeviceRun<T>::make_lam(std::span<const double> weights) {
  Data& d = *data_;
  d.need_states(2);
  d.make_lam(weights, Data::nobody);
}

template <class T>
void DeviceRun<T>::set_lams(std::span<const std::complex<double>* const> of_lanes) {
  Data& d = *data_;
  d.need_states(2);
  d.write_state(d.lam, d.actions.wire_of_qubit, of_lanes[0], 0.5);
  d.lam_dot.clear();
}

template <class T>
void DeviceRun<T>::dot(std::span<double> re, std::span<double> im) {
  Data& d = *data_;
  if (d.lam_dot.empty()) {
    const std::uint32_t blocks = 8 * d.multiprocessors;
    d.need_sums(blocks, 2);
    cuda::check(cuda::driver().fill(d.totals.data(), 0, 2 * sizeof(double), d.stream.get()),
                "clear sums");
    cuda::launch(&run_dot<T>, dim3(blocks), dim3(256), 0, d.stream,
                 static_cast<const Amplitude<T>*>(d.lam.data()),
                 static_cast<const Amplitude<T>*>(d.psi.data()), std::uint64_t{d.num_amplitudes()},
                 d.sums.data());
    d.add_up(blocks, 2, d.totals.data());
    d.lam_dot.resize(2);
    cuda::copy(d.lam_dot.data(), d.totals.data(), 2 * sizeof(double), d.stream);
    d.stream.synchronize();
  }
  re[0] = d.lam_dot[0];
  im[0] = d.lam_dot[1];
}

template <class T>
void DeviceRun<T>::read_observables(double* out) {
  data_->read_observables(out, Data::nobody);
}

template <class T>
void DeviceRun<T>::backward(std::span<double> reads) {
  data_->move_back(reads, false);
}

template <class T>
void DeviceRun<T>::get_state(std::size_t, std::complex<double>* amplitudes) const {
  const Data& d = *data_;
  std::vector<Amplitude<T>> host(d.num_amplitudes());
  cuda::copy(host.data(), d.psi.data(), host.size() * sizeof(Amplitude<T>), d.stream);
  d.stream.synchronize();
  for (std::uint64_t x = 0; x < bit(static_cast<int>(d.actions.wire_of_qubit.size())); ++x) {
    const Amplitude<T> value = host[Data::place(x, d.actions.wire_of_qubit)];
    amplitudes[x] = {static_cast<double>(value.re), static_cast<double>(value.im)};
  }
}

template class DeviceRun<float>;
template class DeviceRun<double>;

template <class T>
std::unique_ptr<Shard> make_device_shard(const ShardPlan& plan, int device,
                                         std::shared_ptr<runtime::Ranks> ranks) {
  return std::make_unique<DeviceShard<T>>(plan, device, std::move(ranks));
}
template std::unique_ptr<Shard> make_device_shard<float>(const ShardPlan&, int,
                                                         std::shared_ptr<runtime::Ranks>);
template std::unique_ptr<Shard> make_device_shard<double>(const ShardPlan&, int,
                                                          std::shared_ptr<runtime::Ranks>);

}  // namespace tilewave::parametric
