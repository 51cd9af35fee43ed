// Compiled by NVRTC, too: no more of the standard library than jit_std.cuh has.
#pragma once

#include <cstdint>

namespace tilewave::parametric {

/// A derivative that the threads add up over all their tiles, each in a place of its own: at the end
/// it is the sum over the threads that have all bits of `thread`.
struct StageRead {
  std::uint32_t read = 0, accumulator = 0, thread = 0;
};

}  // namespace tilewave::parametric
