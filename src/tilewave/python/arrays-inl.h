// Arrays from C++ to Python without a copy: the array's owner is a capsule that holds what owns the
// memory.
#pragma once

#include <complex>
#include <initializer_list>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "tilewave/runtime/memory.h"

namespace tilewave::python {

template <class T>
using Array = nanobind::ndarray<nanobind::numpy, T, nanobind::c_contig>;
/// Any contiguous array on the host that may be read.
template <class T>
using ConstArray = nanobind::ndarray<const T, nanobind::c_contig, nanobind::device::cpu>;

/// An array over memory that `owner` (moved to the heap) keeps alive.
template <class T, class Owner>
Array<T> own_array(Owner&& owner, T* data, std::initializer_list<std::size_t> shape) {
  using Held = std::decay_t<Owner>;
  auto* held = new Held(std::forward<Owner>(owner));
  const nanobind::capsule capsule(held, [](void* p) noexcept { delete static_cast<Held*>(p); });
  return Array<T>(data, shape.size(), shape.begin(), capsule);
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

}  // namespace tilewave::python
