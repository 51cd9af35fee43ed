#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

template <>
std::span<const TileKernel<float>> tile_kernels<float>() {
  static const TileKernel<float> kKernels[] = {
      {12,
       5,
       "fp32 K=12",
       {tile_pass_kernel<float, 12, 5, 3, tile::OpSet::kLean>,
        tile_pass_kernel<float, 12, 5, 3, tile::OpSet::kMatrices>,
        tile_pass_kernel<float, 12, 5, 3, tile::OpSet::kAll>}},
      {13,
       5,
       "fp32 K=13",
       {tile_pass_kernel<float, 13, 5, 2, tile::OpSet::kLean>,
        tile_pass_kernel<float, 13, 5, 2, tile::OpSet::kMatrices>,
        tile_pass_kernel<float, 13, 5, 2, tile::OpSet::kAll>}},
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
