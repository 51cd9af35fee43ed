// What the passes of a plan take as tile programs.
#pragma once

#include "tilewave/statevec/plan/plan.h"
#include "tilewave/statevec/plan/planner.h"
#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

/// Seconds of a program without its start: that of its traffic, or of its operations and the share
/// of the traffic that does not hide behind them. `paid`: TilePass::paid; `memory_s`: of the traffic;
/// `worked`: amplitudes that it works on; `slower`: than the device that the costs are from.
double program_s(const OpCosts& paid, const OpCosts& costs, double memory_s, double worked,
                 double slower);

/// Seconds that the passes of `plan` take on a device of these rates: every pass is lowered, and
/// the costs of its operations and exchanges (tile_tuning.h) are added up. For plans with tiles of
/// cost.tile_qubits, or of one more over two blocks. Each pass is written in `tries` ways. About a
/// millisecond of a few cores a try.
double programs_s(const Plan& plan, const CostModel& cost, int tries);

/// For CostModel::programs of devices whose passes run as tile programs.
extern const ProgramPrices kProgramPrices;

}  // namespace tilewave::statevec::tile
