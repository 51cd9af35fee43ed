// The choice between the frame engine and the sparse engine, by predicted time. Near-Clifford
// circuits have an engine of their own (make_shot_source in sampler.cc), which makes its frames by
// the engine chosen here.
#pragma once

#include <variant>

#include "tilewave/stabilizer/frame_program.h"
#include "tilewave/stabilizer/sample/sampler.h"
#include "tilewave/stabilizer/sparse_program.h"

namespace tilewave::stabilizer {

/// The program of the engine that options name, or of the cheaper one. Throws Error(kResources)
/// where the circuit is too large for it.
std::variant<SparseProgram, FrameProgram> choose_engine(const StabProgram& program,
                                                        const SampleOptions& options);

}  // namespace tilewave::stabilizer
