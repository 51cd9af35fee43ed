// Runs a tile program on the host, thread by thread, with the arithmetic of the device (ops.h): the
// reference that settles the correctness of lowering without a GPU. Slow; used by tests and
// debugging only.
#pragma once

#include <span>

#include "tilewave/statevec/tile/program.h"

namespace tilewave::statevec::tile {

/// Runs one pass on 2^max(n, K) amplitudes in place.
void emulate_pass(const TilePass& pass, std::span<Complex<double>> amplitudes);
void emulate_pass(const TilePass& pass, std::span<Complex<float>> amplitudes);

}  // namespace tilewave::statevec::tile
