#include "tilewave/cli/noted_signals.h"

#include <atomic>
#include <csignal>

namespace tilewave::cli {
namespace {

std::atomic<int> noted_signal{0};
struct sigaction int_before, term_before;

void restore() {
  sigaction(SIGINT, &int_before, nullptr);
  sigaction(SIGTERM, &term_before, nullptr);
}

void note(int signal) {
  noted_signal = signal;
  restore();  // the next one goes to whom it went before
}

}  // namespace

NotedSignals::NotedSignals() {
  struct sigaction action {};
  action.sa_handler = note;  // no SA_RESTART: a read that waits comes back
  noted_signal = 0;
  sigaction(SIGINT, &action, &int_before);
  sigaction(SIGTERM, &action, &term_before);
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
