#include "tilewave/stabilizer/sample/near_clifford_source.h"

#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/near_clifford/sampler.h"
#include "tilewave/stabilizer/sample/choose_engine.h"
#include "tilewave/stabilizer/sample/engine_cost.h"
#include "tilewave/stabilizer/sample/gpu_source.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

std::string rows_of(const NearCliffordTables& tables) {
  if (const auto* sparse = std::get_if<SparseProgram>(&tables.frames))
    return "rows by the engine sparse\n" + describe(*sparse);
  return "rows by the engine frame\n" + describe(work_of(std::get<FrameProgram>(tables.frames)));
}

std::string followed_by(const NearCliffordTables& tables) {
  const std::string who = tables.program.most_k > kMostActiveOfThread ? "warp" : "thread";
  return (tables.leaves.empty() ? "every shot is" : "shots with a sign set are") +
         std::string(" followed by a ") + who + " with amplitudes of its own\n";
}

class NearCliffordSource : public ShotSource {
 public:
  NearCliffordSource(NearCliffordTables tables, const SampleOptions& options,
                     std::shared_ptr<FaultRows> faults)
      : is_sparse_(std::holds_alternative<SparseProgram>(tables.frames)),
        frames_work_(faults ? "" : rows_of(tables)),
        threads_(runtime::wanted_num_threads(options.num_threads)),
        faults_(std::move(faults)),
        sampler_(std::move(tables), threads_, faults_) {}

  std::uint64_t num_bits() const override { return sampler_.num_bits(); }
  std::uint64_t block_shots() const override { return sampler_.block_shots(); }
  int most_threads() const override { return threads_; }
  void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) override {
    sampler_.fill(seed_of(seed), block, 0, block_shots(), thread, nullptr, rows);
  }
  void fill_part(std::uint64_t seed, std::uint64_t block, std::uint64_t first, std::uint64_t end,
                 int thread, std::uint8_t* rows) override {
    sampler_.fill(seed_of(seed), block, first, end, thread, nullptr, rows + first * row_bytes());
  }
  std::uint64_t fill_kept(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                          std::uint64_t end, int thread,
                          const std::vector<std::uint64_t>& must_be_zero,
                          std::uint8_t* rows) override {
    return sampler_.fill(seed_of(seed), block, first, end, thread, &must_be_zero, rows);
  }
  FaultRows* faults() override { return faults_.get(); }
  std::string engine() const override { return is_sparse_ ? "sparse" : "frame"; }
  std::string explain() const override {
    return "engine near-Clifford\n" + sampler_.explain() +
           (faults_ ? describe(faults_->program(), faults_->numbers()) : frames_work_);
  }

 private:
  std::uint64_t seed_of(std::uint64_t seed) const {
    return faults_ ? faults_->seed_of(seed) : seed;
  }

  bool is_sparse_;
  std::string frames_work_;
  int threads_;
  std::shared_ptr<FaultRows> faults_;
  NearCliffordSampler sampler_;
};

}  // namespace

std::unique_ptr<ShotSource> make_near_clifford_source(const StabProgram& program,
                                                      const SampleOptions& options) {
  const bool records = options.output == ShotOutput::kRecords;
  NearCliffordProgram compiled =
      compile_near_clifford(program, records ? FrameOutput::kRecords : FrameOutput::kDetectors);
  SampleOptions of_rows = options;  // records are detectors there
  of_rows.output = ShotOutput::kDetectors;
  std::vector<std::uint64_t> reference;
  if (records && options.reference) reference = compiled.reference;
  if (options.faults) {
    auto faults = std::make_shared<FaultRows>(build_faults(compiled.frame, SymptomKind::kDetectors),
                                              *options.faults);
    NearCliffordTables tables(std::move(compiled), faults->program().coins, std::move(reference));
    return std::make_unique<NearCliffordSource>(std::move(tables), options, std::move(faults));
  }
  auto frames = choose_engine(compiled.frame, of_rows);
  NearCliffordTables tables(std::move(compiled), std::move(frames), std::move(reference));
  if (options.gpus.empty())
    return std::make_unique<NearCliffordSource>(std::move(tables), options, nullptr);
  const auto shared = std::make_shared<const NearCliffordTables>(std::move(tables));
  const bool is_sparse = std::holds_alternative<SparseProgram>(shared->frames);
  return make_gpu_source(
      options.gpus, [&](int device) { return make_gpu_run(shared, device); },
      shared->program.num_bits, is_sparse ? "sparse" : "frame",
      "engine near-Clifford\n" + shared->explain() + followed_by(*shared) + rows_of(*shared));
}

}  // namespace tilewave::stabilizer
