#include "tilewave/statevec/cuda/tile_launch.h"

#include <algorithm>

namespace tilewave::statevec::cuda {

template <class T>
void TileLauncher<T>::launch(const tile::PassFrame& frame, Complex<T>* state, const std::byte* code,
                             const std::byte* tables, const runtime::cuda::Stream& stream,
                             double* sums, bool sums_of_slots, const void* compiled,
                             const std::byte* numbers) {
  namespace rc = runtime::cuda;
  const tile::Shape s = shape();
  const std::size_t shared = (sizeof(Complex<T>) << s.block_qubits()) +
                             tile::linear_bytes(frame, sizeof(Complex<T>), s.num_warps()) +
                             tile::general_bytes(frame, sizeof(Complex<T>), s.thread_bits()) +
                             tile::row_bytes(frame, s.thread_bits()) +
                             std::size_t{16} * frame.max_chunk16;
  const auto set = static_cast<std::size_t>(frame.op_set);
  const auto* function = reinterpret_cast<const void*>(kernel_.function[set]);
  if (compiled) {
    function = compiled;
    rc::allow_shared(device_, function, shared, s.block_bits > 0);
  } else if (shared > allowed_[set]) {
    allowed_[set] = rc::allow_shared(device_, function, shared, s.block_bits > 0);
  }
  const auto grid = static_cast<unsigned>(frame.num_tiles);
  PassArguments<T> arguments{
      {state, code, tables, sums, sums_of_slots, frame.scale_im != 0, {}, {}}, frame};
  arguments.scale = {static_cast<T>(frame.scale_re), static_cast<T>(frame.scale_im)};
  std::copy_n(frame.bit_scale, tile::kMaxTileQubits, arguments.bit_scale);
  TileArguments<T>& of_tiles = arguments;
  void* pointers[] = {compiled ? static_cast<void*>(&of_tiles) : &arguments,
                      const_cast<std::byte*>(numbers)};
  rc::check(rc::driver().launch(function, dim3(grid), dim3(static_cast<unsigned>(s.num_threads())),
                                pointers, shared, stream.get()),
            "start a kernel on the device");
}

template class TileLauncher<double>;
template class TileLauncher<float>;

}  // namespace tilewave::statevec::cuda
