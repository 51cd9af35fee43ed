// Cost constants of a device, seconds an amplitude. Found with tests/gpu/tile_timing at 30 qubits
// on one NVIDIA H200 (2026-11-21); other devices are scaled by multiprocessors and by memory only
// through the planner's own choice, which needs ratios rather than absolute times.
#include "tilewave/statevec/cuda/cuda_tuning.h"

namespace tilewave::statevec::cuda {

CostModel device_cost_model(const runtime::CudaDevice& device, Precision precision) {
  CostModel cost;
  const double slower = 132.0 / device.num_multiprocessors;
  const double share = (precision == Precision::kDouble ? 1.0 : 0.55) * slower;
  cost.bandwidth = 3.9e12;
  cost.lift_s = 2.0e-13 * share;
  cost.flip_s = 2.0e-13 * share;
  cost.rotate_s = 4.5e-13 * share;
  cost.phase_s = 9.0e-13 * share;
  cost.multiply_s = 3.6e-13 * share;
  cost.pass_overhead_s = 4e-6;
  return cost;
}

}  // namespace tilewave::statevec::cuda
