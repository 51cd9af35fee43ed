#include "tilewave/statevec/cuda/tile_launch.h"

#include <algorithm>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::cuda {

template <class T>
void TileLauncher<T>::launch(const tile::PassFrame& frame, Complex<T>* state, const std::byte* code,
                             const std::byte* tables, const runtime::cuda::Stream& stream,
                             double* sums, bool sums_of_slots, const void* compiled,
                             const std::byte* numbers) {
  namespace rc = runtime::cuda;
  const tile::Shape s = shape();
  const std::size_t shared = tile::block_bytes(frame, s);
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

namespace {

template <class T>
bool runs_on(const TileKernel<T>& kernel, const runtime::CudaDevice& device) {
  constexpr std::uint64_t kBeside = 8192 + tile::kLeastChunkBytes;  // factors and sums, a chunk
  const int block_qubits = kernel.tile_qubits - kernel.block_bits;
  return (sizeof(Complex<T>) << block_qubits) + kBeside <= device.shared_bytes &&
         (kernel.block_bits == 0 || device.has_clusters);
}

}  // namespace

template <class T>
std::vector<TileLauncher<T>> tile_launchers(const runtime::CudaDevice& device) {
  std::vector<TileLauncher<T>> all;
  for (const TileKernel<T>& kernel : tile_kernels<T>()) {
    if (runs_on(kernel, device)) all.emplace_back(kernel, device);
  }
  return all;
}

template <class T>
std::vector<TileLauncher<T>> state_launchers(const runtime::CudaDevice& device) {
  std::vector<TileLauncher<T>> used = tile_launchers<T>(device);
  if (used.empty()) {
    throw Error(ExitCode::kResources,
                "cannot run passes on " + device.name + ": a block of threads has " +
                    std::to_string(device.shared_bytes >> 10) +
                    " KiB of shared memory there, too little for the smallest tile: use --device "
                    "cpu");
  }
  while (used.size() > 1 && used[1].shape().block_bits == 0) used.erase(used.begin());
  return used;
}

template std::vector<TileLauncher<double>> tile_launchers(const runtime::CudaDevice&);
template std::vector<TileLauncher<float>> tile_launchers(const runtime::CudaDevice&);
template std::vector<TileLauncher<double>> state_launchers(const runtime::CudaDevice&);
template std::vector<TileLauncher<float>> state_launchers(const runtime::CudaDevice&);

}  // namespace tilewave::statevec::cuda
