#include "tilewave/cli/stop_signals.h"

#include <atomic>
#include <csignal>

namespace tilewave::cli {

namespace {

std::atomic<bool> keeps = false, stops = false;
using Handler = void (*)(int);
std::atomic<Handler> ends_at_once = nullptr;

void on_keep(int) { keeps = true; }

void on_stop(int signal) {
  stops = true;
  std::signal(signal, ends_at_once);
}

}  // namespace

void watch_for_checkpoints() {
  std::signal(SIGUSR1, on_keep);
  ends_at_once = std::signal(SIGTERM, on_stop);
}

simulate::Asked asked_by_signal() {
  if (stops) return simulate::Asked::kKeepAndStop;
  return keeps.exchange(false) ? simulate::Asked::kKeep : simulate::Asked::kNothing;
}

}  // namespace tilewave::cli
