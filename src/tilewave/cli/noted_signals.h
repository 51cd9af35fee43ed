// An interrupt of a command that ends with what it has: the first SIGINT or SIGTERM is noted, a second
// one ends the process as it would outside.
#pragma once

namespace tilewave::cli {

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
