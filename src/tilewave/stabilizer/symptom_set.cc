#include "tilewave/stabilizer/symptom_set.h"

namespace tilewave::stabilizer {

void toggle(SymptomSet& a, const SymptomSet& b) {
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
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

SetHash hash_of(const SymptomSet& set) {
  SetHash h;
  for (Symptom s : set) {
    h.a ^= mixed(s + 0x9E3779B97F4A7C15ull);
    h.b ^= mixed(s * 0xD1342543DE82EF95ull + 0x2545F4914F6CDD1Dull);
  }
  return h;
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
  for_each_part(branch, [&](const SymptomSet& part) { toggle(out, part); });
  return out;
}

}  // namespace tilewave::stabilizer
