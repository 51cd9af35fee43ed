#include "tilewave/stabilizer/near_clifford/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tilewave/stabilizer/near_clifford/history_tree.h"
#include "tilewave/stabilizer/sampler_tuning.h"
#include "tilewave/stabilizer/sensitivity.h"

namespace tilewave::stabilizer {
namespace {

void flip_bit(BitRow& row, std::uint64_t bit) { row[bit / 64] ^= std::uint64_t{1} << (bit % 64); }
RowSpan span_of(const std::vector<std::uint64_t>& bits) {
  RowSpan out;
  if (bits.empty()) return out;
  const auto [low, high] = std::minmax_element(bits.begin(), bits.end());
  out.first = *low / 64;
  out.words.resize(*high / 64 + 1 - out.first);
  for (std::uint64_t bit : bits) flip_bit(out.words, bit - 64 * out.first);
  return out;
}

// What each Born bit flips: the symptoms of the record that stands for it.
class BornColumns : public SensitivityVisitor {
 public:
  explicit BornColumns(const NearCliffordProgram& program) {
    for (std::uint32_t j = 0; j < program.num_born; ++j) born_of_[program.born_record[j]] = j;
    sets.resize(program.num_born);
    SensitivityWalk(program.frame, SymptomKind::kDetectors, *this).run();
  }
  void record(std::uint64_t number, const SymptomSet& set) override {
    if (const auto it = born_of_.find(number); it != born_of_.end()) sets[it->second] = set;
  }

  std::vector<SymptomSet> sets;

 private:
  std::map<std::uint64_t, std::uint32_t> born_of_;
};

}  // namespace

NearCliffordTables::NearCliffordTables(NearCliffordProgram compiled,
                                       std::variant<SparseProgram, FrameProgram> rows, BitRow added)
    : program(std::move(compiled)), frames(std::move(rows)), reference(std::move(added)) {
  words = (program.num_bits + program.num_signs + 63) / 64;
  most_block_shots = kMostBlockSteps / std::max(1.0, program.amplitude_steps());
  if (auto* sparse = std::get_if<SparseProgram>(&frames)) {
    const auto log2_most = static_cast<std::uint32_t>(std::log2(std::max(64.0, most_block_shots)));
    if (log2_most < sparse->log2_unit) set_unit(*sparse, log2_most);
  }
  const std::uint64_t detectors = program.frame.counts.detectors;
  for (const SymptomSet& set : BornColumns(program).sets) {
    std::vector<std::uint64_t> bits;
    for (Symptom s : set)
      bits.push_back(s & kObservableBit ? detectors + (s & ~kObservableBit) : s);
    columns.push_back(span_of(bits));
  }
  signs.resize(words);
  for (std::uint32_t j = 0; j < program.num_signs; ++j) flip_bit(signs, program.num_bits + j);
  make_leaves();
}

void NearCliffordTables::make_leaves() {
  std::size_t open = 0;
  for (double p : program.default_chance) open += p > 0;
  const double most =
      std::min<double>(kMostLeaves, kMostLeafSteps / (1 + program.amplitude_steps()));
  if (std::ldexp(1.0, static_cast<int>(std::min<std::size_t>(open, 60))) > most) return;
  HistoryTree tree(program, program.num_bits, 0);
  double end = 0;
  for (auto& leaf : tree.default_leaves(columns, words, static_cast<std::size_t>(most))) {
    end += leaf.probability;
    leaf_ends.push_back(end);
    leaves.push_back(std::move(leaf.flips));
  }
  if (leaves.empty()) {  // nothing is measured, or it is too much
    if (program.num_born == 0) leaves.push_back(BitRow(words)), leaf_ends.push_back(1);
  }
  if (leaves.empty()) return;
  leaf_ends.back() = 2;  // every uniform number ends somewhere
  constexpr std::size_t kGuides = std::size_t{1} << kLog2Guides;
  std::uint32_t leaf = 0;
  for (std::size_t g = 0; g < kGuides; ++g) {
    while (leaf_ends[leaf] <= static_cast<double>(g) / kGuides) ++leaf;
    guides.push_back(leaf);
  }
}

void NearCliffordTables::widen(std::size_t row_words) {
  words = row_words;
  signs.resize(words);
  for (BitRow& leaf : leaves) leaf.resize(words);
}

ZeroChecks NearCliffordTables::checks_for(const BitRow& must_be_zero) const {
  ZeroChecks checks;
  checks.all = must_be_zero;
  checks.all.resize(words);
  checks.first = checks.all;
  checks.behind.resize(program.num_born);
  for (std::uint32_t j = program.num_born; j-- > 0;) {
    if (!columns[j].meets(checks.first.data())) continue;
    RowSpan now = columns[j];
    for (std::size_t w = 0; w < now.words.size(); ++w) {
      std::uint64_t& first = checks.first[now.first + w];
      now.words[w] &= first;
      first &= ~now.words[w];
    }
    checks.behind[j] = std::move(now);
  }
  return checks;
}

std::string NearCliffordTables::explain() const {
  std::uint64_t open = 0;
  for (double p : program.default_chance) open += p > 0;
  return describe(program) + "outcomes open in the default history " + std::to_string(open) +
         " of " + std::to_string(program.num_born) +
         (leaves.empty() ? "" : ", taken together in " + std::to_string(leaves.size()) + " ways") +
         "\n";
}

}  // namespace tilewave::stabilizer
