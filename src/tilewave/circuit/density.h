// Circuits on density matrices: n qubits become 2n, element (row, column) at row + column 2^n. A
// gate U acts as U on the row qubits and conj(U) on the column qubits; a channel is a superoperator
// on both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tilewave/circuit/circuit.h"

namespace tilewave::circuit {

/// Qubits, shifted to the column side of n qubits.
std::vector<Qubit> column_qubits(std::span<const Qubit> qubits, std::uint32_t n);

/// A gate of the table whose matrix is the conjugate, so that the planner keeps knowing what it is;
/// empty where the table has none.
std::optional<std::pair<GateId, std::vector<double>>> conjugate_gate(
    GateId gate, std::span<const double> params);

/// Appends the column side of a gate (`qubits`: the table's controls, then targets) or of a matrix.
Op& add_column_gate(Circuit& circuit, std::uint32_t n, GateId gate, std::span<const Qubit> controls,
                    std::uint64_t control_values, std::span<const Qubit> qubits,
                    std::span<const double> params);
Op& add_column_matrix(Circuit& circuit, std::uint32_t n, std::span<const Qubit> controls,
                      std::uint64_t control_values, std::span<const Qubit> targets, Matrix m);
/// Appends a linear map of density matrices; see superoperator(). One on two qubits that is in
/// blocks becomes 4 x 4 matrices on the row qubits under column qubits that hold row ^ column.
void add_superoperator(Circuit& circuit, std::uint32_t n, std::span<const Qubit> targets, Matrix s);

}  // namespace tilewave::circuit
