// What a circuit holds, as people count it: names of operations, how many of each, and the depth.
#pragma once

#include <cstdint>
#include <string>

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// Controls of a gate beyond those of its row in the table.
std::size_t num_extra_controls(const Op& op);

/// The gate under all its controls, whatever values they act on: x under one more control is cx.
/// kCount where the table has no such gate.
GateId whole_gate(const Op& op);

/// A gate's name under all its controls (x under one more is cx; where the table has no such gate,
/// a c for every further control), or unitary, measure, reset, channel, barrier, jump, assign,
/// delay.
std::string operation_name(const Circuit& circuit, const Op& op);

/// Operations on the longest path through qubits and classical bits. Barriers line qubits up and
/// count for nothing, as does a phase of everything; jumps are not followed.
std::uint64_t depth(const Circuit& circuit);

}  // namespace tilewave::circuit
