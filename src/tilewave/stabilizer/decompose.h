// Splitting an error that flips more than two detectors into parts that flip at most two.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

/// The parts known: errors of the model that flip one or two detectors, with their observables.
class KnownParts {
 public:
  void add(const SymptomSet& set);
  /// `set` as known parts; with `remnant` one last part of at most two detectors need not be known.
  std::optional<std::vector<SymptomSet>> split(const SymptomSet& set, bool remnant) const;

 private:
  bool search(std::vector<Symptom> detectors, std::vector<SymptomSet>& parts, bool remnant,
              int depth) const;
  std::map<std::vector<Symptom>, SymptomSet> by_detectors_;
};

std::size_t count_detectors(const SymptomSet& set);

}  // namespace tilewave::stabilizer
