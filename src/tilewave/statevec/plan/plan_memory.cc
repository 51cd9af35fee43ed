#include "tilewave/statevec/plan/plan_memory.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tilewave/base/fingerprint.h"

namespace tilewave::statevec {

namespace {

std::uint64_t hash_of(const PlanMemory::Needs& needs) {
  Fingerprint f;
  for (const detail::Need& need : needs)
    f.add(need.x).add(need.z).add(std::uint64_t{std::bit_cast<std::uint32_t>(need.weight)});
  return f.value();
}

// Replaces the entry of this key, or adds one in place of the oldest.
template <class List, class Key, class Value>
void put(List& list, const Key& key, Value value, std::size_t most) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == key; });
  if (found != list.end()) {
    found->second = std::move(value);
    return;
  }
  if (list.size() >= most) list.erase(list.begin());
  list.emplace_back(key, std::move(value));
}

// What the entry of this key holds.
template <class Value, class Key>
std::optional<Value> value_of(const std::vector<std::pair<Key, Value>>& list, const Key& key) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.first == key; });
  return found == list.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

PlanMemory::Structure* PlanMemory::find(const Needs& needs, std::uint64_t hash) {
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (at->second->needs != needs) continue;
    structures_.splice(structures_.begin(), structures_, at->second);
    return &structures_.front();
  }
  return nullptr;
}

PlanMemory::Structure& PlanMemory::find_or_add(const Needs& needs, std::uint64_t hash) {
  if (Structure* found = find(needs, hash)) return *found;
  structures_.push_front({.needs = needs, .hash = hash, .ways = {}, .schedules = {}});
  by_hash_.emplace(structures_.front().hash, structures_.begin());
  num_needs_ += needs.size();
  while (structures_.size() > kMostStructures || num_needs_ > kMostNeeds) {
    const Structure& oldest = structures_.back();
    const auto [first, last] = by_hash_.equal_range(oldest.hash);
    by_hash_.erase(
        std::find_if(first, last, [&](const auto& at) { return &*at.second == &oldest; }));
    num_needs_ -= oldest.needs.size();
    structures_.pop_back();
  }
  return structures_.front();
}

std::optional<PlanMemory::Chosen> PlanMemory::find_way(const Needs& needs,
                                                       const std::vector<std::uint64_t>& around) {
  if (needs.size() > kMostNeedsOfOne) return std::nullopt;
  const std::uint64_t hash = hash_of(needs);
  const std::lock_guard lock(mutex_);
  const Structure* const structure = find(needs, hash);
  return structure ? value_of(structure->ways, around) : std::nullopt;
}

void PlanMemory::keep_way(const Needs& needs, const std::vector<std::uint64_t>& around,
                          const Chosen& chosen) {
  if (needs.size() > kMostNeedsOfOne) return;
  const std::uint64_t hash = hash_of(needs);
  const std::lock_guard lock(mutex_);
  put(find_or_add(needs, hash).ways, around, chosen, kMostOfEach);
}

std::optional<std::vector<std::uint64_t>> PlanMemory::find_schedule(
    const Needs& needs, const detail::ScheduleOptions& options) {
  if (needs.size() > kMostNeedsOfOne) return std::nullopt;
  const std::uint64_t hash = hash_of(needs);
  const std::lock_guard lock(mutex_);
  const Structure* const structure = find(needs, hash);
  return structure ? value_of(structure->schedules, options) : std::nullopt;
}

void PlanMemory::keep_schedule(const Needs& needs, const detail::ScheduleOptions& options,
                               std::vector<std::uint64_t> active) {
  if (needs.size() > kMostNeedsOfOne) return;
  const std::uint64_t hash = hash_of(needs);
  const std::lock_guard lock(mutex_);
  put(find_or_add(needs, hash).schedules, options, std::move(active), kMostOfEach);
}

void PlanMemory::clear() {
  const std::lock_guard lock(mutex_);
  by_hash_.clear();
  structures_.clear();
  num_needs_ = 0;
}

std::size_t PlanMemory::num_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = num_needs_ * sizeof(detail::Need);
  for (const Structure& s : structures_) {
    bytes += sizeof s;
    for (const auto& [key, chosen] : s.ways)
      bytes += sizeof chosen + sizeof(PlanCandidate) * chosen.candidates.size() + 8 * key.size();
    for (const auto& [key, active] : s.schedules) bytes += sizeof key + 8 * active.size();
  }
  return bytes;
}

}  // namespace tilewave::statevec
