// Runs the passes of a plan on a state in host memory. One tile a thread at a time: rows are
// gathered from the state into a contiguous buffer in the second-level cache (real and imaginary
// parts apart), worked on, and scattered back to the same addresses in the order the pass asks for.
// Cost of a pass: the state is read and written once.
#pragma once

#include <cstdint>

#include "tilewave/base/complex.h"
#include "tilewave/statevec/plan/kept_passes.h"
#include "tilewave/statevec/plan/plan.h"

namespace tilewave::statevec::cpu {

/// Runs one pass of the plan in place. amps: 2^n complex numbers, physical order. num_threads > 0.
/// tables: those of earlier runs of this plan, or null.
template <class T>
void run_pass(const Plan& plan, const Pass& pass, Complex<T>* amps, int num_threads,
              KeptPasses* tables = nullptr);

/// Row bits of the blocks that steps work on: the whole tile, or what stays in the first-level
/// cache.
int block_row_bits(bool is_double);

/// Bytes of scratch memory a thread needs.
std::uint64_t scratch_bytes_per_thread();

}  // namespace tilewave::statevec::cpu
