#include "tilewave/quest/core/slots.h"

#include <mutex>
#include <vector>

namespace tilewave::quest {
namespace {

struct Slots {
  std::mutex mutex;
  std::vector<std::unique_ptr<TilewaveSlot>> all;
  std::vector<TilewaveSlot*> free;
};

Slots& slots() {
  static Slots* const instance = new Slots;  // handles may be looked at until the very end
  return *instance;
}

}  // namespace

TilewaveSlot* take_slot(std::unique_ptr<Register> content) {
  Slots& s = slots();
  const std::lock_guard lock(s.mutex);
  if (s.free.empty()) {
    s.all.push_back(std::make_unique<TilewaveSlot>());
    s.free.push_back(s.all.back().get());
  }
  TilewaveSlot* slot = s.free.back();
  s.free.pop_back();
  ++slot->generation;
  slot->content = std::move(content);
  return slot;
}

void free_slot(TilewaveSlot* slot) {
  Slots& s = slots();
  const std::lock_guard lock(s.mutex);
  slot->content.reset();
  ++slot->generation;
  s.free.push_back(slot);
}

void for_each_register(const std::function<void(Register&)>& f) {
  Slots& s = slots();
  const std::lock_guard lock(s.mutex);
  for (const auto& slot : s.all) {
    if (slot->content) f(*slot->content);
  }
}

}  // namespace tilewave::quest
