#include "tilewave/base/interrupt.h"

#include <thread>
#include <utility>

#include "tilewave/base/error.h"

namespace tilewave {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenPolls{50};

thread_local Clock::time_point last_poll;  // its address is the thread's name, too
thread_local StopFlag* of_thread = nullptr;

void poll_sometimes() {
  const Clock::time_point now = Clock::now();
  if (now - last_poll < kBetweenPolls) return;
  last_poll = now;
  const InterruptPoll poll = detail::interrupt_poll.load(std::memory_order_relaxed);
  if (poll) poll();
}

// Its owner knows why.
[[noreturn]] void throw_stopped() { throw Error(ExitCode::kInternal, "stopped"); }

}  // namespace

namespace detail {

std::atomic<InterruptPoll> interrupt_poll{nullptr};

void ask_to_stop() {
  if (!of_thread) return poll_sometimes();
  if (of_thread->wanted()) throw_stopped();
}

}  // namespace detail

void set_interrupt_poll(InterruptPoll poll) { detail::interrupt_poll.store(poll); }

StopFlag::StopFlag() : owner_(&last_poll), outer_(of_thread) {}

StopFlag::Scope::Scope(StopFlag& flag) : before_(std::exchange(of_thread, &flag)) {}

StopFlag::Scope::~Scope() { of_thread = before_; }

bool StopFlag::ask() noexcept {
  if (wanted_.load(std::memory_order_relaxed)) return true;
  if (owner_ != &last_poll) return false;
  try {
    if (!outer_) {
      poll_sometimes();
    } else if (outer_->wanted()) {
      throw_stopped();
    }
  } catch (...) {
    reason_ = std::current_exception();
    wanted_.store(true, std::memory_order_relaxed);
  }
  return wanted_.load(std::memory_order_relaxed);
}

void StopFlag::meet(int team) {
  constexpr std::chrono::milliseconds kSoon{1};
  ++arrived_;
  if (owner_ != &last_poll || !detail::interrupt_poll.load(std::memory_order_relaxed)) return;
  const Clock::time_point start = Clock::now();
  while (arrived_ < team) {
    (void)wanted();
    if (Clock::now() - start < kSoon) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSoon);
    }
  }
}

void StopFlag::rethrow() {
  if (reason_) std::rethrow_exception(reason_);
}

}  // namespace tilewave
