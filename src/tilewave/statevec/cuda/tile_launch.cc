#include "tilewave/statevec/cuda/tile_launch.h"

namespace tilewave::statevec::cuda {

template <class T>
void TileLauncher<T>::launch(const tile::PassFrame& frame, Complex<T>* state, const std::byte* code,
                             const std::byte* tables, const runtime::cuda::Stream& stream,
                             double* norms) {
  namespace rc = runtime::cuda;
  const tile::Shape s = shape();
  const std::size_t shared = (sizeof(Complex<T>) << s.tile_qubits) +
                             tile::linear_bytes(frame, sizeof(Complex<T>), s.num_warps()) +
                             tile::general_bytes(frame, sizeof(Complex<T>), s.thread_bits()) +
                             tile::row_bytes(frame, s.thread_bits()) +
                             std::size_t{16} * frame.max_chunk16;
  const auto set = static_cast<std::size_t>(frame.op_set);
  const auto* function = reinterpret_cast<const void*>(kernel_.function[set]);
  if (shared > allowed_[set]) {
    rc::check(rc::driver().allow_shared(function, shared), "give a kernel its shared memory");
    allowed_[set] = shared;
  }
  const auto grid = static_cast<unsigned>(frame.num_tiles);
  rc::launch(kernel_.function[set], dim3(grid), dim3(static_cast<unsigned>(s.num_threads())),
             shared, stream, PassArguments<T>{frame, state, code, tables, norms});
}

template class TileLauncher<double>;
template class TileLauncher<float>;

}  // namespace tilewave::statevec::cuda
