// Starts tile passes on a device: picks the compiled kernel of a shape, sizes shared memory and the
// grid.
#pragma once

#include <vector>

#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/runtime/machine.h"
#include "tilewave/statevec/cuda/tile_kernel.h"

namespace tilewave::statevec::cuda {

template <class T>
class TileLauncher {
 public:
  /// `device` is current at every launch.
  TileLauncher(const TileKernel<T>& kernel, const runtime::CudaDevice& device)
      : kernel_(kernel),
        device_(device.index),
        shared_bytes_(static_cast<std::uint32_t>(device.shared_bytes)) {}

  tile::Shape shape() const {
    return {kernel_.tile_qubits,    kernel_.register_bits,
            sizeof(T) == 8 ? 3 : 4, sizeof(T) == 8 ? Precision::kDouble : Precision::kSingle,
            kernel_.block_bits,     shared_bytes_};
  }
  const char* name() const { return kernel_.name; }
  int blocks(tile::OpSet set) const { return kernel_.blocks[static_cast<std::size_t>(set)]; }

  /// `code` and `tables` are on the device; `sums`, if any: see PassArguments. `compiled`: a kernel
  /// of exactly this program, or null for the interpreter; `numbers`: its JitSource::numbers.
  void launch(const tile::PassFrame& frame, Complex<T>* state, const std::byte* code,
              const std::byte* tables, const runtime::cuda::Stream& stream, double* sums = nullptr,
              bool sums_of_slots = false, const void* compiled = nullptr,
              const std::byte* numbers = nullptr);

 private:
  TileKernel<T> kernel_;
  int device_;
  std::uint32_t shared_bytes_;
  std::size_t allowed_[3]{};  ///< shared bytes known to be allowed, by set of operations
};

extern template class TileLauncher<double>;
extern template class TileLauncher<float>;

/// Of every kernel that a device can run, by ascending size of their tiles: its blocks of threads have
/// the shared memory and, where a tile lies in two of them, form clusters.
template <class T>
std::vector<TileLauncher<T>> tile_launchers(const runtime::CudaDevice& device);
/// Those that states use: the largest tile of one block, and behind it that of two blocks, if any. Throws
/// Error(kResources) where the device can run none.
template <class T>
std::vector<TileLauncher<T>> state_launchers(const runtime::CudaDevice& device);

}  // namespace tilewave::statevec::cuda
