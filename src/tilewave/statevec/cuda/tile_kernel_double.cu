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
      {13,
       5,
       "fp64 K=13",
       {tile_pass_kernel<double, 13, 5, 1, tile::OpSet::kLean>,
        tile_pass_kernel<double, 13, 5, 1, tile::OpSet::kMatrices>,
        tile_pass_kernel<double, 13, 5, 1, tile::OpSet::kAll>}},
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
