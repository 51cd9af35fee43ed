// The kernels of batches in double precision.
#include "tilewave/parametric/cuda/batch_kernel.cuh"

namespace tilewave::parametric::device {

template BatchLaunch<double> batch_launch<double>(int row_bits, bool gradient, bool whole);

}  // namespace tilewave::parametric::device
