// Splitting errors into parts that flip at most two detectors, the edges of a matching graph. Two
// sources of parts, in this order:
//   - the other branches of the channel an error belongs to: the Y of a qubit is its X and its Z,
//     which need not be seen by the same kind of checks;
//   - the parts known elsewhere in the model.
// A list of parts is stored flat, with kNextPart between them. Where several splits are possible it
// is the one that the `stim` package suggests, in the order of parts that it gives, as far as this
// flips the observables of the error, so that decoders get the same text.
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

/// A hash of a list of parts in their order; that of a single part is its own.
SetHash hash_of_parts(std::span<const SetHash> parts);
SetHash hash_of_parts(std::span<const Symptom> list);

/// How the branches of a channel split into each other. Its atoms are the branches that flip one
/// detector, and those that flip two of which such branches do not make both. Another branch is
/// split into atoms of disjoint detectors where these flip the same observables together: at most
/// two pairs, as few as possible, the first in the order of the branches. Pairs come first, by
/// their detectors, then single ones in the order of the branches.
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

/// The parts known: errors of the model, and parts of such, that flip one or two detectors. Of
/// those that flip the same detectors and other observables the one in the last list counts, in the
/// order of lists.
class KnownParts {
 public:
  /// The parts of a list, which must outlive this. `shift` is subtracted from the detectors; a part
  /// is left out that would become negative.
  void add(std::span<const Symptom> list, std::int64_t shift = 0);
  /// A set of more than two detectors as a list of known parts that flip all of it; empty where
  /// there is none.
  std::vector<Symptom> split(std::span<const Symptom> set) const;
  /// The same with a last part that need not be known: what is left of the set, up to two detectors
  /// and any observables, behind the known pairs that come first in it, and then the known parts of
  /// one detector.
  std::vector<Symptom> split_off(std::span<const Symptom> set) const;

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
  struct Known {
    std::uint32_t observables;  // in sets_
    std::uint32_t size;         // of the list it is from
    const Symptom* list;
    std::int64_t shift;
  };
  struct Search;

  static bool is_before(const Known& known, std::span<const Symptom> list, std::int64_t shift);
  const Known* find(const Detectors& detectors) const;
  std::uint32_t number_of(SymptomSet observables);

  std::unordered_map<Detectors, Known, DetectorsHash> parts_;
  std::vector<SymptomSet> sets_;  // of observables: few in a model
  std::map<SymptomSet, std::uint32_t> numbers_;
};

}  // namespace tilewave::stabilizer
