#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

template <>
std::span<const TileKernel<double>> tile_kernels<double>() {
  static const TileKernel<double> kKernels[] = {
      {12, 4, 2, "fp64 K=12 R=4", tile_pass_kernel<double, 12, 4, 2>},
      {12, 5, 2, "fp64 K=12 R=5", tile_pass_kernel<double, 12, 5, 2>},
      {13, 5, 1, "fp64 K=13 R=5", tile_pass_kernel<double, 13, 5, 1>},
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
