// What a pass takes as a tile program.
#pragma once

#include "tilewave/statevec/tile/tile_tuning.h"

namespace tilewave::statevec::tile {

/// Seconds of a program without its start: that of its traffic, or of its operations and the share
/// of the traffic that does not hide behind them. `paid`: TilePass::paid; `memory_s`: of the traffic;
/// `worked`: amplitudes that it works on; `slower`: than the device that the costs are from.
double program_s(const OpCosts& paid, const OpCosts& costs, double memory_s, double worked,
                 double slower);

}  // namespace tilewave::statevec::tile
