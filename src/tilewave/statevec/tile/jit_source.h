// The source of a kernel for one tile program: what of the program is the same for all numbers
// (angles, factors) as constants of a struct `Program` (cuda/jit_program.cuh).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

/// The name of the kernel in such a source.
inline constexpr char kJitKernelName[] = "tile_pass";

struct JitSource {
  std::string text;  ///< programs with equal texts run with the same kernel
  /// What the kernel takes as its second argument (JitNumbers in cuda/jit_program.cuh): numbers of
  /// the program that are the same for all threads, those that most instructions need.
  std::vector<std::byte> numbers;
};

/// None for programs whose code is longer than the instruction cache holds (tile_tuning.h), even
/// where equal operations share it; operations that some threads of a warp do not take part in
/// share none. None for matrices of two qubits in double precision. `blocks`: blocks of threads
/// that share a multiprocessor. `shortenings`: how often the code came out longer than predicted;
/// more operations share it then, up to kJitMostShortenings.
std::optional<JitSource> jit_source(const TilePass& pass, int blocks, int shortenings = 0);

/// Runs of code one after the other in such a kernel: 1 where operations share none, 0 where there
/// is no kernel.
int jit_steps(const TilePass& pass);

}  // namespace tilewave::statevec::tile
