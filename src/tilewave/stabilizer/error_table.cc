#include "tilewave/stabilizer/error_table.h"

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/decompose.h"

namespace tilewave::stabilizer {

std::size_t ErrorTable::find(const SetHash& key) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = key.a & mask;
  for (; index_[slot] != kNone; slot = (slot + 1) & mask) {
    if (index_[slot] >> 32 == (key.b & 0xFFFFFFFFu) &&
        errors_[index_[slot] & 0xFFFFFFFFu].key == key)
      break;
  }
  return slot;
}

void ErrorTable::grow() {
  TW_CHECK(errors_.size() < 0xFFFFFFFFu, "an error model has fewer than 2^32 errors");
  make_index(std::max<std::size_t>(16, 2 * index_.size()));
}

void ErrorTable::make_index(std::size_t size) {
  index_.assign(size, kNone);
  const std::size_t mask = index_.size() - 1;
  std::uint64_t k = 0;
  for (const Error& e : errors_) {
    std::size_t slot = e.key.a & mask;
    while (index_[slot] != kNone) slot = (slot + 1) & mask;
    index_[slot] = (e.key.b << 32) | k++;
  }
}

Symptom* ErrorTable::room_for(std::size_t count) {
  if (count > left_) {
    left_ = std::max(kBlock, count);
    blocks_.push_back(std::make_unique_for_overwrite<Symptom[]>(left_));
    next_ = blocks_.back().get();
  }
  Symptom* const at = next_;
  next_ += count;
  left_ -= count;
  return at;
}

void ErrorTable::add(const ErrorTable& other) {
  other.each([&](const Error& e) {
    add(e.probability, hash_of_parts(e.list()), e.tag, [&] { return e.list(); });
  });
}

void ErrorTable::shift(std::uint64_t by) {
  for (Error& e : errors_) {
    Symptom* const list = e.first;
    for (std::uint32_t k = 0; k < e.size; ++k) {
      if (!(list[k] & kObservableBit)) list[k] -= by;
    }
    e.key = key_of(hash_of_parts(e.list()), e.tag);
  }
  make_index(index_.size());
}

}  // namespace tilewave::stabilizer
