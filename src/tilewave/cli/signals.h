// What signals ask of a command. Of a run with --checkpoint: SIGUSR1 a checkpoint, SIGTERM, which
// batch systems send before they kill, a checkpoint and the end; a second SIGTERM ends at once. Of a
// command that ends with what it has: the first SIGINT or SIGTERM is noted, a second one ends the
// process as it would outside.
#pragma once

#include "tilewave/simulate/checkpoint/keeper.h"

namespace tilewave::cli {

void watch_for_checkpoints();
/// What was asked for since the last call; the wish to stop stays.
simulate::Asked asked_by_signal();

/// Notes signals while it lives. One at a time.
class NotedSignals {
 public:
  NotedSignals();
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

  /// The signal that came; 0: none. Of the last object also when that is gone.
  static int noted();
  /// Ends the process by that signal, where one came, without another word.
  static void raise_noted();
};

}  // namespace tilewave::cli
