// A circuit in Stim's language without its noise. Channels go, measurements keep their records and
// lose the probability of a wrong one, heralds become records of 0 (MPAD), so that every detector
// still finds its records. Where nothing leaks, instructions of leakage do nothing: they go too, and
// gates lose the arguments by which leakage spreads. One pass over each block.
#pragma once

#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

/// Blocks that hold nothing but noise go as a whole.
StabilizerCircuit without_noise(const StabilizerCircuit& circuit);

}  // namespace tilewave::circuit
