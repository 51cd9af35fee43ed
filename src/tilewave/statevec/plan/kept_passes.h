// What an engine makes of the passes of a plan, tables for small states above all, kept beside the
// plan so that its later runs need not make them again. Safe to share between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>
#include <vector>

namespace tilewave::statevec {

class KeptPasses {
 public:
  using Room = std::shared_ptr<std::atomic<std::int64_t>>;

  /// `room`: bytes that everything that shares it may still keep.
  explicit KeptPasses(Room room) : room_(std::move(room)) {}
  ~KeptPasses() { *room_ += taken_; }
  KeptPasses(const KeptPasses&) = delete;
  KeptPasses& operator=(const KeptPasses&) = delete;

  /// What is kept of pass `index`; null where there is nothing, or something of another type (a
  /// state of the other precision has it).
  template <class Thing>
  std::shared_ptr<const Thing> find(std::size_t index) const {
    const std::scoped_lock lock(mutex_);
    if (index >= slots_.size() || slots_[index].type != &typeid(Thing)) return nullptr;
    return std::static_pointer_cast<const Thing>(slots_[index].thing);
  }
  /// Does nothing where there is no room, or something already.
  template <class Thing>
  void keep(std::size_t index, std::shared_ptr<const Thing> thing, std::size_t num_bytes) {
    const auto bytes = static_cast<std::int64_t>(num_bytes);
    const std::scoped_lock lock(mutex_);
    if (index < slots_.size() && slots_[index].thing) return;
    if ((*room_ -= bytes) < 0) {
      *room_ += bytes;
      return;
    }
    taken_ += bytes;
    if (slots_.size() <= index) slots_.resize(index + 1);
    slots_[index] = {std::move(thing), &typeid(Thing)};
  }

 private:
  Room room_;
  std::int64_t taken_ = 0;
  mutable std::mutex mutex_;
  struct Slot {
    std::shared_ptr<const void> thing;
    const std::type_info* type = nullptr;
  };
  std::vector<Slot> slots_;
};

}  // namespace tilewave::statevec
