// Shots of near-Clifford circuits, behind the interface of all samplers (ShotSource).
#pragma once

#include <memory>

#include "tilewave/stabilizer/sample/sampler.h"

namespace tilewave::stabilizer {

/// For a program with rotations. Throws Error(kResources) where the program is too large, Error(kUsage)
/// where it has more active qubits than a GPU follows.
std::unique_ptr<ShotSource> make_near_clifford_source(const StabProgram& program,
                                                      const SampleOptions& options);

}  // namespace tilewave::stabilizer
