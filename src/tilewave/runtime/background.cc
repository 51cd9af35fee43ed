#include "tilewave/runtime/background.h"

#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace tilewave::runtime {

Background* Background::of_process() {
  /// Never destroyed: the fork of a process has its memory but not its threads, nor can the lock and
  /// what they waited for be destroyed there.
  static auto* const owned = new Background;
  struct Finish {
    ~Finish() {
      if (getpid() == owned->process_) owned->finish();
    }
  };
  static const Finish at_end;
  return getpid() == owned->process_ ? owned : nullptr;
}

bool Background::add(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    const std::size_t most =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 17) - 1;
    try {
      if (threads_.size() < std::min(most, queue_.size() + 1 + busy_))
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no thread to be had
      if (threads_.empty()) return false;
    }
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
  return true;
}

void Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && busy_ == 0; });
}

void Background::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Background::is_ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

void Background::work() {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);  // others first
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before others hear that it is done
    lock.lock();
    --busy_;
    changed_.notify_all();
  }
}

}  // namespace tilewave::runtime
