#include "tilewave/stabilizer/decompose.h"

#include <algorithm>

namespace tilewave::stabilizer {
namespace {

constexpr int kMostParts = 8;

std::vector<Symptom> detectors_of(const SymptomSet& set) {
  std::vector<Symptom> out;
  for (Symptom s : set) {
    if (!(s & kObservableBit)) out.push_back(s);
  }
  return out;
}

}  // namespace

std::size_t count_detectors(const SymptomSet& set) {
  return static_cast<std::size_t>(
      std::count_if(set.begin(), set.end(), [](Symptom s) { return !(s & kObservableBit); }));
}

void KnownParts::add(const SymptomSet& set) {
  const std::size_t n = count_detectors(set);
  if (n == 1 || n == 2) by_detectors_.emplace(detectors_of(set), set);
}

bool KnownParts::search(std::vector<Symptom> left, std::vector<SymptomSet>& parts, bool remnant,
                        int depth) const {
  if (left.empty()) return true;
  if (depth == 0) return false;
  const Symptom first = left[0];
  // Pairs before single ones: they explain more.
  for (std::size_t k = 1; k <= left.size(); ++k) {
    const bool pair = k < left.size();
    const auto it = by_detectors_.find(pair ? std::vector<Symptom>{first, left[k]}
                                            : std::vector<Symptom>{first});
    if (it == by_detectors_.end()) continue;
    std::vector<Symptom> rest(left.begin() + 1, left.end());
    if (pair) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k - 1));
    parts.push_back(it->second);
    if (search(std::move(rest), parts, remnant, depth - 1)) return true;
    parts.pop_back();
  }
  if (remnant && left.size() <= 2) {
    parts.emplace_back(left.begin(), left.end());
    return true;
  }
  return false;
}

std::optional<std::vector<SymptomSet>> KnownParts::split(const SymptomSet& set,
                                                         bool remnant) const {
  for (bool with_remnant : {false, true}) {
    if (with_remnant && !remnant) break;
    std::vector<SymptomSet> parts;
    if (!search(detectors_of(set), parts, with_remnant, kMostParts)) continue;
    SymptomSet rest = set;  // what the parts miss of the observables
    for (const SymptomSet& part : parts) toggle(rest, part);
    if (rest.empty()) return parts;
    if (with_remnant) {
      toggle(parts.back(), rest);
      return parts;
    }
  }
  return std::nullopt;
}

}  // namespace tilewave::stabilizer
