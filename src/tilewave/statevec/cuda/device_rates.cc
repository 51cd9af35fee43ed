// Cost constants of a device, seconds an amplitude: found with tests/gpu/tile_timing at 30 qubits
// on one NVIDIA H200 (2026-11-21), 48 actions of a kind in one pass less an empty pass. Arithmetic
// is scaled by the number of multiprocessors for other devices; the planner needs the ratios.
#include "tilewave/statevec/cuda/cuda_tuning.h"

namespace tilewave::statevec::cuda {

CostModel device_cost_model(const runtime::CudaDevice& device, Precision precision) {
  CostModel cost;
  const double slower = 132.0 / device.num_multiprocessors;
  const double share = (precision == Precision::kDouble ? 1.0 : 0.6) * slower;
  cost.bandwidth = 4.05e12;
  cost.lift_s = 1.5e-13 * share;
  cost.flip_s = 2.6e-13 * share;
  cost.rotate_s = 5.0e-13 * share;
  cost.phase_s = 7.0e-13 * share;
  cost.multiply_s = 3.6e-13 * share;
  cost.pass_overhead_s = 4e-6;
  cost.late_phases = true;
  return cost;
}

}  // namespace tilewave::statevec::cuda
