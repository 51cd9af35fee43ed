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
  for (const SetHash& part : parts) {
    const SetHash h = hash_at(part, 1);
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
  const SetHash hash = sets_.hash(branch);
  auto& parts = parts_[branch];
  auto& count = num_parts_[branch];
  count = 0;
  if (!(goal & ~singles_) && add_singles(branch, goal, hash)) return;
  const auto fits = [&](std::uint64_t pair) { return !(pair & ~goal); };
  for (std::size_t i = 0; i < num_pairs_; ++i) {
    const std::uint64_t one = detectors_[pairs_[i]];
    if (!fits(one) || (goal & ~(one | singles_))) continue;
    parts[0] = pairs_[i], count = 1;
    if (add_singles(branch, goal & ~one, hash ^ sets_.hash(pairs_[i]))) return;
  }
  for (std::size_t i = 0; i < num_pairs_; ++i) {
    const std::uint64_t one = detectors_[pairs_[i]];
    for (std::size_t j = i + 1; j < num_pairs_; ++j) {
      const std::uint64_t two = detectors_[pairs_[j]];
      if (!fits(one) || !fits(two) || (one & two) || (goal & ~(one | two | singles_))) continue;
      parts[0] = pairs_[i], parts[1] = pairs_[j], count = 2;
      if (add_singles(branch, goal & ~(one | two),
                      hash ^ sets_.hash(pairs_[i]) ^ sets_.hash(pairs_[j])))
        return;
    }
  }
  parts[0] = static_cast<std::uint8_t>(branch), count = 1;
}

bool ChannelParts::add_singles(std::size_t branch, std::uint64_t goal, SetHash rest) {
  if (goal == 0) return rest == SetHash{};
  const std::uint64_t lowest = goal & (~goal + 1);
  for (std::size_t k = 1; k < num_branches_; ++k) {
    if (detectors_[k] != lowest) continue;
    parts_[branch][num_parts_[branch]++] = static_cast<std::uint8_t>(k);
    if (add_singles(branch, goal & ~lowest, rest ^ sets_.hash(k))) return true;
    --num_parts_[branch];
  }
  return false;
}

std::uint32_t KnownParts::number_of(SymptomSet observables) {
  const auto [it, fresh] =
      numbers_.try_emplace(std::move(observables), static_cast<std::uint32_t>(sets_.size()));
  if (fresh) sets_.push_back(it->first);
  return it->second;
}

void KnownParts::add(std::span<const Symptom> part, std::int64_t shift) {
  const std::size_t n = count_detectors(part);
  if (n != 1 && n != 2) return;
  if (shift > 0 && part[0] < static_cast<std::uint64_t>(shift)) return;
  const auto moved = [&](Symptom s) { return s - static_cast<std::uint64_t>(shift); };
  SymptomSet rest;
  for (Symptom s : part.subspan(n)) rest.push_back(s);
  const std::uint32_t number = number_of(std::move(rest));
  const auto [it, fresh] =
      parts_.try_emplace({moved(part[0]), n == 2 ? moved(part[1]) : kNoDetector}, Variant{number});
  if (fresh) return;
  Variant* v = &it->second;
  while (v->observables != number && v->next != kNone) v = &more_[v->next];
  if (v->observables == number) return;
  v->next = static_cast<std::uint32_t>(more_.size());
  more_.push_back({number});  // after the last use of v, which may lie in more_
}

// Takes the lowest detector left with another one, then alone; with a remnant, leaves up to two.
struct KnownParts::Search {
  static constexpr std::uint64_t kMostSteps = 100'000;

  Search(const KnownParts& all, std::span<const Symptom> goal, bool with_remnant)
      : known(all),
        set(goal),
        num_detectors(count_detectors(goal)),
        remnant(with_remnant),
        done(num_detectors) {}

  const KnownParts& known;
  std::span<const Symptom> set;
  std::size_t num_detectors;
  bool remnant;
  std::vector<bool> done;
  struct Part {
    std::size_t a, b;  // of the set; equal where there is one only
    std::uint32_t observables;
  };
  std::vector<Part> parts;
  std::vector<std::size_t> left;
  std::uint64_t steps = 0;

  SymptomSet missing_observables() const {
    SymptomSet out(set.begin() + static_cast<std::ptrdiff_t>(num_detectors), set.end());
    for (const Part& part : parts) toggle(out, known.sets_[part.observables]);
    return out;
  }

  bool from(std::size_t first) {
    if (++steps > kMostSteps) return false;
    while (first < num_detectors && done[first]) ++first;
    if (first == num_detectors) return remnant || missing_observables().empty();
    done[first] = true;
    for (std::size_t k = first + 1; k < num_detectors; ++k) {
      if (done[k]) continue;
      done[k] = true;
      if (take(first, k, {set[first], set[k]})) return true;
      done[k] = false;
    }
    if (take(first, first, {set[first], kNoDetector})) return true;
    if (remnant && left.size() < 2) {
      left.push_back(first);
      if (from(first + 1)) return true;
      left.pop_back();
    }
    done[first] = false;
    return false;
  }
  bool take(std::size_t a, std::size_t b, const Detectors& detectors) {
    const auto it = known.parts_.find(detectors);
    if (it == known.parts_.end()) return false;
    for (const Variant* v = &it->second;; v = &known.more_[v->next]) {
      parts.push_back({a, b, v->observables});
      if (from(a + 1)) return true;
      parts.pop_back();
      if (v->next == kNone || remnant) return false;  // the remnant makes up for observables
    }
  }
};

std::vector<Symptom> KnownParts::split(std::span<const Symptom> set, bool remnant) const {
  std::vector<Symptom> out;
  for (bool with_remnant : {false, true}) {
    if (with_remnant && !remnant) break;
    Search search(*this, set, with_remnant);
    if (!search.from(0)) continue;
    SymptomSet missing = search.missing_observables();
    if (!search.left.empty()) search.parts.push_back({});
    for (std::size_t k = 0; k < search.parts.size(); ++k) {
      const Search::Part& part = search.parts[k];
      const bool last = k + 1 == search.parts.size(), left = last && !search.left.empty();
      if (k > 0) out.push_back(kNextPart);
      SymptomSet observables;
      if (left) {
        for (std::size_t d : search.left) out.push_back(set[d]);
      } else {
        observables = sets_[part.observables];
        out.push_back(set[part.a]);
        if (part.b != part.a) out.push_back(set[part.b]);
      }
      if (last) toggle(observables, missing);
      out.insert(out.end(), observables.begin(), observables.end());
    }
    break;
  }
  return out;
}

}  // namespace tilewave::stabilizer
