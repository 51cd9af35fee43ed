// What a pass costs on the CPU: the pieces of its outline, counted, times their rates.
//
//   seconds = traffic / bandwidth
//             + amplitudes (sweeps sweep_s + lifts lift_s + phases phase_s + ...) + pass_s
//
// Traffic and arithmetic add up: a thread loads a tile, works on it, and stores it. A sweep is one
// walk over the tile in the second-level cache; the lifts and phase blocks that share it have their
// arithmetic beside. The sum is linear in the rates, so they can be fitted to times of passes
// (rates/fit.h); without that they are measured in a moment (cpu_rates.cc).
#pragma once

#include <array>
#include <cstdint>

#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::cpu {

/// What is done to every amplitude of a pass, on average (a part under controls counts its share).
struct PassWork {
  double sweeps = 0;
  double lifts = 0;          ///< of two multiply-adds
  double light_lifts = 0;    ///< by additions, and in pairs by one number
  double phases = 0;         ///< tables multiplied by
  double scalar_phases = 0;  ///< those with factors of whole rows too
  double products = 0;       ///< products of tables, one for a row
  double sweep_phases = 0;   ///< factors in sweeps
  double link_phases = 0;    ///< factors that all rows have, in links
  double flips = 0;          ///< of two amplitudes, under controls
  double rotations = 0;
  double matrix_rows = 0;    ///< complex multiply-adds
  bool only_moves = false;   ///< whole rows change places in memory, nothing else
  bool long_cycles = false;  ///< and in cycles of many rows
  double listed_rows = 0;    ///< in the list of cycles
  double moved_share = 1;    ///< of all rows, the others stay where they are
  bool turns_rows = false;   ///< bits inside a row change places with others on store
};

PassWork count_work(const Plan& plan, const Pass& pass, int block_bits);

/// What the rates of a pass are multiplied by, in this order.
enum Term : std::uint8_t {
  kTermByte,     ///< moved in full tiles, row by row
  kTermRunByte,  ///< in full tiles of rows that lie side by side
  kTermSmallByte,
  kTermSmallRunByte,
  kTermTurnedByte,  ///< more where bits inside a row change places with others on store
  kTermWideByte,
  kTermMovedByte,
  kTermSavedByte,  ///< negative
  kTermSweep,      ///< amplitudes times their number, as those that follow
  kTermLift,
  kTermLightLift,
  kTermPhase,
  kTermScalarPhase,
  kTermProductPhase,
  kTermSweepPhase,
  kTermLinkPhase,
  kTermFlip,
  kTermRotate,
  kTermMultiply,
  kTermListedRow,
  kTermPass,
  kNumTerms
};
using Terms = std::array<double, kNumTerms>;
/// `threads` share the tiles: where there are fewer tiles, those without one wait.
Terms terms_of(const Plan& plan, const Pass& pass, int block_bits, int threads);
/// Their rates in a cost model.
Terms rates_of(const CostModel& cost);

/// Seconds of a pass, the product of both: CostModel::price of the CPU.
double pass_seconds(const Plan& plan, const Pass& pass, const CostModel& cost);

}  // namespace tilewave::statevec::cpu
