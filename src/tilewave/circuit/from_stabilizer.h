// A circuit of Stim's language as a circuit of gates, measurements and conditions, for state
// vectors.
#pragma once

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/stabilizer_circuit.h"

namespace tilewave::circuit {

/// The measurement record becomes the classical register `rec`, record k its bit k. REPEAT blocks
/// are unrolled; ticks, detectors, observables and coordinates are dropped. Throws Error(kInput)
/// for noise, sweep bits and products that name a qubit twice, Error(kResources) for more than
/// 2^24 operations.
Circuit from_stabilizer(const StabilizerCircuit& circuit);

}  // namespace tilewave::circuit
