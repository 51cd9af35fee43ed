#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

// On an H200, 32 amplitudes a thread beat 16 (fewer exchanges, half the decoding), and 2^12 a
// block, three blocks a multiprocessor, beat 2^13 with one: loads and arithmetic of different
// blocks overlap. Kernels with rare operations need more registers than three blocks have.
template <>
std::span<const TileKernel<double>> tile_kernels<double>() {
  static const TileKernel<double> kKernels[] = {
      small_double_kernel(),
      {12,
       5,
       0,
       {3, 3, 2},
       "fp64 K=12",
       {tile_pass_kernel<double, 12, 5, 3, tile::OpSet::kLean>,
        tile_pass_kernel<double, 12, 5, 3, tile::OpSet::kMatrices>,
        tile_pass_kernel<double, 12, 5, 2, tile::OpSet::kAll>}},
      wide_double_kernel(),
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
