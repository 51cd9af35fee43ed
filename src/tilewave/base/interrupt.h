// Long computations that can be asked to stop. Who embeds the library installs a poll, a function
// that throws when its user wants to stop (Ctrl-C, a cancelled job). Computations ask now and then,
// outside of parallel regions by check_interrupt(), inside them through a StopFlag; the exception
// leaves through the call that computes, whose result is lost. Without a poll asking costs a load.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace tilewave {

using InterruptPoll = void (*)();

/// For the whole process, before anything is computed; null: none.
void set_interrupt_poll(InterruptPoll poll);

namespace detail {
extern std::atomic<InterruptPoll> interrupt_poll;
void ask_to_stop();
}  // namespace detail

/// Throws when it is time to stop. Asks the poll every 50 ms at most; to be called at least that
/// often, and no more often than every few hundred nanoseconds.
inline void check_interrupt() {
  if (detail::interrupt_poll.load(std::memory_order_relaxed)) detail::ask_to_stop();
}

/// check_interrupt() for loops of small steps: one call in `every`.
class InterruptCounter {
 public:
  constexpr explicit InterruptCounter(std::uint32_t every) : every_(every), left_(every) {}
  void step() {
    if (--left_ != 0) return;
    left_ = every_;
    check_interrupt();
  }

 private:
  std::uint32_t every_, left_;
};

/// The same for functions that are such a step, or run few of them at a time: one call in `kEvery`
/// of a thread, whoever calls.
template <std::uint32_t kEvery>
inline void check_interrupt_once_in() {
  static thread_local InterruptCounter now_and_then(kEvery);
  now_and_then.step();
}

/// For a loop whose iterations several threads share: the thread that made it, which has to take
/// part, asks the poll; the others see that it did.
///
///     StopFlag stop;
///   #pragma omp parallel for
///     for (...) { if (stop.wanted()) continue; ... }
///     stop.rethrow();
class StopFlag {
 public:
  StopFlag();
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;
  /// To be asked in every iteration; iterations take at least some hundred nanoseconds.
  bool wanted() noexcept { return detail::interrupt_poll.load(std::memory_order_relaxed) && ask(); }
  /// For every one of a team of so many threads, once, behind its share of a loop without a
  /// barrier: the owner asks on until the others are done, which may take much longer than its own
  /// share.
  void meet(int team);
  /// Behind the loop.
  void rethrow();

  /// While it lives, check_interrupt() of this thread, which works for a loop of the flag's owner,
  /// asks the flag.
  class Scope {
   public:
    explicit Scope(StopFlag& flag);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StopFlag* before_;
  };

 private:
  bool ask() noexcept;

  const void* owner_;
  StopFlag* outer_;  // of the loop this one is in
  std::atomic<bool> wanted_{false};
  std::atomic<int> arrived_{0};
  std::exception_ptr reason_;
};

}  // namespace tilewave
