#include "tilewave/cli/signals.h"

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

std::atomic<int> noted_signal{0};
struct sigaction interrupt_before, terminate_before;

void restore() {
  sigaction(SIGINT, &interrupt_before, nullptr);
  sigaction(SIGTERM, &terminate_before, nullptr);
}

void note(int signal) {
  noted_signal = signal;
  restore();  // the next one goes to whom it went before
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

NotedSignals::NotedSignals() {
  struct sigaction action {};
  action.sa_handler = note;  // no SA_RESTART: a read that waits comes back
  noted_signal = 0;
  sigaction(SIGINT, &action, &interrupt_before);
  sigaction(SIGTERM, &action, &terminate_before);
}

NotedSignals::~NotedSignals() { restore(); }

int NotedSignals::noted() { return noted_signal; }

void NotedSignals::raise_noted() {
  const int signal = noted_signal;
  if (!signal) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace tilewave::cli
