// What a pass costs on the CPU: the pieces of its outline, counted, times their rates.
//
//   seconds = traffic / bandwidth
//             + amplitudes (sweeps sweep_s + lifts lift_s + phases phase_s + ...)
//
// Traffic and arithmetic add up: a thread loads a tile, works on it, and stores it. A sweep is one
// walk over the tile in the second-level cache; the lifts and phase blocks that share it have their
// arithmetic beside. The rates are measured (cpu_rates.cc).
#pragma once

#include "tilewave/statevec/plan/planner.h"

namespace tilewave::statevec::cpu {

/// What is done to every amplitude of a pass, on average (a part under controls counts its share).
struct PassWork {
  double sweeps = 0;
  double lifts = 0;   ///< of two multiply-adds; those by additions and in pairs are half of one
  double phases = 0;  ///< tables multiplied by
  double flips = 0;   ///< of two amplitudes, under controls
  double rotations = 0;
  double matrix_rows = 0;    ///< complex multiply-adds
  bool only_moves = false;   ///< whole rows change places in memory, nothing else
  bool long_cycles = false;  ///< and in cycles of many rows
  double listed_rows = 0;    ///< in the list of cycles
};

PassWork count_work(const Plan& plan, const Pass& pass, int block_bits);

/// Seconds of a pass: CostModel::price of the CPU.
double pass_seconds(const Plan& plan, const Pass& pass, const CostModel& cost);

}  // namespace tilewave::statevec::cpu
