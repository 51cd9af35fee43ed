// The inverse of a circuit, and mirror circuits: a circuit followed by its inverse returns every
// state to itself, at any size, which checks an engine without a reference.
#pragma once

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// The operations in reverse order, each inverted; a gate whose inverse has no row in the table
/// becomes a matrix. Throws Error(kInput) for a circuit that measures, resets or branches, and for
/// a matrix that is not unitary within 1e-9.
Circuit inverse(const Circuit& circuit);

/// `circuit`, a barrier, then its inverse.
Circuit mirror(const Circuit& circuit);

}  // namespace tilewave::circuit
