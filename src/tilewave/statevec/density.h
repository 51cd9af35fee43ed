// Density matrices of n qubits as states of 2n qubits, element (row, column) at row + column 2^n:
// what they answer is read off their diagonal, or off the elements a Pauli string connects.
//
// DensityState is such a state behind the interface of a pure one: circuits and plans are on 2n
// qubits, questions about n. Answers cost 2^n elements, expectations 2^n a flip mask.
#pragma once

#include <memory>

#include "tilewave/circuit/pauli.h"
#include "tilewave/statevec/state.h"

namespace tilewave::statevec {

/// The 2^n elements of the diagonal.
std::vector<cplx> density_diagonal(State& state);
/// Sums of the diagonal over what is not chosen; bit j of an outcome is qubits[j].
std::vector<double> density_probabilities(std::span<const cplx> diagonal,
                                          std::span<const circuit::Qubit> qubits);
/// Tr(P rho) without coefficients for every term.
std::vector<double> density_expectations(State& state, const circuit::PauliSum& sum);

/// Wraps a state of 2n qubits, in |0...0> or otherwise a density matrix. norm() is the trace;
/// amplitudes are elements.
std::unique_ptr<State> make_density_state(std::unique_ptr<State> state);

}  // namespace tilewave::statevec
