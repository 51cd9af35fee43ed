// The source of a kernel for one tile program: what of the program is the same for all numbers
// (angles, factors) as constants of a struct `Program` (cuda/jit_kernel.cuh).
#pragma once

#include <optional>
#include <string>

#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

/// The name of the kernel in such a source.
inline constexpr char kJitKernelName[] = "tile_pass";

/// Programs with equal sources run with the same kernel. None for those that a compiled kernel does
/// not serve: with matrices, or longer than the instruction cache holds (kJitCodeBytes).
/// `blocks`: blocks of threads that share a multiprocessor.
std::optional<std::string> jit_source(const TilePass& pass, int blocks);

/// About the bytes of machine code that such a kernel runs.
int jit_code_bytes(const TilePass& pass);

}  // namespace tilewave::statevec::tile
