// The kernels of batches in single precision.
#include "tilewave/parametric/cuda/batch_kernel.cuh"

namespace tilewave::parametric::device {

template BatchLaunch<float> batch_launch<float>(int row_bits, bool gradient, bool whole);

}  // namespace tilewave::parametric::device
