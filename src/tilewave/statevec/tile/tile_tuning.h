// What operations of a tile program cost on a device: milliseconds of a pass over 2^30 FP64
// amplitudes on one NVIDIA H200, fitted to 70 passes of the benchmark circuits (2026-11-21; worst
// error 7%); lift, tau and table by their number of multiply-adds since they run in place. Only
// ratios matter: they choose between ways to write a pass.
#pragma once

namespace tilewave::statevec::tile {

struct OpCosts {
  double exchange = 0.63;
  double decode = 0.08;
  double lift = 0.17;
  double tau = 0.15;             ///< a constant phase on one bit
  double bit_phase = 0.24;       ///< any phase on one bit
  double pairs = 0.12;           ///< more with pair factors
  double lanes = 0.06;           ///< more with lane factors
  double phase_table = 0.5;      ///< a constant factor an amplitude of a thread
  double rotation_table = 0.4;   ///< the same as rotations
  double mirrored_table = 0.28;  ///< half of them
  double phase_all = 0.95;
  double phase_set = 0.3;
  double general = 2.4;  ///< making a factor of every thread
  double flip = 0.56;
  double rotate = 0.62;
  double matrix1 = 0.6;
  double matrix2 = 1.5;
  double factored2 = 1.05;
};
inline constexpr OpCosts kOpCosts;

}  // namespace tilewave::statevec::tile
