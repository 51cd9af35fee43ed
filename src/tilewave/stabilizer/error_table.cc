#include "tilewave/stabilizer/error_table.h"

#include "tilewave/base/error.h"

namespace tilewave::stabilizer {

std::size_t ErrorTable::find(const SetHash& hash) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t slot = hash.a & mask;
  for (; index_[slot] != kNone; slot = (slot + 1) & mask) {
    if (index_[slot] >> 32 == (hash.b & 0xFFFFFFFFu) &&
        errors_[index_[slot] & 0xFFFFFFFFu].hash == hash)
      break;
  }
  return slot;
}

void ErrorTable::grow() {
  TW_CHECK(errors_.size() < 0xFFFFFFFFu, "an error model has fewer than 2^32 errors");
  TW_CHECK(!index_.empty() || errors_.empty(), "nothing is added behind a shift");
  index_.assign(std::max<std::size_t>(16, 2 * index_.size()), kNone);
  const std::size_t mask = index_.size() - 1;
  std::uint64_t k = 0;
  for (const Error& e : errors_) {
    std::size_t slot = e.hash.a & mask;
    while (index_[slot] != kNone) slot = (slot + 1) & mask;
    index_[slot] = (e.hash.b << 32) | k++;
  }
}

Symptom* ErrorTable::put(const SymptomSet& set) {
  if (set.size() > left_) {
    left_ = std::max(kBlock, set.size());
    blocks_.push_back(std::make_unique_for_overwrite<Symptom[]>(left_));
    next_ = blocks_.back().get();
  }
  Symptom* const at = next_;
  std::copy(set.begin(), set.end(), at);
  next_ += set.size();
  left_ -= set.size();
  return at;
}

std::vector<SymptomSet> ErrorTable::parts(const Error& e) const {
  std::vector<SymptomSet> out;
  const Symptom* at = e.parts;
  for (std::uint32_t k = 0; k < e.num_parts; ++k) {
    out.emplace_back(at + 1, at + 1 + *at);
    at += 1 + *at;
  }
  return out;
}

void ErrorTable::shift(std::uint64_t by) {
  const auto move = [by](Symptom* first, std::uint64_t size) {
    for (Symptom* s = first; s != first + size; ++s) {
      if (!(*s & kObservableBit)) *s -= by;
    }
  };
  for (Error& e : errors_) {
    move(e.first, e.size);
    Symptom* at = e.parts;
    for (std::uint32_t k = 0; k < e.num_parts; ++k) {
      move(at + 1, *at);
      at += 1 + *at;
    }
  }
  index_.clear();
}

}  // namespace tilewave::stabilizer
