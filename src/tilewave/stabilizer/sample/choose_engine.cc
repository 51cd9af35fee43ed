#include "tilewave/stabilizer/sample/choose_engine.h"

#include <algorithm>

#include "tilewave/base/saturating.h"
#include "tilewave/stabilizer/sample/engine_cost.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {

std::variant<SparseProgram, FrameProgram> choose_engine(const StabProgram& program,
                                                        const SampleOptions& options) {
  const bool records = options.output == ShotOutput::kRecords;
  const auto kind = records ? SymptomKind::kRecords : SymptomKind::kDetectors;
  if (options.engine == Engine::kSparse) return build_sparse(program, kind);
  FrameProgram frames =
      compile_frames(program, records ? FrameOutput::kRecords : FrameOutput::kDetectors);
  const std::uint64_t num_bits =
      saturating_add(program.counts.detectors, program.counts.observables);
  // Records depend on every earlier error: their sets grow with the circuit, frames do not.
  if (options.engine != Engine::kAuto || records || program.has_leakage ||
      num_bits >= (std::uint64_t{1} << 31))
    return frames;
  // A build that takes long must be worth it for the shots asked for. Those before first_shot count
  // as well: the rest of an interrupted run takes the same engine.
  const double shots = std::min(
      kMostShots, static_cast<double>(saturating_add(options.first_shot, options.num_shots)));
  const double frame_s = frame_seconds(work_of(frames));
  const double most_work = std::max(kFreeBuildSeconds, shots * frame_s / 2) / kWorkSeconds;
  const bool folds = !program.repeats.empty();
  const double least_work = folds ? 0 : kBranchWork * static_cast<double>(count_branches(program));
  if (least_work >= most_work) return frames;
  auto sparse =
      build_sparse_within(program, kind, static_cast<std::uint64_t>(std::min(1e18, most_work)));
  if (sparse && sparse_seconds(*sparse) < frame_s) return std::move(*sparse);
  return frames;
}

}  // namespace tilewave::stabilizer
