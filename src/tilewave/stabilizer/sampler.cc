#include "tilewave/stabilizer/sampler.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tilewave/base/error.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cpu/sparse_run.h"
#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/reference_sample.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

class SparseSource : public ShotSource {
 public:
  SparseSource(SparseProgram program, std::vector<std::uint64_t> reference)
      : program_(std::move(program)), reference_(std::move(reference)) {}
  std::uint64_t num_bits() const override { return program_.num_bits; }
  std::uint64_t block_shots() const override { return std::uint64_t{1} << program_.log2_unit; }
  void fill(std::uint64_t seed, std::uint64_t block, int, std::uint8_t* rows) override {
    thread_local std::vector<std::uint64_t> scratch;
    run_sparse_unit(program_, seed, block, rows, scratch);
    if (reference_.empty()) return;
    const auto* bits = reinterpret_cast<const std::uint8_t*>(reference_.data());
    const std::uint64_t bytes = row_bytes();
    for (std::uint64_t s = 0; s < block_shots(); ++s) {
      for (std::uint64_t k = 0; k < bytes; ++k) rows[s * bytes + k] ^= bits[k];
    }
  }
  std::string explain() const override { return "engine sparse\n" + describe(program_); }

 private:
  SparseProgram program_;
  std::vector<std::uint64_t> reference_;
};

class FrameSource : public ShotSource {
 public:
  FrameSource(FrameProgram program, std::uint64_t num_bits, std::vector<std::uint64_t> reference,
              int num_threads)
      : program_(std::move(program)),
        num_bits_(num_bits),
        reference_(std::move(reference)),
        batches_(static_cast<std::size_t>(num_threads)) {
    // As many shots as keep the frames in the second-level cache, and everything within memory.
    std::uint64_t shots = kLargestBatch;
    while (shots > 512 && FrameBatch::bytes_for(program_, shots) > kBatchBytes) shots /= 2;
    block_shots_ = shots;
    const std::uint64_t bytes = FrameBatch::bytes_for(program_, shots);
    if (bytes > kLargestBytes) {
      throw Error(ExitCode::kResources,
                  "512 shots of this circuit take " + std::to_string(bytes >> 30) +
                      " GiB of records: shorten its REPEAT blocks or ask for detectors");
    }
  }
  std::uint64_t num_bits() const override { return num_bits_; }
  std::uint64_t block_shots() const override { return block_shots_; }
  void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) override {
    auto& batch = batches_[static_cast<std::size_t>(thread)];
    if (!batch)
      batch = std::make_unique<FrameBatch>(program_, static_cast<std::uint32_t>(block_shots_));
    batch->run(seed, block * (block_shots_ / 32));
    const std::size_t words = batch->row_words();
    if (!reference_.empty()) {
      for (std::uint64_t r = 0; r < num_bits_; ++r) {
        if (!((reference_[r / 64] >> (r % 64)) & 1)) continue;
        std::uint64_t* row = batch->output() + r * words;
        for (std::size_t w = 0; w < words; ++w) row[w] = ~row[w];
      }
    }
    transpose_rows(batch->output(), num_bits_, words, block_shots_, rows, row_bytes());
  }
  std::string explain() const override {
    return "engine frame\nshots a batch " + std::to_string(block_shots_) + "\n" +
           describe(program_);
  }

 private:
  FrameProgram program_;
  std::uint64_t num_bits_, block_shots_ = 512;
  std::vector<std::uint64_t> reference_;
  std::vector<std::unique_ptr<FrameBatch>> batches_;
};

// Either engine on the GPU. One thread drives the device at a time.
class GpuSource : public ShotSource {
 public:
  GpuSource(std::unique_ptr<GpuRun> run, std::uint64_t num_bits, std::string program)
      : run_(std::move(run)), num_bits_(num_bits), program_(std::move(program)) {
    const std::uint64_t block_bytes = run_->block_shots() * run_->row_stride();
    blocks_ = std::max<std::uint64_t>(1, kGpuBytes / block_bytes);
  }
  std::uint64_t num_bits() const override { return num_bits_; }
  std::uint64_t block_shots() const override { return blocks_ * run_->block_shots(); }
  std::uint64_t row_stride() const override { return run_->row_stride(); }
  void fill(std::uint64_t seed, std::uint64_t block, int, std::uint8_t* rows) override {
    const std::scoped_lock lock(mutex_);
    run_->fill(seed, block * blocks_, blocks_, rows);
  }
  bool summarize(std::uint64_t seed, std::uint64_t first_block, std::uint64_t num_blocks,
                 bool pairs, std::uint64_t num_bits, std::vector<std::uint64_t>& table) override {
    const std::scoped_lock lock(mutex_);
    if (pairs) {
      run_->pairs(seed, first_block * blocks_, num_blocks * blocks_, num_bits, table);
    } else {
      run_->count(seed, first_block * blocks_, num_blocks * blocks_, num_bits, table);
    }
    return true;
  }
  std::string explain() const override { return "device gpu\n" + program_; }

 private:
  std::unique_ptr<GpuRun> run_;
  std::uint64_t num_bits_, blocks_;
  std::string program_;
  std::mutex mutex_;
};

// Targets of all operations a shot goes through, and noise events.
struct FrameCost {
  double targets = 0, events = 0;
};
FrameCost frame_cost(const FrameProgram& program) {
  FrameCost cost;
  std::vector<double> times{1};
  for (const FrameOp& op : program.ops) {
    if (op.code == FrameCode::kLoop)
      times.push_back(times.back() * static_cast<double>(program.loops[op.first]));
    else if (op.code == FrameCode::kLoopEnd)
      times.pop_back();
    else
      cost.targets += times.back() * op.count;
    if (op.ticks && op.code != FrameCode::kCoin) {
      // One wasted draw a unit of 32 shots and run.
      cost.events +=
          times.back() * (op.count * program.channels[op.channel].probability + op.ticks / 32.0);
    }
  }
  return cost;
}

}  // namespace

namespace {
std::unique_ptr<ShotSource> sparse_source(SparseProgram program,
                                          std::vector<std::uint64_t> reference, bool gpu) {
  if (!gpu) return std::make_unique<SparseSource>(std::move(program), std::move(reference));
  // The reference is a flip of every shot.
  for (std::uint64_t r = 0; r < program.num_bits && !reference.empty(); ++r) {
    if ((reference[r / 64] >> (r % 64)) & 1)
      program.always.push_back(static_cast<std::uint32_t>(r));
  }
  auto run = make_gpu_run(program);
  return std::make_unique<GpuSource>(std::move(run), program.num_bits,
                                     "engine sparse\n" + describe(program));
}
}  // namespace

std::unique_ptr<ShotSource> make_shot_source(SparseProgram program, bool gpu) {
  return sparse_source(std::move(program), {}, gpu);
}

std::unique_ptr<ShotSource> make_shot_source(const StabProgram& program,
                                             const SampleOptions& options) {
  const bool records = options.output == ShotOutput::kRecords;
  std::vector<std::uint64_t> reference;
  if (records && options.reference) reference = reference_sample(program);
  const auto kind = records ? SymptomKind::kRecords : SymptomKind::kDetectors;
  const std::uint64_t num_bits =
      records ? program.counts.measurements
              : circuit::saturating_add(program.counts.detectors, kind == SymptomKind::kDetectors
                                                                      ? program.counts.observables
                                                                      : 0);
  Engine engine = options.engine;
  const auto make_frame = [&] {
    return compile_frames(program, records ? FrameOutput::kRecords : FrameOutput::kDetectors);
  };
  if (engine == Engine::kAuto) {
    // Records depend on every earlier error: their sets grow with the circuit, frames do not.
    engine = Engine::kFrame;
    if (!records && num_bits < (std::uint64_t{1} << 31)) {
      const FrameCost frame = frame_cost(make_frame());
      const double branches = static_cast<double>(
          std::min<std::uint64_t>(count_branches(program), std::uint64_t{1} << 62));
      const double shots = kNominalShots;  // not --shots: a resumed range must take the same engine
      const double frame_s =
          shots * (frame.targets * kFrameTargetSeconds + frame.events * kFrameEventSeconds);
      // Folded loops walk a few iterations; without folding every branch is walked.
      const double build_s = std::min(branches, kMostBranches) * kBranchSeconds;
      const double sparse_s = build_s + shots * frame.events * kSparseEventSeconds;
      if (sparse_s < frame_s) {
        SparseProgram sparse = build_sparse(program, kind);
        const double exact_s = shots * (sparse.events_per_shot * kSparseEventSeconds +
                                        sparse.sites_per_shot * kSparseSiteSeconds +
                                        sparse.coin_flips_per_shot * kSparseEventSeconds);
        if (exact_s < frame_s)
          return sparse_source(std::move(sparse), std::move(reference), options.gpu);
      }
    }
  }
  if (engine == Engine::kSparse) {
    return sparse_source(build_sparse(program, kind), std::move(reference), options.gpu);
  }
  if (options.gpu) {
    const FrameProgram frames = make_frame();
    auto run = make_gpu_run(frames, reference);
    return std::make_unique<GpuSource>(std::move(run), num_bits,
                                       "engine frame\n" + describe(frames));
  }
  return std::make_unique<FrameSource>(make_frame(), num_bits, std::move(reference),
                                       runtime::resolve_num_threads(options.num_threads));
}

}  // namespace tilewave::stabilizer
