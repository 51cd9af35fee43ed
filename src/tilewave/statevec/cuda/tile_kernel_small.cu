#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

// For devices whose blocks of threads have 64 KiB of shared memory (sm_75): half as many amplitudes
// a tile, which leave half of it for the program. One kernel for all sets of operations, since these
// are built for every device.
TileKernel<double> small_double_kernel() {
  const auto kernel = tile_pass_kernel<double, 11, 5, 2, tile::OpSet::kAll>;
  return {11, 5, 0, {2, 2, 2}, "fp64 K=11", {kernel, kernel, kernel}};
}

TileKernel<float> small_single_kernel() {
  const auto kernel = tile_pass_kernel<float, 12, 5, 2, tile::OpSet::kAll>;
  return {12, 5, 0, {2, 2, 2}, "fp32 K=12", {kernel, kernel, kernel}};
}

}  // namespace tilewave::statevec::cuda
