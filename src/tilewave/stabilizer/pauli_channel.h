// A Pauli channel as independent flips. The channel with probabilities p_j of the Paulis j has the
// eigenvalues L_k = sum_j p_j (-1)^(j.k); written as exp(sum_j r_j ((-1)^(j.k) - 1)) it is a
// Poisson process with rate r_j of each Pauli, or independent errors with probabilities (1 - exp(-2
// r_j)) / 2. The rates are the Walsh-Hadamard transform of log L; the form exists when none is
// negative.
#pragma once

namespace tilewave::stabilizer {

/// p and rates have `size` = 4 or 16 entries, the identity first; index bits: x and z of each
/// qubit. False when the channel has no such form.
bool poisson_rates(const double* p, int size, double* rates);

}  // namespace tilewave::stabilizer
