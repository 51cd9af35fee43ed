// Pauli strings on registers: rotations about them, sums of them, product formulas.
#pragma once

#include <span>

#include "tilewave/circuit/pauli.h"
#include "tilewave/quest/core/register.h"

namespace tilewave::quest {

void check_pauli_code(int code);
/// A string from codes 0 1 2 3 (I X Y Z), one a qubit of `targets`; other codes are refused.
circuit::PauliTerm pauli_term(const int* codes, std::span<const Qubit> targets);
/// The same for qubits 0 .. num_qubits - 1.
circuit::PauliTerm pauli_term(const int* codes, int num_qubits, double coefficient);

/// exp(-i angle/2 P), under controls. Not for the identity.
void rotate_string(Register& r, std::span<const Qubit> controls, const circuit::PauliTerm& term,
                   double angle);

/// exp(-i time H) by Suzuki's formula of order 1 or an even order, in `steps` equal steps:
/// S_1(t) = prod_j e^{-i t c_j P_j}; S_2(t) = S_1(t/2) reversed S_1(t/2);
/// S_k(t) = S_{k-2}(pt)^2 S_{k-2}((1-4p)t) S_{k-2}(pt)^2 with p = 1 / (4 - 4^{1/(k-1)}).
/// Identities (a global phase) are left out.
void apply_product_formula(Register& r, const circuit::PauliSum& sum, double time, int order,
                           int steps);

/// out = sum in, from the left.
void apply_sum(Register& in, const circuit::PauliSum& sum, Register& out);
/// Every element of a density matrix becomes that of the sum's matrix.
void set_to_sum(Register& r, const circuit::PauliSum& sum);

}  // namespace tilewave::quest
