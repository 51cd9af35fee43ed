// The values of the keys asked for last, made when they are asked for first.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilewave::field {

template <class T>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  /// What `make()` returned for this key; made anew where it was forgotten. Two threads that ask
  /// for one key at a time may both make it; both get the first. What is forgotten lives on with
  /// those who have it.
  template <class Make>
  std::shared_ptr<T> find(const std::string& key, Make&& make) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto it = places_.find(key); it != places_.end()) {
        entries_.splice(entries_.begin(), entries_, it->second);
        return it->second->second;
      }
    }
    std::shared_ptr<T> made = make();
    std::shared_ptr<T> oldest;  // let go of outside of the lock
    const std::scoped_lock lock(mutex_);
    if (const auto it = places_.find(key); it != places_.end()) return it->second->second;
    entries_.emplace_front(key, std::move(made));
    places_.emplace(key, entries_.begin());
    if (entries_.size() > most_) {
      oldest = std::move(entries_.back().second);
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return entries_.size();
  }

 private:
  using Entries = std::list<std::pair<std::string, std::shared_ptr<T>>>;
  const std::size_t most_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<std::string, typename Entries::iterator> places_;
};

}  // namespace tilewave::field
