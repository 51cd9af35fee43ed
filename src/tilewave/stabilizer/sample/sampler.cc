#include "tilewave/stabilizer/sample/sampler.h"

#include <algorithm>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/bit_transpose.h"
#include "tilewave/stabilizer/cpu/fault_rows.h"
#include "tilewave/stabilizer/cpu/frame_run.h"
#include "tilewave/stabilizer/cpu/keep_rows.h"
#include "tilewave/stabilizer/cpu/sparse_run.h"
#include "tilewave/stabilizer/cuda/gpu_run.h"
#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/model_rows.h"
#include "tilewave/stabilizer/reference_sample.h"
#include "tilewave/stabilizer/sample/choose_engine.h"
#include "tilewave/stabilizer/sample/engine_cost.h"
#include "tilewave/stabilizer/sample/gpu_source.h"
#include "tilewave/stabilizer/sample/near_clifford_source.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

// The noiseless shot, where there is one, to all rows.
void add_reference(const std::vector<std::uint64_t>& reference, std::uint64_t row_bytes,
                   std::uint64_t num_rows, std::uint8_t* rows) {
  if (reference.empty()) return;
  const auto* bits = reinterpret_cast<const std::uint8_t*>(reference.data());
  for (std::uint64_t s = 0; s < num_rows; ++s) {
    for (std::uint64_t k = 0; k < row_bytes; ++k) rows[s * row_bytes + k] ^= bits[k];
  }
}

class SparseSource : public ShotSource {
 public:
  SparseSource(SparseProgram program, std::vector<std::uint64_t> reference)
      : program_(std::move(program)), reference_(std::move(reference)) {}
  std::uint64_t num_bits() const override { return program_.num_bits; }
  std::uint64_t block_shots() const override { return std::uint64_t{1} << program_.log2_unit; }
  void fill(std::uint64_t seed, std::uint64_t block, int, std::uint8_t* rows) override {
    thread_local std::vector<std::uint64_t> scratch;
    run_sparse_unit(program_, seed, block, rows, scratch);
    add_reference(reference_, row_bytes(), block_shots(), rows);
  }
  std::string engine() const override { return "sparse"; }
  std::string explain() const override { return "engine sparse\n" + describe(program_); }

 private:
  SparseProgram program_;
  std::vector<std::uint64_t> reference_;
};

class FaultSource : public ShotSource {
 public:
  FaultSource(std::shared_ptr<FaultRows> faults, std::vector<std::uint64_t> reference,
              int num_threads)
      : faults_(std::move(faults)),
        reference_(std::move(reference)),
        scratch_(static_cast<std::size_t>(num_threads)) {}
  std::uint64_t num_bits() const override { return coins().num_bits; }
  std::uint64_t block_shots() const override { return std::uint64_t{1} << coins().log2_unit; }
  int most_threads() const override { return static_cast<int>(scratch_.size()); }
  void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) override {
    FaultRows::Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
    const std::uint64_t of_range = faults_->seed_of(seed);
    run_sparse_unit(coins(), of_range, block, rows, scratch.words);
    faults_->add(of_range, block, coins().log2_unit, row_bytes(), rows, scratch);
    add_reference(reference_, row_bytes(), block_shots(), rows);
  }
  FaultRows* faults() override { return faults_.get(); }
  std::string engine() const override { return "sparse"; }
  std::string explain() const override {
    return "engine sparse\nshots a unit " + std::to_string(block_shots()) + "\n" +
           describe(faults_->program(), faults_->numbers());
  }

 private:
  const SparseProgram& coins() const { return faults_->program().coins; }

  std::shared_ptr<FaultRows> faults_;
  std::vector<std::uint64_t> reference_;
  std::vector<FaultRows::Scratch> scratch_;  // of threads
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
    while (shots > kLeastBatch && FrameBatch::bytes_for(program_, shots) > kBatchBytes) shots /= 2;
    block_shots_ = shots;
    const std::uint64_t bytes = FrameBatch::bytes_for(program_, shots);
    if (bytes > kLargestBytes) {
      fail(ExitCode::kResources, "512 shots of this circuit take ", bytes >> 30,
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
  std::string engine() const override { return "frame"; }
  std::string explain() const override {
    return "engine frame\nshots a batch " + std::to_string(block_shots_) + "\n" +
           describe(work_of(program_)) + describe(program_);
  }

 private:
  FrameProgram program_;
  std::uint64_t num_bits_, block_shots_ = 512;
  std::vector<std::uint64_t> reference_;
  std::vector<std::unique_ptr<FrameBatch>> batches_;
};

std::unique_ptr<ShotSource> sparse_source(SparseProgram program,
                                          std::vector<std::uint64_t> reference,
                                          const std::vector<int>& gpus) {
  if (gpus.empty()) return std::make_unique<SparseSource>(std::move(program), std::move(reference));
  // The reference is a flip of every shot.
  for (std::uint64_t r = 0; r < program.num_bits && !reference.empty(); ++r) {
    if ((reference[r / 64] >> (r % 64)) & 1)
      program.always.push_back(static_cast<std::uint32_t>(r));
  }
  return make_gpu_source(
      gpus, [&](int device) { return make_gpu_run(program, device); }, program.num_bits, "sparse",
      "engine sparse\n" + describe(program));
}

std::unique_ptr<ShotSource> fault_source(FaultProgram program, std::vector<std::uint64_t> reference,
                                         const SampleOptions& options) {
  return std::make_unique<FaultSource>(
      std::make_shared<FaultRows>(std::move(program), *options.faults), std::move(reference),
      runtime::wanted_num_threads(options.num_threads));
}

// The sparse engine on the CPU alone draws a given number of faults.
void check_faults(const std::string& name, const SampleOptions& options) {
  const std::string shots = name + ": shots with a given number of faults ";
  if (!options.gpus.empty()) fail(ExitCode::kUsage, shots, "are made on the CPU: use --device cpu");
  if (options.engine == Engine::kFrame) {
    fail(ExitCode::kUsage, shots, "come from the sparse engine: use --engine sparse or auto");
  }
}

// The frame engine alone runs leakage.
void check_leakage(const StabProgram& program, const SampleOptions& options) {
  const std::string circuit = program.name + ": the circuit has leakage";
  if (program.num_rotations > 0) {
    fail(ExitCode::kInput, circuit,
         " and gates beyond Clifford, which no engine runs together: leave one of them out");
  }
  if (options.engine == Engine::kSparse) {
    fail(ExitCode::kUsage, circuit,
         ", which the sparse engine cannot run: use --engine frame or auto");
  }
}

}  // namespace

int threads_for(const ShotSource& source, int requested) {
  const int threads = std::min(runtime::wanted_num_threads(requested), source.most_threads());
  return std::max(source.devices(), threads);
}

std::shared_ptr<std::uint8_t[]> ShotSource::row_memory(std::size_t num_bytes) {
  return std::make_shared_for_overwrite<std::uint8_t[]>(num_bytes);
}

std::unique_ptr<ShotSource> make_shot_source(const ModelRows& model, const SampleOptions& options) {
  if (!options.faults) return sparse_source(model.program(), {}, options.gpus);
  check_faults(model.name, options);
  return fault_source(model.faults(), {}, options);
}

std::uint64_t ShotSource::fill_kept(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                                    std::uint64_t end, int thread,
                                    const std::vector<std::uint64_t>& must_be_zero,
                                    std::uint8_t* rows) {
  fill(seed, block, thread, rows);
  return keep_rows(rows, row_stride(), std::min(row_bytes(), row_stride()), first, end,
                   must_be_zero);
}

std::vector<DeviceShots> ShotSource::keep_on_device(const ShotRange&, const std::vector<BitRange>&,
                                                    DeviceLayout,
                                                    const std::vector<std::uint64_t>&) {
  fail(ExitCode::kUsage,
       "shots that the CPU makes lie on the host: take one GPU as the device (cuda, cuda:1)");
}

std::unique_ptr<ShotSource> make_shot_source(const StabProgram& program,
                                             const SampleOptions& options) {
  if (options.faults) check_faults(program.name, options);
  if (program.has_leakage) check_leakage(program, options);
  if (program.num_rotations > 0) return make_near_clifford_source(program, options);
  const bool records = options.output == ShotOutput::kRecords;
  std::vector<std::uint64_t> reference;
  if (records && options.reference) reference = reference_sample(program);
  const std::uint64_t num_bits =
      records ? program.counts.measurements
              : saturating_add(program.counts.detectors, program.counts.observables);
  if (options.faults) {
    const auto kind = records ? SymptomKind::kRecords : SymptomKind::kDetectors;
    return fault_source(build_faults(program, kind), std::move(reference), options);
  }
  auto chosen = choose_engine(program, options);
  if (auto* sparse = std::get_if<SparseProgram>(&chosen))
    return sparse_source(std::move(*sparse), std::move(reference), options.gpus);
  FrameProgram& frames = std::get<FrameProgram>(chosen);
  if (!options.gpus.empty()) {
    return make_gpu_source(
        options.gpus, [&](int device) { return make_gpu_run(frames, reference, device); }, num_bits,
        "frame", "engine frame\n" + describe(frames));
  }
  return std::make_unique<FrameSource>(std::move(frames), num_bits, std::move(reference),
                                       runtime::wanted_num_threads(options.num_threads));
}

}  // namespace tilewave::stabilizer
