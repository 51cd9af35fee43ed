#include "tilewave/stabilizer/sample/near_clifford_source.h"

#include "tilewave/base/error.h"
#include "tilewave/runtime/threads.h"
#include "tilewave/stabilizer/near_clifford/sampler.h"
#include "tilewave/stabilizer/sample/choose_engine.h"
#include "tilewave/stabilizer/sample/engine_cost.h"

namespace tilewave::stabilizer {
namespace {

class NearCliffordSource : public ShotSource {
 public:
  NearCliffordSource(NearCliffordProgram program, std::variant<SparseProgram, FrameProgram> frames,
                     std::vector<std::uint64_t> reference, const SampleOptions& options)
      : is_sparse_(std::holds_alternative<SparseProgram>(frames)),
        frames_work_(is_sparse_ ? describe(std::get<SparseProgram>(frames))
                                : describe(work_of(std::get<FrameProgram>(frames)))),
        threads_(runtime::wanted_num_threads(options.num_threads)),
        sampler_(std::move(program), std::move(frames), std::move(reference), threads_) {}

  std::uint64_t num_bits() const override { return sampler_.num_bits(); }
  std::uint64_t block_shots() const override { return sampler_.block_shots(); }
  int most_threads() const override { return threads_; }
  void fill(std::uint64_t seed, std::uint64_t block, int thread, std::uint8_t* rows) override {
    sampler_.fill(seed, block, 0, block_shots(), thread, nullptr, rows);
  }
  void fill_part(std::uint64_t seed, std::uint64_t block, std::uint64_t first, std::uint64_t end,
                 int thread, std::uint8_t* rows) override {
    sampler_.fill(seed, block, first, end, thread, nullptr, rows + first * row_bytes());
  }
  std::uint64_t fill_kept(std::uint64_t seed, std::uint64_t block, std::uint64_t first,
                          std::uint64_t end, int thread,
                          const std::vector<std::uint64_t>& must_be_zero,
                          std::uint8_t* rows) override {
    return sampler_.fill(seed, block, first, end, thread, &must_be_zero, rows);
  }
  std::string engine() const override { return is_sparse_ ? "sparse" : "frame"; }
  std::string explain() const override {
    return "engine near-Clifford\n" + sampler_.explain() + "rows by the engine " + engine() + "\n" +
           frames_work_;
  }

 private:
  bool is_sparse_;
  std::string frames_work_;
  int threads_;
  NearCliffordSampler sampler_;
};

}  // namespace

std::unique_ptr<ShotSource> make_near_clifford_source(const StabProgram& program,
                                                      const SampleOptions& options) {
  if (!options.gpus.empty()) {
    throw Error(ExitCode::kUsage,
                "circuits with gates beyond Clifford are sampled on the CPU: use --device cpu");
  }
  const bool records = options.output == ShotOutput::kRecords;
  NearCliffordProgram compiled =
      compile_near_clifford(program, records ? FrameOutput::kRecords : FrameOutput::kDetectors);
  SampleOptions of_rows = options;  // records are detectors there
  of_rows.output = ShotOutput::kDetectors;
  auto frames = choose_engine(compiled.frame, of_rows);
  std::vector<std::uint64_t> reference;
  if (records && options.reference) reference = compiled.reference;
  return std::make_unique<NearCliffordSource>(std::move(compiled), std::move(frames),
                                              std::move(reference), options);
}

}  // namespace tilewave::stabilizer
