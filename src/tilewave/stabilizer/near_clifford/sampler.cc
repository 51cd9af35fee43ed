#include "tilewave/stabilizer/near_clifford/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cpu/random_words.h"
#include "tilewave/stabilizer/cpu/sparse_run.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sampler_tuning.h"
#include "tilewave/stabilizer/sensitivity.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {
namespace {

constexpr int kLog2Guides = 10;
constexpr std::size_t kGuides = std::size_t{1} << kLog2Guides;

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
  void noise(const Prim&, const SensitivityWalk&) override {}
  void coin(const Prim*, std::uint32_t, const SymptomSet&) override {}
  void record(std::uint64_t number, const SymptomSet& set) override {
    if (const auto it = born_of_.find(number); it != born_of_.end()) sets[it->second] = set;
  }

  std::vector<SymptomSet> sets;

 private:
  std::map<std::uint64_t, std::uint32_t> born_of_;
};

}  // namespace

// The memory of one thread.
struct NearCliffordSampler::Worker {
  Worker(const NearCliffordSampler& s)
      : tree(s.program_, s.program_.num_bits, kHistoryBytes), rows(s.words_ * s.block_shots_ + 8) {}

  HistoryTree tree;
  std::vector<std::uint64_t> rows;  // words_ a shot
  std::vector<std::uint64_t> scratch, words;
  std::vector<std::uint8_t> bytes;
  std::unique_ptr<FrameBatch> batch;
};

// The bits that must be zero, by when they are known.
struct NearCliffordSampler::Checks {
  BitRow first, all;
  std::vector<RowSpan> behind;  // the Born bits; empty where nothing is known then
};

NearCliffordSampler::NearCliffordSampler(NearCliffordProgram program,
                                         std::variant<SparseProgram, FrameProgram> frames,
                                         BitRow reference, int num_threads)
    : program_(std::move(program)),
      frames_(std::move(frames)),
      reference_(std::move(reference)),
      workers_(static_cast<std::size_t>(num_threads)) {
  words_ = (program_.num_bits + program_.num_signs + 63) / 64;
  // Where a shot may take long, a block has few, so that threads share them.
  const double most_shots = kMostBlockSteps / std::max(1.0, program_.amplitude_steps());
  if (auto* sparse = std::get_if<SparseProgram>(&frames_)) {
    const auto log2_most = static_cast<std::uint32_t>(std::log2(std::max(64.0, most_shots)));
    if (log2_most < sparse->log2_unit) set_unit(*sparse, log2_most);
    block_shots_ = std::uint64_t{1} << sparse->log2_unit;
    if (has_wide_rows(*sparse)) wide_ = wide_tables(*sparse), words_ = wide_->words;
  } else {
    const FrameProgram& f = std::get<FrameProgram>(frames_);
    block_shots_ = kLargestBatch;
    while (block_shots_ > 512 && (FrameBatch::bytes_for(f, block_shots_) > kBatchBytes ||
                                  static_cast<double>(block_shots_) > most_shots))
      block_shots_ /= 2;
    if (FrameBatch::bytes_for(f, block_shots_) > kLargestBytes) {
      throw Error(ExitCode::kResources,
                  "512 shots of this circuit do not fit memory: shorten its REPEAT blocks");
    }
  }
  const std::uint64_t detectors = program_.frame.counts.detectors;
  for (const SymptomSet& set : BornColumns(program_).sets) {
    std::vector<std::uint64_t> bits;
    for (Symptom s : set)
      bits.push_back(s & kObservableBit ? detectors + (s & ~kObservableBit) : s);
    columns_.push_back(span_of(bits));
  }
  signs_.resize(words_);
  for (std::uint32_t j = 0; j < program_.num_signs; ++j) flip_bit(signs_, program_.num_bits + j);
  make_leaves();
}

NearCliffordSampler::~NearCliffordSampler() = default;

void NearCliffordSampler::make_leaves() {
  std::size_t open = 0;
  for (double p : program_.default_chance) open += p > 0;
  const double most =
      std::min<double>(kMostLeaves, kMostLeafSteps / (1 + program_.amplitude_steps()));
  if (std::ldexp(1.0, static_cast<int>(std::min<std::size_t>(open, 60))) > most) return;
  HistoryTree tree(program_, program_.num_bits, 0);
  double end = 0;
  for (auto& leaf : tree.default_leaves(columns_, words_, static_cast<std::size_t>(most))) {
    end += leaf.probability;
    leaf_ends_.push_back(end);
    leaves_.push_back(std::move(leaf.flips));
  }
  if (leaves_.empty()) {  // nothing is measured, or it is too much
    if (program_.num_born == 0) leaves_.push_back(BitRow(words_)), leaf_ends_.push_back(1);
  }
  if (leaves_.empty()) return;
  leaf_ends_.back() = 2;  // every uniform number ends somewhere
  std::uint32_t leaf = 0;
  for (std::size_t g = 0; g < kGuides; ++g) {
    while (leaf_ends_[leaf] <= static_cast<double>(g) / kGuides) ++leaf;
    guides_.push_back(leaf);
  }
}

const BitRow& NearCliffordSampler::draw_leaf(std::uint64_t bits) const {
  std::uint32_t leaf = guides_[bits >> (64 - kLog2Guides)];
  const double u = static_cast<double>(bits >> 11) * 0x1p-53;
  while (u >= leaf_ends_[leaf]) ++leaf;
  return leaves_[leaf];
}

void NearCliffordSampler::make_rows(Worker& w, std::uint64_t seed, std::uint64_t block) const {
  if (wide_) {
    return run_wide_unit(std::get<SparseProgram>(frames_), *wide_, seed, block, w.rows.data(),
                         w.scratch);
  }
  const std::size_t row_bytes = words_ * sizeof(std::uint64_t);
  std::memset(w.rows.data(), 0, row_bytes * block_shots_);
  auto* rows = reinterpret_cast<std::uint8_t*>(w.rows.data());
  if (const auto* sparse = std::get_if<SparseProgram>(&frames_)) {
    const std::size_t stride = sparse->row_bytes();
    w.bytes.resize(stride * block_shots_ + 64);
    run_sparse_unit(*sparse, seed, block, w.bytes.data(), w.scratch);
    for (std::uint64_t s = 0; s < block_shots_; ++s)
      std::memcpy(rows + s * row_bytes, w.bytes.data() + s * stride, stride);
    return;
  }
  if (!w.batch) {
    w.batch = std::make_unique<FrameBatch>(std::get<FrameProgram>(frames_),
                                           static_cast<std::uint32_t>(block_shots_));
  }
  w.batch->run(seed, block * (block_shots_ / 32));
  transpose_rows(w.batch->output(), program_.num_bits + program_.num_signs, w.batch->row_words(),
                 block_shots_, rows, row_bytes);
}

NearCliffordSampler::Checks NearCliffordSampler::checks_for(const BitRow& must_be_zero) const {
  Checks checks;
  checks.all = must_be_zero;
  checks.all.resize(words_);
  checks.first = checks.all;
  checks.behind.resize(program_.num_born);
  for (std::uint32_t j = program_.num_born; j-- > 0;) {
    if (!columns_[j].meets(checks.first.data())) continue;
    RowSpan now = columns_[j];
    for (std::size_t w = 0; w < now.words.size(); ++w) {
      std::uint64_t& first = checks.first[now.first + w];
      now.words[w] &= first;
      first &= ~now.words[w];
    }
    checks.behind[j] = std::move(now);
  }
  return checks;
}

// The random bits of a Born bit, the first of 64 in which shot `shot` is.
std::uint64_t NearCliffordSampler::born_bits(std::uint64_t seed, std::uint64_t shot,
                                             std::uint32_t born) {
  const UnitStream stream{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                          shot >> 6, kBornStream + born};
  const Philox4x32 r = stream.block(static_cast<std::uint32_t>(shot & 63) >> 1);
  const std::size_t half = 2 * (shot & 1);
  return (std::uint64_t{r.v[half + 1]} << 32) | r.v[half];
}

// Adds the Born bits to a row; false where the shot is given up.
bool NearCliffordSampler::finish_shot(Worker& w, const Checks* checks, std::uint64_t seed,
                                      std::uint64_t shot, std::uint64_t* row) const {
  if (program_.num_born == 0) return true;
  w.tree.begin(row);
  for (std::uint32_t j = 0;; ++j) {
    const double chance = w.tree.chance();
    bool outcome = chance == 1;
    if (chance > 0 && chance < 1)
      outcome = static_cast<double>(born_bits(seed, shot, j) >> 11) * 0x1p-53 < chance;
    if (outcome) columns_[j].flip(row);
    if (checks && checks->behind[j].meets(row)) return false;
    if (j + 1 == program_.num_born) return true;
    w.tree.next(outcome, row);
  }
}

// Rows to shots; kWords is the number of words of a row, or 0 for any.
template <std::size_t kWords>
std::uint64_t NearCliffordSampler::finish_rows(Worker& w, const Checks* checks, std::uint64_t seed,
                                               std::uint64_t first_shot, std::uint64_t first,
                                               std::uint64_t end, std::uint8_t* out) const {
  const std::size_t words = kWords ? kWords : words_, bytes = row_bytes();
  const auto meets = [&](const std::uint64_t* mask, const std::uint64_t* row) {
    std::uint64_t any = 0;
    for (std::size_t k = 0; k < words; ++k) any |= mask[k] & row[k];
    return any != 0;
  };
  const std::size_t out_words = (bytes + 7) / 8;
  const std::uint64_t last = num_bits() % 64 ? (std::uint64_t{1} << (num_bits() % 64)) - 1 : ~0ull;
  const bool draws = leaves_.size() > 1, has_leaves = !leaves_.empty();
  std::uint8_t* to = out;
  for (std::uint64_t s = first; s < end; ++s) {
    std::uint64_t* row = w.rows.data() + s * words;
    if (checks && meets(checks->first.data(), row)) continue;
    if (has_leaves && !meets(signs_.data(), row)) {
      if (draws) {
        const BitRow& leaf = draw_leaf(checks ? born_bits(seed, first_shot + s, 0) : w.words[s]);
        for (std::size_t k = 0; k < words; ++k) row[k] ^= leaf[k];
      }
      if (checks && meets(checks->all.data(), row)) continue;
    } else if (!finish_shot(w, checks, seed, first_shot + s, row)) {
      continue;
    }
    for (std::size_t k = 0; k < reference_.size(); ++k) row[k] ^= reference_[k];
    // Whole words: what is behind the row is written again by the next one.
    for (std::size_t k = 0; k < out_words; ++k) {
      const std::uint64_t word = k + 1 == out_words ? row[k] & last : row[k];
      std::memcpy(to + 8 * k, &word, sizeof word);
    }
    to += bytes;
  }
  return bytes ? static_cast<std::uint64_t>(to - out) / bytes : end - first;
}

std::uint64_t NearCliffordSampler::fill(std::uint64_t seed, std::uint64_t block,
                                        std::uint64_t first, std::uint64_t end, int thread,
                                        const BitRow* must_be_zero, std::uint8_t* rows) {
  auto& worker = workers_[static_cast<std::size_t>(thread)];
  if (!worker) worker = std::make_unique<Worker>(*this);
  Worker& w = *worker;
  make_rows(w, seed, block);
  std::optional<Checks> kept;
  if (must_be_zero) kept = checks_for(*must_be_zero);
  const Checks* checks = kept ? &*kept : nullptr;
  const std::uint64_t first_shot = block * block_shots_;
  // Where most shots draw a leaf, their random bits are made together.
  if (leaves_.size() > 1 && !checks) {
    w.words.resize(block_shots_ + 64);
    for (std::uint64_t s = 0; s < block_shots_; s += 64) {
      const UnitStream stream{static_cast<std::uint32_t>(seed),
                              static_cast<std::uint32_t>(seed >> 32), (first_shot + s) >> 6,
                              kBornStream};
      random_words(stream, 0, 32, w.words.data() + s);
    }
  }
  switch (words_) {
    case 1:
      return finish_rows<1>(w, checks, seed, first_shot, first, end, rows);
    case 2:
      return finish_rows<2>(w, checks, seed, first_shot, first, end, rows);
    case 4:
      return finish_rows<4>(w, checks, seed, first_shot, first, end, rows);
    default:
      return finish_rows<0>(w, checks, seed, first_shot, first, end, rows);
  }
}

std::string NearCliffordSampler::explain() const {
  std::uint64_t open = 0;
  for (double p : program_.default_chance) open += p > 0;
  return describe(program_) + "outcomes open in the default history " + std::to_string(open) +
         " of " + std::to_string(program_.num_born) +
         (leaves_.empty() ? ""
                          : ", taken together in " + std::to_string(leaves_.size()) + " ways") +
         "\nwords of a row " + std::to_string(words_) + ", shots a block " +
         std::to_string(block_shots_) + "\n";
}

}  // namespace tilewave::stabilizer
