#include "tilewave/base/interrupt.h"

namespace tilewave {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenPolls{50};

thread_local Clock::time_point last_poll;  // its address is the thread's name, too

}  // namespace

namespace detail {

std::atomic<InterruptPoll> interrupt_poll{nullptr};

void ask_to_stop() {
  const Clock::time_point now = Clock::now();
  if (now - last_poll < kBetweenPolls) return;
  last_poll = now;
  const InterruptPoll poll = interrupt_poll.load(std::memory_order_relaxed);
  if (poll) poll();
}

}  // namespace detail

void set_interrupt_poll(InterruptPoll poll) { detail::interrupt_poll.store(poll); }

StopFlag::StopFlag() : owner_(&last_poll) {}

bool StopFlag::ask() noexcept {
  if (wanted_.load(std::memory_order_relaxed)) return true;
  if (owner_ != &last_poll) return false;
  try {
    detail::ask_to_stop();
  } catch (...) {
    reason_ = std::current_exception();
    wanted_.store(true, std::memory_order_relaxed);
  }
  return wanted_.load(std::memory_order_relaxed);
}

void StopFlag::rethrow() {
  if (reason_) std::rethrow_exception(reason_);
}

}  // namespace tilewave
