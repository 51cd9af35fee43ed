// Rates of a CUDA device in passes, shipped: found with tests/gpu/tile_timing at 30 qubits on one
// NVIDIA H200, 2026-11-21, 24 and 48 actions of a kind in one pass. They serve where nothing could
// be measured, for small states, and the ratio of a flip. Arithmetic is scaled by the number of
// multiprocessors.
#pragma once

#include <array>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cuda {

inline constexpr const char* kTunedOn = "NVIDIA H200, 2026-11-21";
inline constexpr int kTunedMultiprocessors = 132;

/// Seconds an amplitude but for the first two.
struct DeviceRates {
  double bandwidth;       ///< bytes a second of a pass without actions, read + written
  double wide_bandwidth;  ///< with the larger tile
  double lift_s, rotate_s, phase_s, multiply_s;
};
inline constexpr std::size_t kNumRates = 6;

inline constexpr DeviceRates kDoubleRates = {4.05e12, 4.05e12, 1.5e-13, 5.0e-13, 7.0e-13, 3.6e-13};
inline constexpr DeviceRates kSingleRates = {4.05e12, 4.05e12, 0.9e-13, 3.0e-13, 4.2e-13, 2.2e-13};
inline constexpr double kFlipLifts = 1.7;  ///< a flip that no exchange takes along, in lifts

constexpr int kMeasureRatesFrom = 22;  ///< qubits from which the device's own rates are used
/// The share of a pass's traffic that arithmetic does not hide. One H100 and two H200s, 2026-11-25: on
/// the H100 0.45 to 0.99 led to the same times in double precision; with 0.26 (what a probe of lifts
/// alone shows there) random_30 from zeros took twice as long, and on the H200 in single precision
/// 0.59 made ising_30 17% slower.
constexpr double kExposed = 0.77;
/// What crossings add to `exposed` for a tile of two blocks: with this share the planner chooses
/// the plan that is faster, or as fast within 1%, for eleven of the benchmark circuits.
constexpr double kCrossingShare = 0.15;
/// Plans whose passes take less are not tried with the larger tile: planning takes time too.
constexpr double kWideFrom_s = 2e-3;

}  // namespace tilewave::statevec::cuda
