#include "tilewave/statevec/cuda/tile_launch.h"

#include <algorithm>

#include "tilewave/base/error.h"

namespace tilewave::statevec::cuda {

template <class T>
void TileLauncher<T>::launch(const tile::PassFrame& frame, Complex<T>* state, const std::byte* code,
                             const std::byte* tables, const runtime::cuda::Stream& stream) {
  namespace rc = runtime::cuda;
  const tile::Shape s = shape();
  const std::size_t shared = (sizeof(Complex<T>) << s.tile_qubits) +
                             2 * tile::linear_bytes(frame, sizeof(Complex<T>), s.num_warps()) +
                             tile::general_bytes(frame, sizeof(Complex<T>), s.thread_bits()) +
                             tile::row_bytes(frame, s.thread_bits()) +
                             std::size_t{16} * frame.max_chunk16;
  const auto set = static_cast<std::size_t>(frame.op_set);
  const auto* function = reinterpret_cast<const void*>(kernel_.function[set]);
  Sized& sized = sized_[set];
  if (shared != sized.shared_bytes) {
    rc::check(rc::driver().allow_shared(function, shared), "give a kernel its shared memory");
    rc::check(
        rc::driver().blocks_per_multiprocessor(&sized.blocks, function, s.num_threads(), shared),
        "ask how many blocks fit a multiprocessor");
    TW_CHECK(sized.blocks > 0, "the tile kernel does not fit the device");
    sized.shared_bytes = shared;
  }
  const auto grid = static_cast<unsigned>(std::min<std::uint64_t>(
      frame.num_tiles, static_cast<std::uint64_t>(num_multiprocessors_) *
                           static_cast<unsigned>(sized.blocks) * options_.waves));
  rc::launch(kernel_.function[set], dim3(grid), dim3(static_cast<unsigned>(s.num_threads())),
             shared, stream,
             PassArguments<T>{frame, state, code, tables, options_.prefetch ? 1u : 0u});
}

template class TileLauncher<double>;
template class TileLauncher<float>;

}  // namespace tilewave::statevec::cuda
