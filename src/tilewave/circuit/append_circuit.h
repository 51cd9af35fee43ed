// One circuit behind another.
#pragma once

#include <cstdint>
#include <span>

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// Appends every operation of `from`, which is another circuit: its qubit k is qubit qubits[k] of
/// `to`, its classical bit k is bit clbits[k]. Its notes and the names of what it replaced come
/// along. Throws Error(kInput) where a condition or an expression reads, or an assignment writes,
/// bits in a row that are in no row in `to`, or a qubit does not exist; `to` is then what it was.
void append_circuit(Circuit& to, const Circuit& from, std::span<const Qubit> qubits,
                    std::span<const Clbit> clbits);

/// The same of a circuit of gates and matrices, all under `controls` that act on these values (bit
/// k: control k). Throws Error(kInput) for one that measures, resets, branches or has noise.
void append_controlled(Circuit& to, const Circuit& from, std::span<const Qubit> qubits,
                       std::span<const Qubit> controls, std::uint64_t control_values);

}  // namespace tilewave::circuit
