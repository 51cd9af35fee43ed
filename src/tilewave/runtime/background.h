// Work that nobody waits for: threads of low priority that compile kernels and write programs better
// while others run. They end before the objects of the process do.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

namespace tilewave::runtime {

class Background {
 public:
  /// The one of the process. Null in the fork of a process that has it: the threads stay with the
  /// parent.
  static Background* of_process();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Does it some time, after what was given before; a task throws nothing. False where no thread can
  /// be started or the process ends.
  bool add(std::function<void()> task);
  /// Until nothing is left to do.
  void wait();
  /// Drops what has not begun, waits for what has, and takes nothing more: the process ends.
  void finish();
  /// Whether it does: long tasks may stop.
  bool is_ending() const;

 private:
  Background() = default;
  void work();

  const int process_ = getpid();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::size_t busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tilewave::runtime
