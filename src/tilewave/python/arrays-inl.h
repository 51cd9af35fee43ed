// Arrays from C++ to Python without a copy: the array's owner is a capsule that holds what owns the
// memory.
#pragma once

#include <complex>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "tilewave/base/saturating.h"
#include "tilewave/runtime/memory.h"
#include "tilewave/statevec/plan/precision.h"

namespace tilewave::python {

template <class T>
using Array = nanobind::ndarray<nanobind::numpy, T, nanobind::c_contig>;
/// Any contiguous array on the host that may be read.
template <class T>
using ConstArray = nanobind::ndarray<const T, nanobind::c_contig, nanobind::device::cpu>;

/// The state that a run begins in; None: |0...0>.
using InitialState = std::optional<ConstArray<std::complex<double>>>;
inline std::span<const std::complex<double>> span_of(const InitialState& state) {
  if (!state) return {};
  return {state->data(), state->size()};
}

/// A contiguous array on a CUDA device, of any package that speaks DLPack.
template <class T>
using DeviceArray = nanobind::ndarray<T, nanobind::c_contig, nanobind::device::cuda>;
/// What is given to Python of such arrays: an object with __dlpack__.
template <class T>
using NewDeviceArray = nanobind::ndarray<nanobind::array_api, T, nanobind::device::cuda>;

/// An owner for arrays: it holds `what`, moved to the heap.
template <class What>
nanobind::capsule keep(What&& what) {
  using Held = std::decay_t<What>;
  return {new Held(std::forward<What>(what)),
          [](void* p) noexcept { delete static_cast<Held*>(p); }};
}

/// An array over memory of a device that `owner` keeps alive.
template <class T, class Owner>
nanobind::object own_device_array(Owner&& owner, void* data, std::vector<std::size_t> shape,
                                  int device) {
  return nanobind::cast(
      NewDeviceArray<T>(data, shape.size(), shape.data(), keep(std::forward<Owner>(owner)), nullptr,
                        nanobind::dtype<T>(), nanobind::device::cuda::value, device));
}

/// An array over memory that `owner` keeps alive.
template <class T, class Owner>
Array<T> own_array(Owner&& owner, T* data, std::initializer_list<std::size_t> shape) {
  return Array<T>(data, shape.size(), shape.begin(), keep(std::forward<Owner>(owner)));
}

template <class T>
Array<T> own_vector(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  T* data = values.data();
  return own_array<T>(std::move(values), data, shape);
}

template <class T>
Array<T> own_vector(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return own_vector<T>(std::move(values), {size});
}

/// An array to be written from end to end. A large one is not cleared before, which one thread does,
/// page by page of fresh memory, for longer than all threads need to write it.
template <class T>
class NewArray {
 public:
  explicit NewArray(std::vector<std::size_t> shape) : shape_(std::move(shape)) {
    constexpr std::size_t kLarge = std::size_t{1} << 20;  // bytes
    std::size_t count = 1;
    for (const std::size_t n : shape_) count = saturating_multiply(count, n);
    const std::size_t num_bytes = saturating_multiply(count, sizeof(T));
    if (num_bytes >= kLarge) {
      runtime::need_host_bytes(num_bytes, "the answer does not fit memory",
                               "ask for fewer shots or rows of values at a time, or fewer qubits");
      memory_ = runtime::HostBuffer(num_bytes);
    } else {
      values_.resize(count);
    }
  }
  T* data() { return memory_.data() ? memory_.as<T>() : values_.data(); }
  Array<T> take() {
    T* const at = data();
    return Array<T>(at, shape_.size(), shape_.data(),
                    keep(std::pair(std::move(memory_), std::move(values_))));
  }

 private:
  std::vector<std::size_t> shape_;
  runtime::HostBuffer memory_;
  std::vector<T> values_;
};

/// The 2^n amplitudes in `memory`, as an array of complex numbers of that precision.
inline nanobind::object amplitude_array(runtime::HostBuffer&& memory, statevec::Precision precision,
                                        std::uint32_t num_qubits) {
  const auto array_of = [&]<class T>(std::complex<T>* data) {
    return nanobind::cast(
        own_array<std::complex<T>>(std::move(memory), data, {std::size_t{1} << num_qubits}));
  };
  return precision == statevec::Precision::kDouble ? array_of(memory.as<std::complex<double>>())
                                                   : array_of(memory.as<std::complex<float>>());
}

}  // namespace tilewave::python
