// Amplitudes between a state and a larger memory in which they lie apart, in pinned host memory or
// on devices: a kernel reads or writes them where they are, one amplitude a thread and kInFlight
// under way. Cost: the link, from pieces of 32 bytes on; a few multiprocessors.
#include "tilewave/base/error.h"
#include "tilewave/statevec/block_places.h"
#include "tilewave/statevec/cuda/cuda_state.h"

namespace tilewave::statevec::cuda {

namespace rc = runtime::cuda;

namespace {

constexpr int kThreads = 512, kInFlight = 4;
constexpr unsigned kBlocks = 64;  // more do not read faster over a host link

template <class V, bool in>
__global__ void __launch_bounds__(kThreads)
    move_kernel(V* amplitudes, V* const* blocks, BlockPlaces places, std::uint64_t count) {
  const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  const std::uint64_t mask = (std::uint64_t{1} << places.block_bits) - 1;
  for (std::uint64_t e = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       e < count; e += kInFlight * stride) {
    V value[kInFlight];
    V* place[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::uint64_t at = e + static_cast<std::uint64_t>(k) * stride;
      if (at >= count) continue;
      const std::uint64_t i = places.index(at), a = places.address_of(i);
      V* far = blocks[a >> places.block_bits] + (a & mask);
      place[k] = in ? amplitudes + i : far;
      value[k] = in ? *far : amplitudes[i];
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (e + static_cast<std::uint64_t>(k) * stride < count) *place[k] = value[k];
    }
  }
}

}  // namespace

template <class T>
void CudaState<T>::move_blocks(const BlockMap& map, std::uint64_t known_zero, bool in) const {
  using V = std::conditional_t<sizeof(T) == 8, double2, float2>;
  rc::check(rc::driver().set_device(info_.index), "use the CUDA device");
  const BlockPlaces places = block_places(map, num_qubits_, known_zero);
  Workspace::Lease lease(*workspace_, stream_);
  auto** blocks = lease.take<V*>(map.blocks.size());
  rc::copy(blocks, map.blocks.data(), map.blocks.size_bytes(), stream_);
  const std::uint64_t count = bit(num_qubits_ - places.num_zeros);
  const auto needed =
      static_cast<unsigned>(std::min<std::uint64_t>((count + kThreads - 1) / kThreads, kBlocks));
  rc::launch(in ? move_kernel<V, true> : move_kernel<V, false>, dim3(needed), dim3(kThreads), 0,
             stream_, reinterpret_cast<V*>(amps_), blocks, places, count);
  stream_.synchronize();
}

template <class T>
bool CudaState<T>::gather(const BlockMap& from, std::uint64_t known_zero) {
  forget_answers();
  move_blocks(from, known_zero, true);
  return true;
}

template <class T>
bool CudaState<T>::scatter(const BlockMap& to, std::uint64_t known_zero) const {
  move_blocks(to, known_zero, false);
  return true;
}

#define TW_SCATTER_OF(T)                                                               \
  template void CudaState<T>::move_blocks(const BlockMap&, std::uint64_t, bool) const; \
  template bool CudaState<T>::gather(const BlockMap&, std::uint64_t);                  \
  template bool CudaState<T>::scatter(const BlockMap&, std::uint64_t) const
TW_SCATTER_OF(float);
TW_SCATTER_OF(double);

}  // namespace tilewave::statevec::cuda
