#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

template <>
std::span<const TileKernel<double>> tile_kernels<double>() {
  static const TileKernel<double> kKernels[] = {
      {12,
       4,
       "fp64 K=12",
       {tile_pass_kernel<double, 12, 4, 2, tile::OpSet::kLean>,
        tile_pass_kernel<double, 12, 4, 2, tile::OpSet::kMatrices>,
        tile_pass_kernel<double, 12, 4, 2, tile::OpSet::kAll>}},
      {12,
       5,
       "fp64 K=12 R=5",
       {tile_pass_kernel<double, 12, 5, 2, tile::OpSet::kLean>,
        tile_pass_kernel<double, 12, 5, 2, tile::OpSet::kMatrices>,
        tile_pass_kernel<double, 12, 5, 2, tile::OpSet::kAll>}},
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
