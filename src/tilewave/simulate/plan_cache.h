// Plans kept from one run to the next, so that a circuit that is run again and again is planned
// once. A cache belongs to one circuit, one device and one number of threads; whoever changes any
// of them starts a new cache. Safe to share between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "tilewave/statevec/plan/plan.h"

namespace tilewave::simulate {

class PlanCache {
 public:
  using PlanPtr = std::shared_ptr<const statevec::Plan>;

  /// The plan of this key, made by `make` where it is not known yet.
  PlanPtr find(const std::string& key, const std::function<statevec::Plan()>& make) {
    {
      const std::scoped_lock lock(mutex_);
      const auto found = plans_.find(key);
      if (found != plans_.end()) return found->second;
    }
    statevec::Plan made = make();
    made.kept = statevec::KeptPassesPtr(std::make_shared<statevec::KeptPasses>(room_));
    auto plan = std::make_shared<const statevec::Plan>(std::move(made));
    const std::scoped_lock lock(mutex_);
    if (plans_.size() >= kMaxPlans) plans_.clear();
    plans_.emplace(key, plan);
    return plan;
  }

 private:
  static constexpr std::size_t kMaxPlans = 4096;
  static constexpr std::int64_t kMostBytesKept = std::int64_t{32} << 20;
  std::mutex mutex_;
  statevec::KeptPasses::Room room_ = std::make_shared<std::atomic<std::int64_t>>(kMostBytesKept);
  std::unordered_map<std::string, PlanPtr> plans_;
};

}  // namespace tilewave::simulate
