// CudaState with its kernels: included by the files that implement it.
#pragma once

#include "tilewave/statevec/cuda/cuda_state.h"
#include "tilewave/statevec/cuda/observe.cuh"
#include "tilewave/statevec/plan/side_by_side.h"

namespace tilewave::statevec::cuda {

/// Passes that are written as programs side by side.
inline std::size_t at_once() { return static_cast<std::size_t>(detail::num_side_by_side()); }

template <class T>
template <class V>
V* CudaState<T>::to_device(Workspace::Lease& lease, std::span<const V> values) {
  V* at = lease.take<V>(std::max<std::size_t>(values.size(), 1));
  runtime::cuda::copy(at, values.data(), values.size_bytes(), stream_);
  stream_.synchronize();
  return at;
}

template <class T>
template <class V>
std::vector<V> CudaState<T>::to_host(const V* values, std::size_t count) {
  std::vector<V> out(count);
  runtime::cuda::copy(out.data(), values, count * sizeof(V), stream_);
  stream_.synchronize();
  return out;
}

}  // namespace tilewave::statevec::cuda
