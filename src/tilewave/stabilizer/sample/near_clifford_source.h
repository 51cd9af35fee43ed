// Near-Clifford circuits behind the door of all samplers.
#pragma once

#include <memory>

#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

/// For a program with rotations. Throws Error(kUsage) for GPUs, Error(kResources) where the program is
/// too large.
std::unique_ptr<ShotSource> make_near_clifford_source(const StabProgram& program,
                                                      const SampleOptions& options);

}  // namespace tilewave::stabilizer
