// Splitting errors into parts that flip at most two detectors, the edges of a matching graph. Two
// sources of parts, in this order:
//   - the other branches of the channel an error belongs to: the Y of a qubit is its X and its Z,
//     which need not be seen by the same kind of checks;
//   - the parts known elsewhere in the model.
// A list of parts is stored flat, with kNextPart between them.
#pragma once

#include <array>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {

constexpr Symptom kNextPart = ~Symptom{0};

/// Of a set or a list of parts.
std::size_t count_detectors(std::span<const Symptom> list);

/// Calls f(part) for the parts of a list.
template <class F>
void for_each_part(std::span<const Symptom> list, F f) {
  for (std::size_t first = 0, k = 0; k <= list.size(); ++k) {
    if (k < list.size() && list[k] != kNextPart) continue;
    f(list.subspan(first, k - first));
    first = k + 1;
  }
}

/// A hash of a list of parts, whatever their order; that of a single part is its own.
SetHash hash_of_parts(std::span<const SetHash> parts);
SetHash hash_of_parts(std::span<const Symptom> list);

/// How the branches of a channel split into each other. Its atoms are the branches that flip one
/// detector, and those that flip two of which such branches do not make both. Another branch is
/// split into atoms of disjoint detectors where these flip the same observables together: at most
/// two pairs, as few as possible.
class ChannelParts {
 public:
  explicit ChannelParts(const BranchSets& sets);
  /// The branches that make this one; itself where it is not split.
  std::span<const std::uint8_t> parts(std::size_t branch) const {
    return {parts_[branch].data(), num_parts_[branch]};
  }

 private:
  static constexpr std::size_t kMostDetectors =
      64;  // of a channel; one with more keeps its branches
  void split(std::size_t branch);
  // Adds single-detector branches until `goal` is reached, together with the parts so far.
  bool add_singles(std::size_t branch, std::uint64_t goal, SetHash rest);

  const BranchSets& sets_;
  std::size_t num_branches_;
  std::array<std::uint64_t, 16> detectors_{};  // a bit for each detector of the channel
  std::uint64_t singles_ = 0;                  // detectors of the branches that flip one
  std::uint8_t pairs_[16] = {};
  std::size_t num_pairs_ = 0;
  std::array<std::array<std::uint8_t, 16>, 16> parts_;
  std::array<std::uint8_t, 16> num_parts_{};
};

/// The parts known: errors of the model, and parts of such, that flip one or two detectors.
class KnownParts {
 public:
  /// `shift` is subtracted from the detectors; nothing is added that would become negative.
  void add(std::span<const Symptom> part, std::int64_t shift = 0);
  /// A set of more than two detectors as a list of parts: all known and flipping the observables of
  /// the set; else, with `remnant`, all but the last are known, which makes up for what the others
  /// miss. Empty when there is no such split.
  std::vector<Symptom> split(std::span<const Symptom> set, bool remnant) const;

 private:
  static constexpr Symptom kNoDetector = kObservableBit;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
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
  // One way to flip observables with given detectors; others follow at `next`.
  struct Variant {
    std::uint32_t observables;  // in sets_
    std::uint32_t next = kNone;
  };
  struct Search;

  std::uint32_t number_of(SymptomSet observables);

  std::unordered_map<Detectors, Variant, DetectorsHash> parts_;
  std::vector<Variant> more_;
  std::vector<SymptomSet> sets_;  // of observables: few in a model
  std::map<SymptomSet, std::uint32_t> numbers_;
};

}  // namespace tilewave::stabilizer
