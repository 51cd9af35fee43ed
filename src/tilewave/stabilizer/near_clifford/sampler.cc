#include "tilewave/stabilizer/near_clifford/sampler.h"

#include <algorithm>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cpu/random_words.h"
#include "tilewave/stabilizer/cpu/sparse_run.h"
#include "tilewave/stabilizer/noise.h"
#include "tilewave/stabilizer/sampler_tuning.h"
#include "tilewave/stabilizer/sparse_streams.h"

namespace tilewave::stabilizer {

// The memory of one thread.
struct NearCliffordSampler::Worker {
  Worker(const NearCliffordSampler& s)
      : tree(s.program_, s.program_.num_bits, kHistoryBytes),
        rows(s.tables_.words * s.block_shots_ + 8) {}

  HistoryTree tree;
  std::vector<std::uint64_t> rows;  // tables_.words a shot
  std::vector<std::uint64_t> scratch, words;
  std::vector<std::uint8_t> bytes;
  std::unique_ptr<FrameBatch> batch;
  FaultRows::Scratch faults;
};

NearCliffordSampler::NearCliffordSampler(NearCliffordTables tables, int num_threads,
                                         std::shared_ptr<const FaultRows> faults)
    : tables_(std::move(tables)),
      faults_(std::move(faults)),
      workers_(static_cast<std::size_t>(num_threads)) {
  if (const auto* sparse = std::get_if<SparseProgram>(&tables_.frames)) {
    block_shots_ = std::uint64_t{1} << sparse->log2_unit;
    if (faults_ ? !faults_->is_wide() : !has_wide_rows(*sparse)) return;
    wide_ = wide_tables(*sparse);
    tables_.widen(wide_->words);
    return;
  }
  // Where a shot may take long, a block has few, so that threads share them.
  const FrameProgram& f = std::get<FrameProgram>(tables_.frames);
  block_shots_ = kLargestBatch;
  while (block_shots_ > 512 && (FrameBatch::bytes_for(f, block_shots_) > kBatchBytes ||
                                static_cast<double>(block_shots_) > tables_.most_block_shots))
    block_shots_ /= 2;
  if (FrameBatch::bytes_for(f, block_shots_) > kLargestBytes) {
    throw Error(ExitCode::kResources,
                "512 shots of this circuit do not fit memory: shorten its REPEAT blocks");
  }
}

NearCliffordSampler::~NearCliffordSampler() = default;

const BitRow& NearCliffordSampler::draw_leaf(std::uint64_t bits) const {
  std::uint32_t leaf = tables_.guides[bits >> (64 - NearCliffordTables::kLog2Guides)];
  const double u = static_cast<double>(bits >> 11) * 0x1p-53;
  while (u >= tables_.leaf_ends[leaf]) ++leaf;
  return tables_.leaves[leaf];
}

void NearCliffordSampler::make_rows(Worker& w, std::uint64_t seed, std::uint64_t block) const {
  if (wide_) {
    const auto& sparse = std::get<SparseProgram>(tables_.frames);
    run_wide_unit(sparse, *wide_, seed, block, w.rows.data(), w.scratch);
    if (faults_) {
      faults_->add_wide(seed, block, sparse.log2_unit, wide_->words, w.rows.data(), w.faults);
    }
    return;
  }
  const std::size_t row_bytes = tables_.words * sizeof(std::uint64_t);
  std::memset(w.rows.data(), 0, row_bytes * block_shots_);
  auto* rows = reinterpret_cast<std::uint8_t*>(w.rows.data());
  if (const auto* sparse = std::get_if<SparseProgram>(&tables_.frames)) {
    const std::size_t stride = sparse->row_bytes();
    w.bytes.resize(stride * block_shots_ + 64);
    run_sparse_unit(*sparse, seed, block, w.bytes.data(), w.scratch);
    if (faults_) faults_->add(seed, block, sparse->log2_unit, stride, w.bytes.data(), w.faults);
    for (std::uint64_t s = 0; s < block_shots_; ++s)
      std::memcpy(rows + s * row_bytes, w.bytes.data() + s * stride, stride);
    return;
  }
  if (!w.batch) {
    w.batch = std::make_unique<FrameBatch>(std::get<FrameProgram>(tables_.frames),
                                           static_cast<std::uint32_t>(block_shots_));
  }
  w.batch->run(seed, block * (block_shots_ / 32));
  transpose_rows(w.batch->output(), program_.num_bits + program_.num_signs, w.batch->row_words(),
                 block_shots_, rows, row_bytes);
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
bool NearCliffordSampler::finish_shot(Worker& w, const ZeroChecks* checks, std::uint64_t seed,
                                      std::uint64_t shot, std::uint64_t* row) const {
  if (program_.num_born == 0) return true;
  w.tree.begin(row);
  for (std::uint32_t j = 0;; ++j) {
    const double chance = w.tree.chance();
    bool outcome = chance == 1;
    if (chance > 0 && chance < 1)
      outcome = static_cast<double>(born_bits(seed, shot, j) >> 11) * 0x1p-53 < chance;
    if (outcome) tables_.columns[j].flip(row);
    if (checks && checks->behind[j].meets(row)) return false;
    if (j + 1 == program_.num_born) return true;
    w.tree.next(outcome, row);
  }
}

// Rows to shots; kWords is the number of words of a row, or 0 for any.
template <std::size_t kWords>
std::uint64_t NearCliffordSampler::finish_rows(Worker& w, const ZeroChecks* checks,
                                               std::uint64_t seed, std::uint64_t first_shot,
                                               std::uint64_t first, std::uint64_t end,
                                               std::uint8_t* out) const {
  const std::size_t words = kWords ? kWords : tables_.words, bytes = row_bytes();
  const auto meets = [&](const std::uint64_t* mask, const std::uint64_t* row) {
    std::uint64_t any = 0;
    for (std::size_t k = 0; k < words; ++k) any |= mask[k] & row[k];
    return any != 0;
  };
  const std::size_t out_words = (bytes + 7) / 8;
  const std::uint64_t last = num_bits() % 64 ? (std::uint64_t{1} << (num_bits() % 64)) - 1 : ~0ull;
  const bool draws = tables_.leaves.size() > 1, has_leaves = !tables_.leaves.empty();
  std::uint8_t* to = out;
  for (std::uint64_t s = first; s < end; ++s) {
    std::uint64_t* row = w.rows.data() + s * words;
    if (checks && meets(checks->first.data(), row)) continue;
    if (has_leaves && !meets(tables_.signs.data(), row)) {
      if (draws) {
        const BitRow& leaf = draw_leaf(checks ? born_bits(seed, first_shot + s, 0) : w.words[s]);
        for (std::size_t k = 0; k < words; ++k) row[k] ^= leaf[k];
      }
      if (checks && meets(checks->all.data(), row)) continue;
    } else if (!finish_shot(w, checks, seed, first_shot + s, row)) {
      continue;
    }
    for (std::size_t k = 0; k < tables_.reference.size(); ++k) row[k] ^= tables_.reference[k];
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
  std::optional<ZeroChecks> kept;
  if (must_be_zero) kept = tables_.checks_for(*must_be_zero);
  const ZeroChecks* checks = kept ? &*kept : nullptr;
  const std::uint64_t first_shot = block * block_shots_;
  // Where most shots draw a leaf, their random bits are made together.
  if (tables_.leaves.size() > 1 && !checks) {
    w.words.resize(block_shots_ + 64);
    for (std::uint64_t s = 0; s < block_shots_; s += 64) {
      const UnitStream stream{static_cast<std::uint32_t>(seed),
                              static_cast<std::uint32_t>(seed >> 32), (first_shot + s) >> 6,
                              kBornStream};
      random_words(stream, 0, 32, w.words.data() + s);
    }
  }
  switch (tables_.words) {
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
  return tables_.explain() + "words of a row " + std::to_string(tables_.words) +
         ", shots a block " + std::to_string(block_shots_) + "\n";
}

}  // namespace tilewave::stabilizer
