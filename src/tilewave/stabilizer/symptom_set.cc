#include "tilewave/stabilizer/symptom_set.h"

namespace tilewave::stabilizer {

void SymptomSet::toggle_one(Symptom s) {
  Symptom* at = std::lower_bound(begin(), end(), s);
  const auto before = static_cast<std::size_t>(at - begin()), behind = size_ - before;
  if (behind > 0 && *at == s) {
    if (before < behind && capacity_ > kInPlace) {
      std::copy_backward(begin(), at, at + 1);
      ++far_.first;
    } else {
      std::copy(at + 1, end(), at);
    }
    --size_;
    return;
  }
  if (before < behind && capacity_ > kInPlace) {
    if (front_room() == 0) grow(size_, capacity_);
    std::copy(begin(), begin() + before, begin() - 1);
    --far_.first;
    data()[before] = s;
    ++size_;
  } else {
    push_back(s);
    at = begin() + before;
    std::copy_backward(at, end() - 1, end());
    *at = s;
  }
}

void toggle(SymptomSet& a, const SymptomSet& b) {
  constexpr std::size_t kMuchLarger = 16;
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
    return;
  }
  if (a.size() > kMuchLarger * b.size()) {
    for (Symptom s : b) a.toggle_one(s);
    return;
  }
  SymptomSet out;
  out.reserve(a.size() + b.size());
  const Symptom *x = a.begin(), *const x_end = a.end(), *y = b.begin(), *const y_end = b.end();
  Symptom* to = out.data();
  while (x != x_end && y != y_end) {  // without a branch on which of them is lower
    const Symptom xs = *x, ys = *y;
    *to = xs < ys ? xs : ys;
    to += xs != ys;
    x += xs <= ys;
    y += ys <= xs;
  }
  to = std::copy(x, x_end, to);
  to = std::copy(y, y_end, to);
  out.set_size(static_cast<std::size_t>(to - out.data()));
  a = std::move(out);
}

std::string names_of(const SymptomSet& set) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t k = 0; k < std::min(kMost, set.size()); ++k) {
    out += k ? " " : "";
    out += set[k] & kObservableBit ? 'L' : 'D';
    out += std::to_string(set[k] & ~kObservableBit);
  }
  return set.size() > kMost ? out + " ..." : out;
}

namespace {
std::uint64_t mixed(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9ull;
  v = (v ^ (v >> 27)) * 0x94D049BB133111EBull;
  return v ^ (v >> 31);
}
}  // namespace

SetHash hash_of(std::span<const Symptom> set, std::uint64_t shift) {
  SetHash h;
  for (Symptom s : set) {
    if (!(s & kObservableBit)) s = (s - shift) & ~kObservableBit;
    h.a ^= mixed(s + 0x9E3779B97F4A7C15ull);
    h.b ^= mixed(s * 0xD1342543DE82EF95ull + 0x2545F4914F6CDD1Dull);
  }
  return h;
}

SetHash hash_at(const SetHash& h, std::uint64_t place) {
  return {mixed(h.a + place * 0x9E3779B97F4A7C15ull), mixed(h.b ^ mixed(place + 1))};
}

BranchSets::BranchSets(std::initializer_list<const SymptomSet*> generators) {
  for (const SymptomSet* g : generators) {
    const SetHash h = hash_of(*g);
    for (std::size_t k = 0; k < std::size_t{1} << num_; ++k)
      hashes_[(std::size_t{1} << num_) + k] = hashes_[k] ^ h;
    generators_[num_++] = g;
  }
}

SymptomSet BranchSets::set(std::size_t branch) const {
  SymptomSet out;
  for (std::size_t g = 0; g < num_; ++g) {
    if ((branch >> g) & 1) toggle(out, *generators_[g]);
  }
  return out;
}

}  // namespace tilewave::stabilizer
