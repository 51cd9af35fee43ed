// Starts tile passes on a device: picks the compiled kernel of a shape, sizes shared memory and the
// grid.
#pragma once

#include <vector>

#include "tilewave/runtime/cuda/memory.h"
#include "tilewave/statevec/cuda/tile_kernel.h"

namespace tilewave::statevec::cuda {

template <class T>
class TileLauncher {
 public:
  /// `kernel` indexes tile_kernels<T>(); `device` is current at every launch.
  explicit TileLauncher(std::size_t kernel = 0, int device = 0)
      : kernel_(tile_kernels<T>()[kernel]), device_(device) {}

  tile::Shape shape() const {
    return {kernel_.tile_qubits, kernel_.register_bits, sizeof(T) == 8 ? 3 : 4,
            sizeof(T) == 8 ? Precision::kDouble : Precision::kSingle, kernel_.block_bits};
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
  std::size_t allowed_[3]{};  ///< shared bytes known to be allowed, by set of operations
};

extern template class TileLauncher<double>;
extern template class TileLauncher<float>;

}  // namespace tilewave::statevec::cuda
