#include "tilewave/stabilizer/sample/choose_engine.h"

#include <algorithm>
#include <optional>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/base/saturating.h"
#include "tilewave/stabilizer/sample/engine_cost.h"
#include "tilewave/stabilizer/sampler_tuning.h"

namespace tilewave::stabilizer {
namespace {

// Frames of a batch go through every iteration of a loop together.
bool is_possible(double frame_s) { return frame_s * kLeastBatch < kMostBatchSeconds; }
void need_possible(const StabProgram& program, double frame_s) {
  if (is_possible(frame_s)) return;
  const double batch_s = frame_s * kLeastBatch;
  fail(ExitCode::kResources, program.name, ": the first shots would be there after about ",
       static_cast<std::uint64_t>(std::min(batch_s / 86400, 1e18)),
       " days (the frame engine goes through every iteration of a REPEAT block): shorten the "
       "REPEAT blocks");
}

}  // namespace

std::variant<SparseProgram, FrameProgram> choose_engine(const StabProgram& program,
                                                        const SampleOptions& options) {
  const bool records = options.output == ShotOutput::kRecords;
  const auto kind = records ? SymptomKind::kRecords : SymptomKind::kDetectors;
  if (options.engine == Engine::kSparse) return build_sparse(program, kind);
  FrameProgram frames =
      compile_frames(program, records ? FrameOutput::kRecords : FrameOutput::kDetectors);
  const double frame_s = frame_seconds(work_of(frames));
  const std::uint64_t num_bits =
      records ? program.counts.measurements
              : saturating_add(program.counts.detectors, program.counts.observables);
  // Records depend on every earlier error: their sets grow with the circuit, frames do not. But
  // loops of many iterations, of which few have records, are folded in the sparse engine alone.
  if (options.engine != Engine::kAuto ||
      (records && (frame_s < kLongShotSeconds || program.repeats.empty())) || program.has_leakage ||
      num_bits >= (std::uint64_t{1} << 31)) {
    need_possible(program, frame_s);
    return frames;
  }
  // A build that takes long must be worth it for the shots asked for. Those before first_shot count
  // as well: the rest of an interrupted run takes the same engine.
  const double shots = std::min(
      kMostShots, static_cast<double>(saturating_add(options.first_shot, options.num_shots)));
  const double worth_s = is_possible(frame_s) ? shots * frame_s / 2 : kHopefulBuildSeconds;
  const double build_s = records ? std::min(worth_s, kHopefulBuildSeconds) : worth_s;
  const double most_work = std::max(kFreeBuildSeconds, build_s) / kWorkSeconds;
  const bool folds = !program.repeats.empty();
  const double least_work = folds ? 0 : kBranchWork * static_cast<double>(count_branches(program));
  if (least_work >= most_work) {
    need_possible(program, frame_s);
    return frames;
  }
  std::optional<SparseProgram> sparse;
  try {
    sparse =
        build_sparse_within(program, kind, static_cast<std::uint64_t>(std::min(1e18, most_work)));
  } catch (const Error& error) {  // what that engine cannot hold is no matter of frames
    if (error.code() != ExitCode::kResources) throw;
  }
  if (sparse && sparse_seconds(*sparse) < frame_s) return std::move(*sparse);
  need_possible(program, frame_s);
  return frames;
}

}  // namespace tilewave::stabilizer
