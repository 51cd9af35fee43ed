// A Pauli channel as independent flips, for the sparse engine and for error models; the frame engine
// draws the branches of a channel as they are (frame_program.h).
//
// The channel with probabilities p_j of the Paulis j has the eigenvalues
// L_k = sum_j p_j (-1)^(j.k); written as exp(sum_j r_j ((-1)^(j.k) - 1)) it is a Poisson process with
// rate r_j of each Pauli, or independent errors with probabilities e_j = (1 - exp(-2 r_j)) / 2. The
// rates are the Walsh-Hadamard transform of log L; the form exists when none is negative.
//
// In terms of independent errors L_k is the product of 1 - 2 e_j over the j with j.k odd. So a
// channel whose negative eigenvalues are those of one Pauli is that Pauli, for certain, behind an
// ordinary channel: its e_j is one minus that of the ordinary channel. And where eigenvalues vanish
// some Paulis happen with probability one half.
#pragma once

namespace tilewave::stabilizer {

/// p and rates have `size` = 4 or 16 entries, the identity first; index bits: x and z of each
/// qubit. False when the channel has no such form.
bool poisson_rates(const double* p, int size, double* rates);

/// The same as independent errors, certain ones and those of probability one half included. False
/// when there is no such form.
bool independent_errors(const double* p, int size, double* errors);

}  // namespace tilewave::stabilizer
