#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

// A tile of 128 KiB leaves room for one block a multiprocessor: slower than 2^12 amplitudes, but
// large states need fewer passes.
TileKernel<double> wide_double_kernel() {
  return {13,
          5,
          "fp64 K=13",
          {tile_pass_kernel<double, 13, 5, 1, tile::OpSet::kLean>,
           tile_pass_kernel<double, 13, 5, 1, tile::OpSet::kMatrices>,
           tile_pass_kernel<double, 13, 5, 1, tile::OpSet::kAll>}};
}

}  // namespace tilewave::statevec::cuda
