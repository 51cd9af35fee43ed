#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

// On an H200, 2^13 amplitudes a block need fewer passes than 2^12 at the same time a pass. 2^14
// over two blocks would need fewer still, but with two blocks a multiprocessor a crossing takes too
// long.
template <>
std::span<const TileKernel<float>> tile_kernels<float>() {
  static const TileKernel<float> kKernels[] = {
      small_single_kernel(),
      {13,
       5,
       0,
       {2, 2, 2},
       "fp32 K=13",
       {tile_pass_kernel<float, 13, 5, 2, tile::OpSet::kLean>,
        tile_pass_kernel<float, 13, 5, 2, tile::OpSet::kMatrices>,
        tile_pass_kernel<float, 13, 5, 2, tile::OpSet::kAll>}},
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
