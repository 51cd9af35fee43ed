// The choice between the two engines of Clifford circuits, made by predicted cost.
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
