// Wall-clock time in seconds from a monotonic clock.
#pragma once

#include <chrono>

namespace tilewave::runtime {

class Timer {
 public:
  /// Seconds since construction or the last reset.
  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void reset() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tilewave::runtime
