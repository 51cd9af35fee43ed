// What operations of a tile program cost on a device: milliseconds of a pass over 2^30 amplitudes
// on one NVIDIA H200, fitted to the passes of the benchmark circuits (2026-11-22, 58 and 57
// passes; root mean square error 6% and 3%), but for `flip`, the best of 0.2 to 4 over three
// circuits. They choose between ways to write a pass.
#pragma once

namespace tilewave::statevec::tile {

struct OpCosts {
  double exchange = 0.68;
  double crossing = 1.1;
  double decode = 0.1;
  double lift = 0.12;
  double tau = 0.06;             ///< a constant phase on one bit
  double bit_phase = 0.12;       ///< any phase on one bit
  double pairs = 0.11;           ///< more with pair factors
  double lanes = 0.13;           ///< more with lane factors
  double phase_table = 0.36;     ///< a constant factor an amplitude of a thread
  double rotation_table = 0.3;   ///< the same as rotations
  double mirrored_table = 0.24;  ///< half of them
  double phase_all = 0.6;
  double phase_set = 0.3;
  double general = 1.9;  ///< making a factor of every thread
  double flip = 1;
  double rotate = 0.3;
  double matrix1 = 0.5;
  double matrix2 = 1.5;
  double factored2 = 1;
  double turned = 0.07;       ///< the tests of a turned layer
  double turned_lift = 0.02;  ///< and of each lift in it
  double ties = 0.09;         ///< more of a lift in it with ties
  double signs = 0.15;        ///< more with signs
  double sign_row = 0.02;
};
inline constexpr OpCosts kDoubleCosts;
inline constexpr OpCosts kSingleCosts = {.exchange = 0.49,
                                         .decode = 0.11,
                                         .lift = 0.05,
                                         .tau = 0.03,
                                         .bit_phase = 0.05,
                                         .pairs = 0.05,
                                         .lanes = 0.02,
                                         .phase_table = 0.22,
                                         .rotation_table = 0.2,
                                         .mirrored_table = 0.14,
                                         .phase_all = 0.1,
                                         .phase_set = 0.08,
                                         .general = 0.8,
                                         .flip = 1,
                                         .rotate = 0.08,
                                         .matrix1 = 0.2,
                                         .matrix2 = 1.5,
                                         .factored2 = 0.45,
                                         .turned = 0.09,
                                         .turned_lift = 0.02,
                                         .ties = 0.08,
                                         .signs = 0.15,
                                         .sign_row = 0.01};

}  // namespace tilewave::statevec::tile
