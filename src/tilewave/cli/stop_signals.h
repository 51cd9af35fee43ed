// Signals that ask a run with --checkpoint for one: SIGUSR1 for a checkpoint, SIGTERM, which batch
// systems send before they kill, for a checkpoint and the end. A second SIGTERM ends at once.
#pragma once

#include "tilewave/simulate/checkpoint/keeper.h"

namespace tilewave::cli {

void watch_for_checkpoints();
/// What was asked for since the last call; the wish to stop stays.
simulate::Asked asked_by_signal();

}  // namespace tilewave::cli
