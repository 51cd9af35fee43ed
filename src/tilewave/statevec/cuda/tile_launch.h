// Starts tile passes on a device: picks the compiled kernel of a shape, sizes shared memory and the
// grid.
#pragma once

#include <vector>

#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/statevec/cuda/tile_kernel.h"

namespace tilewave::statevec::cuda {

/// How tiles are dealt to blocks.
struct LaunchOptions {
  bool prefetch = true;
  unsigned waves = 1;  ///< grid size in units of what is resident at once
};

template <class T>
class TileLauncher {
 public:
  /// `kernel` indexes tile_kernels<T>(); the device must be current.
  explicit TileLauncher(int num_multiprocessors, std::size_t kernel = 0)
      : kernel_(tile_kernels<T>()[kernel]), num_multiprocessors_(num_multiprocessors) {}

  tile::Shape shape() const {
    return {kernel_.tile_qubits, kernel_.register_bits, sizeof(T) == 8 ? 3 : 4,
            sizeof(T) == 8 ? Precision::kDouble : Precision::kSingle};
  }
  void set_options(const LaunchOptions& options) { options_ = options; }
  const char* name() const { return kernel_.name; }

  /// `code` and `tables` are on the device.
  void launch(const tile::PassFrame& frame, Complex<T>* state, const std::byte* code,
              const std::byte* tables, const runtime::cuda::Stream& stream);

 private:
  TileKernel<T> kernel_;
  int num_multiprocessors_;
  LaunchOptions options_;
  struct Sized {
    std::size_t shared_bytes = 0;
    int blocks = 0;  ///< resident a multiprocessor
  };
  Sized sized_[3];
};

extern template class TileLauncher<double>;
extern template class TileLauncher<float>;

}  // namespace tilewave::statevec::cuda
