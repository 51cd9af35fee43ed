// Gate modifiers as maps of small circuits of gates: ctrl @, negctrl @ and pow(k) @ (inv @ is
// circuit::inverse).
#pragma once

#include "tilewave/circuit/circuit.h"

namespace tilewave::language::qasm3 {

/// `inner` under `count` controls, which become qubits 0 .. count-1; control k acts on bit k of
/// `values`. Global phases become phases of the controls.
circuit::Circuit controlled(const circuit::Circuit& inner, std::uint32_t count,
                            std::uint64_t values);

/// `inner` k times; its inverse for k < 0. For other k the principal power: eigenvalues e^{i a}
/// with a in (-pi, pi] become e^{i a k}. Throws Error(kInput) where that needs a matrix of more
/// than 6 qubits. A whole k appends k times as many operations: the caller counts them before.
circuit::Circuit power(const circuit::Circuit& inner, double k);

/// Appends the gates of `from`, its qubit k being qubits[k].
void append_mapped(const circuit::Circuit& from, std::span<const circuit::Qubit> qubits,
                   circuit::Circuit& to);

}  // namespace tilewave::language::qasm3
