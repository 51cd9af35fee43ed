// A lock that may be taken in a handler of a fault: nothing but an atomic flag and a futex.
#pragma once

#include <atomic>

namespace tilewave::quest {

class WaitLock {
 public:
  explicit WaitLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true);
  }
  ~WaitLock() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  WaitLock(const WaitLock&) = delete;
  WaitLock& operator=(const WaitLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace tilewave::quest
