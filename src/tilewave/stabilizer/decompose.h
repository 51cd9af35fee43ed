// Splitting an error that flips more than two detectors into parts that flip at most two.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

/// The parts known: errors of the model that flip one or two detectors, with their observables.
/// The first error added of those that flip the same detectors counts.
class KnownParts {
 public:
  void add(std::span<const Symptom> set);
  /// `set` as known parts; with `remnant` one last part of at most two detectors need not be known.
  std::optional<std::vector<SymptomSet>> split(const SymptomSet& set, bool remnant) const;

 private:
  static constexpr Symptom kNoDetector = kObservableBit;
  struct Detectors {
    Symptom a, b;  // b: kNoDetector where there is one only
    bool operator==(const Detectors&) const = default;
  };
  struct DetectorsHash {
    std::size_t operator()(const Detectors& d) const {
      const std::uint64_t h = (d.a * 0x9E3779B97F4A7C15ull) ^ (d.b * 0xD1342543DE82EF95ull);
      return h ^ (h >> 32);
    }
  };

  bool search(const SymptomSet& left, std::vector<SymptomSet>& parts, bool remnant,
              int depth) const;
  std::unordered_map<Detectors, std::vector<Symptom>, DetectorsHash> observables_;
};

std::size_t count_detectors(std::span<const Symptom> set);
inline std::size_t count_detectors(const SymptomSet& set) {
  return count_detectors(std::span<const Symptom>(set.begin(), set.end()));
}

}  // namespace tilewave::stabilizer
