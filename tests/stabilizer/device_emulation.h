// Runs the code of a block of GPU threads on the host: what CUDA gives such code, in plain C++, with threads as
// fibers of which one runs at a time, up to its next barrier or exchange within its warp. In whatever order they run between barriers,
// the results must be the same, so a barrier that is missing shows where an order is changed. Include before
// the code that is to run.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tilewave/base/error.h"

#define __device__
#define __forceinline__ inline

struct uint2 {
  std::uint32_t x, y;
};

namespace tilewave::emulation {

/// One coordinate of threadIdx or blockDim.
struct Coordinate {
  std::uint32_t x = 0;
};

/// The fibers of a block.
class Block {
 public:
  /// Runs `kernel` in `num_threads` threads. `seed`: of the order in which they run.
  void run(std::uint32_t num_threads, std::uint32_t seed, const std::function<void()>& kernel);
  /// The running thread waits for all others.
  void meet() {
    threads_[running_].at_barrier = true;
    step_back();
  }
  /// What the thread `apart` gives of the running one's warp, all of which call this together.
  std::uint32_t exchange(std::uint32_t value, std::uint32_t apart) {
    Thread& own = threads_[running_];
    const std::uint32_t turn = own.exchanges++ % 2;
    own.given[turn] = value;
    step_back();  // all of the warp give theirs before any of them goes on
    return threads_[running_ ^ apart].given[turn];
  }
  std::uint32_t running() const { return running_; }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{1} << 17;
  struct Thread {
    jmp_buf at;
    std::unique_ptr<char[]> stack{new char[kStackBytes]};
    bool started = false, finished = false, at_barrier = false;
    std::uint32_t exchanges = 0, given[2] = {};
  };
  static void begin();
  void go_on(Thread& thread);
  // The running thread lets others run.
  void step_back() {
    if (_setjmp(threads_[running_].at) == 0) _longjmp(main_, 1);
  }

  jmp_buf main_;
  std::vector<Thread> threads_;  // their stacks serve one block after the other
  std::uint32_t running_ = 0;
  const std::function<void()>* kernel_ = nullptr;
};

inline Block block;
inline Coordinate block_dim;
inline Coordinate thread_index() { return {block.running()}; }

inline void Block::begin() {
  (*block.kernel_)();
  block.threads_[block.running_].finished = true;
  _longjmp(block.main_, 1);
}

// A context is a stack to begin on. Between barriers fibers jump, which asks nothing of the system: swapping
// contexts would keep signals with every jump, of which there are millions.
inline void Block::go_on(Thread& thread) {
  if (_setjmp(main_) != 0) return;
  if (thread.started) _longjmp(thread.at, 1);
  thread.started = true;
  ucontext_t start;
  getcontext(&start);
  start.uc_stack.ss_sp = thread.stack.get();
  start.uc_stack.ss_size = kStackBytes;
  start.uc_link = nullptr;
  makecontext(&start, begin, 0);
  setcontext(&start);
}

inline void Block::run(std::uint32_t num_threads, std::uint32_t seed,
                       const std::function<void()>& kernel) {
  kernel_ = &kernel;
  block_dim.x = num_threads;
  if (threads_.size() < num_threads) threads_.resize(num_threads);
  for (Thread& t : threads_) t.started = t.finished = t.at_barrier = false;
  std::vector<std::uint32_t> order(num_threads);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(seed);
  for (std::size_t finished = 0; finished == 0;) {
    std::shuffle(order.begin(), order.end(), random);
    for (bool go = true; go;) {  // every thread to its next exchange, until all are at a barrier
      go = false;
      for (std::uint32_t k : order) {
        Thread& t = threads_[k];
        if (t.at_barrier || t.finished) continue;
        running_ = k;
        go_on(t);
        finished += t.finished;
        go = go || !(t.at_barrier || t.finished);
      }
    }
    TW_CHECK(finished == 0 || finished == num_threads, "threads come to different barriers");
    for (Thread& t : threads_) t.at_barrier = false;
  }
}

}  // namespace tilewave::emulation

#define threadIdx (tilewave::emulation::thread_index())
#define blockDim (tilewave::emulation::block_dim)

inline void __syncthreads() { tilewave::emulation::block.meet(); }
inline std::uint32_t __funnelshift_l(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
  return shift % 32 == 0 ? high : high << shift % 32 | low >> (32 - shift % 32);
}
inline std::uint32_t __ldg(const std::uint32_t* p) { return *p; }
inline uint2 __ldg(const uint2* p) { return *p; }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __clz(int value) {
  return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value));
}
inline std::uint32_t __shfl_xor_sync(std::uint32_t, std::uint32_t value, int apart) {
  return tilewave::emulation::block.exchange(value, static_cast<std::uint32_t>(apart));
}

inline std::uint32_t atomicAdd(std::uint32_t* at, std::uint32_t value) {
  const std::uint32_t before = *at;
  *at += value;
  return before;
}
inline std::uint32_t atomicXor(std::uint32_t* at, std::uint32_t value) {
  const std::uint32_t before = *at;
  *at ^= value;
  return before;
}
inline std::uint32_t atomicOr(std::uint32_t* at, std::uint32_t value) {
  const std::uint32_t before = *at;
  *at |= value;
  return before;
}
using std::min;
