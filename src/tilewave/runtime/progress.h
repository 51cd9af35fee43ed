// A progress line for people: a bar, the share done and the remaining time. It appears only when
// the whole is expected to take longer than two seconds and only on a terminal.
#pragma once

#include <cstdio>

#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {

/// True when `stream` is a terminal that people watch: no NO_COLOR, no TERM=dumb.
bool wants_progress(std::FILE* stream);

class ProgressBar {
 public:
  /// Draws on `stream` when `enabled`; see wants_progress().
  ProgressBar(std::FILE* stream, bool enabled) : stream_(stream), enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `fraction` in [0, 1] is done and `remaining_s` are expected to follow. Redraws at most ten
  /// times a second.
  void update(double fraction, double remaining_s);
  /// Takes the line away.
  void clear();

 private:
  std::FILE* stream_;
  bool enabled_;
  bool drawn_ = false;
  double last_s_ = -1;
  Timer timer_;
};

}  // namespace tilewave::runtime
