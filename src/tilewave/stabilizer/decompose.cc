#include "tilewave/stabilizer/decompose.h"

#include <algorithm>

namespace tilewave::stabilizer {
namespace {

constexpr int kMostParts = 8;

SymptomSet detectors_of(const SymptomSet& set) {
  return {set.begin(), set.begin() + count_detectors(set)};
}

}  // namespace

// Observables have the highest bit set: they are the end of a set.
std::size_t count_detectors(std::span<const Symptom> set) {
  std::size_t n = set.size();
  while (n > 0 && (set[n - 1] & kObservableBit)) --n;
  return n;
}

void KnownParts::add(std::span<const Symptom> set) {
  const std::size_t n = count_detectors(set);
  if (n != 1 && n != 2) return;
  observables_.try_emplace({set[0], n == 2 ? set[1] : kNoDetector},
                           set.begin() + static_cast<std::ptrdiff_t>(n), set.end());
}

bool KnownParts::search(const SymptomSet& left, std::vector<SymptomSet>& parts, bool remnant,
                        int depth) const {
  if (left.empty()) return true;
  if (depth == 0) return false;
  const Symptom first = left[0];
  // Pairs before single ones: they explain more.
  for (std::size_t k = 1; k <= left.size(); ++k) {
    const bool pair = k < left.size();
    const auto it = observables_.find({first, pair ? left[k] : kNoDetector});
    if (it == observables_.end()) continue;
    SymptomSet rest;
    for (std::size_t j = 1; j < left.size(); ++j) {
      if (j != k) rest.push_back(left[j]);
    }
    SymptomSet& part = parts.emplace_back();
    part.push_back(first);
    if (pair) part.push_back(left[k]);
    for (Symptom s : it->second) part.push_back(s);
    if (search(rest, parts, remnant, depth - 1)) return true;
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
