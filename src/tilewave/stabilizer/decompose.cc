#include "tilewave/stabilizer/decompose.h"

#include <algorithm>
#include <bit>

namespace tilewave::stabilizer {

std::size_t count_detectors(std::span<const Symptom> list) {
  return static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [](Symptom s) { return !(s & kObservableBit); }));
}

SetHash hash_of_parts(std::span<const SetHash> parts) {
  if (parts.size() == 1) return parts[0];
  SetHash out;
  std::uint64_t place = 3;  // apart from those of tags
  for (const SetHash& part : parts) {
    const SetHash h = hash_at(part, place++);
    out.a += h.a, out.b += h.b;
  }
  return out;
}

SetHash hash_of_parts(std::span<const Symptom> list) {
  std::vector<SetHash> parts;
  for_each_part(list, [&](std::span<const Symptom> part) { parts.push_back(hash_of(part)); });
  return hash_of_parts(parts);
}

ChannelParts::ChannelParts(const BranchSets& sets)
    : sets_(sets), num_branches_(std::size_t{1} << sets.num_generators()) {
  for (std::size_t k = 0; k < num_branches_; ++k)
    parts_[k][0] = static_cast<std::uint8_t>(k), num_parts_[k] = 1;
  // Bits for the detectors of the generators, then of all branches.
  std::array<Symptom, kMostDetectors> found;
  std::size_t num_found = 0;
  for (std::size_t g = 0; g < sets.num_generators(); ++g) {
    std::uint64_t& bits = detectors_[std::size_t{1} << g];
    for (Symptom s : sets.generator(g)) {
      if (s & kObservableBit) break;  // the rest of a set
      const auto at = static_cast<std::size_t>(
          std::find(found.begin(), found.begin() + num_found, s) - found.begin());
      if (at == kMostDetectors) return;
      if (at == num_found) found[num_found++] = s;
      bits |= std::uint64_t{1} << at;
    }
  }
  for (std::size_t k = 1; k < num_branches_; ++k) {
    detectors_[k] = detectors_[k & (k - 1)] ^ detectors_[k & (~k + 1)];
    if (std::popcount(detectors_[k]) == 1) singles_ |= detectors_[k];
  }
  const auto is_pair = [&](std::size_t k) {
    return std::popcount(detectors_[k]) == 2 && (detectors_[k] & ~singles_);
  };
  for (std::size_t k = 1; k < num_branches_; ++k) {
    if (is_pair(k)) pairs_[num_pairs_++] = static_cast<std::uint8_t>(k);
  }
  for (std::size_t k = 1; k < num_branches_; ++k) {
    if (std::popcount(detectors_[k]) >= 2 && !is_pair(k)) split(k);
  }
}

void ChannelParts::split(std::size_t branch) {
  const std::uint64_t goal = detectors_[branch];
  auto& parts = parts_[branch];
  auto& count = num_parts_[branch];
  count = 0;
  // The pairs chosen so far, and single-detector branches.
  const auto complete = [&](std::uint64_t paired, SetHash rest) {
    if (goal & ~(paired | singles_)) return false;
    const auto pairs = count;
    if (!add_singles(branch, goal & ~paired, rest)) return false;
    std::sort(parts.begin() + pairs, parts.begin() + count);
    return true;
  };
  const auto fits = [&](std::uint64_t pair) { return !(pair & ~goal); };
  const SetHash hash = sets_.hash(branch);
  if (complete(0, hash)) return;
  for (std::size_t i = 0; i < num_pairs_; ++i) {
    const std::uint64_t one = detectors_[pairs_[i]];
    if (!fits(one)) continue;
    parts[0] = pairs_[i], count = 1;
    if (complete(one, hash ^ sets_.hash(pairs_[i]))) return;
  }
  for (std::size_t i = 0; i < num_pairs_; ++i) {
    const std::uint64_t one = detectors_[pairs_[i]];
    for (std::size_t j = i + 1; j < num_pairs_; ++j) {
      const std::uint64_t two = detectors_[pairs_[j]];
      if (!fits(one) || !fits(two) || (one & two)) continue;
      parts[0] = pairs_[i], parts[1] = pairs_[j], count = 2;
      if (!complete(one | two, hash ^ sets_.hash(pairs_[i]) ^ sets_.hash(pairs_[j]))) continue;
      if (sets_.set(parts[1])[0] < sets_.set(parts[0])[0]) std::swap(parts[0], parts[1]);
      return;
    }
  }
  parts[0] = static_cast<std::uint8_t>(branch), count = 1;
}

// Adds single-detector branches until `goal` is reached, together with the parts so far.
bool ChannelParts::add_singles(std::size_t branch, std::uint64_t goal, SetHash rest) {
  if (goal == 0) return rest == SetHash{};
  const std::uint64_t lowest = goal & (~goal + 1);
  for (std::size_t k = 1; k < num_branches_; ++k) {
    if (detectors_[k] != lowest) continue;
    const std::uint8_t count = num_parts_[branch]++;
    parts_[branch][count] = static_cast<std::uint8_t>(k);
    if (add_singles(branch, goal & ~lowest, rest ^ sets_.hash(k))) return true;
    num_parts_[branch] = count;
  }
  return false;
}

std::uint32_t KnownParts::number_of(SymptomSet observables) {
  const auto [it, fresh] =
      numbers_.try_emplace(std::move(observables), static_cast<std::uint32_t>(sets_.size()));
  if (fresh) sets_.push_back(it->first);
  return it->second;
}

namespace {
Symptom moved(Symptom s, std::int64_t down) {
  return s & kObservableBit ? s : s - static_cast<std::uint64_t>(down);
}
}  // namespace

bool KnownParts::is_before(const Known& known, std::span<const Symptom> list, std::int64_t shift) {
  const std::size_t size = std::min<std::size_t>(known.size, list.size());
  for (std::size_t k = 0; k < size; ++k) {
    const Symptom a = moved(known.list[k], known.shift), b = moved(list[k], shift);
    if (a != b) return a < b;
  }
  return known.size < list.size();
}

void KnownParts::add(std::span<const Symptom> list, std::int64_t shift) {
  for_each_part(list, [&](std::span<const Symptom> part) {
    const std::size_t n = count_detectors(part);
    if (n != 1 && n != 2) return;
    if (shift > 0 && part[0] < static_cast<std::uint64_t>(shift)) return;
    const auto [it, fresh] =
        parts_.try_emplace({moved(part[0], shift), n == 2 ? moved(part[1], shift) : kNoDetector});
    Known& known = it->second;
    if (!fresh && !is_before(known, list, shift)) return;
    known = {number_of({part.begin() + static_cast<std::ptrdiff_t>(n), part.end()}),
             static_cast<std::uint32_t>(list.size()), list.data(), shift};
  });
}

const KnownParts::Known* KnownParts::find(const Detectors& detectors) const {
  const auto it = parts_.find(detectors);
  return it == parts_.end() ? nullptr : &it->second;
}

// Takes the lowest detector left with another one, then alone.
struct KnownParts::Search {
  static constexpr std::uint64_t kMostSteps = 100'000;

  Search(const KnownParts& all, std::span<const Symptom> goal)
      : known(all), set(goal), num_detectors(count_detectors(goal)), done(num_detectors) {}

  const KnownParts& known;
  std::span<const Symptom> set;
  std::size_t num_detectors;
  std::vector<bool> done;
  struct Part {
    std::size_t a, b;  // of the set; equal where there is one only
    std::uint32_t observables;
  };
  std::vector<Part> parts;

  SymptomSet missing_observables() const {
    SymptomSet out(set.begin() + static_cast<std::ptrdiff_t>(num_detectors), set.end());
    for (const Part& part : parts) toggle(out, known.sets_[part.observables]);
    return out;
  }
  // A place for every part taken, and the last: what is tried there next.
  struct Place {
    std::size_t first, next;
  };
  bool exact() {
    std::vector<Place> path;
    const auto open = [&](std::size_t from) {
      while (from < num_detectors && done[from]) ++from;
      path.push_back({from, from + 1});
    };
    open(0);
    for (std::uint64_t steps = 0; !path.empty() && steps < kMostSteps;) {
      Place& place = path.back();
      if (place.first == num_detectors && missing_observables().empty()) return true;
      bool taken = false;
      while (!taken && place.first < num_detectors && place.next <= num_detectors) {
        const std::size_t k = place.next++;
        if (k == num_detectors) {
          taken = take(place.first, place.first);
        } else if (!done[k]) {
          taken = take(place.first, k);
        }
      }
      if (taken) {
        open(place.first + 1), ++steps;
      } else {
        path.pop_back();
        if (!path.empty()) give_back();
      }
    }
    return false;
  }
  void greedy() {
    for (std::size_t a = 0; a < num_detectors; ++a) {
      for (std::size_t b = a + 1; b < num_detectors && !done[a]; ++b) {
        if (!done[b]) take(a, b);
      }
    }
    for (std::size_t a = 0; a < num_detectors; ++a) {
      if (!done[a]) take(a, a);
    }
  }
  bool take(std::size_t a, std::size_t b) {
    const Known* const part = known.find({set[a], a == b ? kNoDetector : set[b]});
    if (part == nullptr) return false;
    parts.push_back({a, b, part->observables});
    done[a] = done[b] = true;
    return true;
  }
  void give_back() {
    done[parts.back().a] = done[parts.back().b] = false;
    parts.pop_back();
  }
  std::vector<Symptom> list() const {
    std::vector<Symptom> out;
    for (const Part& part : parts) {
      if (!out.empty()) out.push_back(kNextPart);
      out.push_back(set[part.a]);
      if (part.b != part.a) out.push_back(set[part.b]);
      const SymptomSet& observables = known.sets_[part.observables];
      out.insert(out.end(), observables.begin(), observables.end());
    }
    return out;
  }
};

std::vector<Symptom> KnownParts::split(std::span<const Symptom> set) const {
  Search search(*this, set);
  return search.exact() ? search.list() : std::vector<Symptom>{};
}

std::vector<Symptom> KnownParts::split_off(std::span<const Symptom> set) const {
  Search search(*this, set);
  search.greedy();
  const auto left = std::count(search.done.begin(), search.done.end(), false);
  if (left > 2) return {};
  std::vector<Symptom> out = search.list();
  const SymptomSet observables = search.missing_observables();
  if (left == 0 && observables.empty()) return out;
  if (!out.empty()) out.push_back(kNextPart);
  for (std::size_t k = 0; k < search.num_detectors; ++k) {
    if (!search.done[k]) out.push_back(set[k]);
  }
  out.insert(out.end(), observables.begin(), observables.end());
  return out;
}

}  // namespace tilewave::stabilizer
