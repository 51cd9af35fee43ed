#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

// Two blocks of 2^12 amplitudes: as many share a multiprocessor as with tiles of one block.
TileKernel<double> wide_double_kernel() {
  return {13,
          5,
          1,
          {3, 3, 2},
          "fp64 K=13",
          {wide_tile_pass_kernel<double, 12, 5, 3, tile::OpSet::kLean>,
           wide_tile_pass_kernel<double, 12, 5, 3, tile::OpSet::kMatrices>,
           wide_tile_pass_kernel<double, 12, 5, 2, tile::OpSet::kAll>}};
}

}  // namespace tilewave::statevec::cuda
