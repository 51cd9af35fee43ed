// A lock that may be taken in a handler of a fault: nothing but an atomic flag and a futex.
#pragma once

#include <atomic>

namespace tilewave::quest {

inline void acquire(std::atomic_flag& flag) {
  while (flag.test_and_set(std::memory_order_acquire)) flag.wait(true);
}
inline void release(std::atomic_flag& flag) {
  flag.clear(std::memory_order_release);
  flag.notify_one();
}

class WaitLock {
 public:
  explicit WaitLock(std::atomic_flag& flag) : flag_(flag) { acquire(flag_); }
  ~WaitLock() { release(flag_); }
  WaitLock(const WaitLock&) = delete;
  WaitLock& operator=(const WaitLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace tilewave::quest
