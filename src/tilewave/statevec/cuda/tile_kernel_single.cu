#include "tilewave/statevec/cuda/tile_kernel.cuh"

namespace tilewave::statevec::cuda {

template <>
std::span<const TileKernel<float>> tile_kernels<float>() {
  static const TileKernel<float> kKernels[] = {
      {12, 5, 4, "fp32 K=12 R=5 four blocks", tile_pass_kernel<float, 12, 5, 4>},
      {12, 5, 3, "fp32 K=12 R=5 three blocks", tile_pass_kernel<float, 12, 5, 3>},
      {13, 5, 2, "fp32 K=13 R=5", tile_pass_kernel<float, 13, 5, 2>},
  };
  return kKernels;
}

}  // namespace tilewave::statevec::cuda
