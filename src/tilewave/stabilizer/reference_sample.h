// One noiseless shot of a circuit, random outcomes taken as 0: what the frame engine's flips are
// flips of. Loops are folded: when the state after an iteration equals that after an earlier one,
// the records in between repeat and the rest is copied.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewave/stabilizer/stab_program.h"

namespace tilewave::stabilizer {

/// Bit r of word r / 64 is record r. Throws Error(kResources) when the records do not fit memory.
std::vector<std::uint64_t> reference_sample(const StabProgram& program);

}  // namespace tilewave::stabilizer
