// Runs that are kept between calls, with their memory.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewave::parametric {

// Runs that are kept for the next call. One that fails is not given back.
template <class R>
class Pool {
 public:
  template <class F>
  std::unique_ptr<R> take(F make) {
    {
      const std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        auto run = std::move(kept_.back());
        kept_.pop_back();
        return run;
      }
    }
    return make();
  }
  void give(std::unique_ptr<R> run) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(run));
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<R>> kept_;
};

}  // namespace tilewave::parametric
