// Noise channels as Kraus operators: rho -> sum_k K_k rho K_k^dagger with sum_k K_k^dagger K_k = 1.
//
// Matrices are row-major, 2^m x 2^m on m qubits; bit j of an index is the channel's j-th qubit. A
// mixture of unitaries is the case K_k = sqrt(p_k) U_k. The builders take numbers in their ranges;
// who reads them from a file checks them there, where the error can name the place.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilewave/base/complex.h"

namespace tilewave::circuit {

using Matrix = std::vector<cplx>;

struct Channel {
  std::string name;
  int num_qubits = 1;
  std::vector<Matrix> kraus;
};

constexpr int kMaxChannelQubits = 4;

/// I, X, Y, Z.
const Matrix& pauli_matrix(int code);
/// A Pauli string: letters[j] acts on qubit j, codes 0 1 2 3.
Matrix pauli_string_matrix(std::span<const int> letters);
/// `high` on the higher bits of the index.
Matrix kronecker(const Matrix& low, const Matrix& high);
/// A matrix on some of num_qubits qubits: bit j of its index is positions[j].
Matrix embed(const Matrix& m, std::span<const int> positions, int num_qubits);
Matrix multiply(const Matrix& a, const Matrix& b);
Matrix adjoint(const Matrix& m);
Matrix conjugate(Matrix m);
Matrix scaled(Matrix m, double factor);

/// The largest |(sum_k K_k^dagger K_k - 1)_ij|.
double distance_from_trace_preserving(const std::vector<Matrix>& kraus);

/// The channel on a density matrix whose rows and columns are qubits of their own: 16^m entries,
/// S[(i, i'), (j, j')] = sum_k K_k[i, j] conj(K_k[i', j']), row bits low, column bits high.
Matrix superoperator(const std::vector<Matrix>& kraus);
/// True when a superoperator takes |j><j'| to |i><i'| with i ^ i' = j ^ j' alone, as Pauli errors,
/// damping and resets do: it is then 2^m blocks of 2^m x 2^m.
bool is_in_blocks(const Matrix& superoperator);

/// The probability of each Pauli string (the sum of letters[j] 4^j) where the channel is a mixture
/// of them; empty where it is not.
std::vector<double> pauli_probabilities(const Channel& channel);

// ---- builders ----

/// Pauli strings with their probabilities (code j of a string on qubit j); the rest is no error.
struct PauliProbability {
  std::vector<int> letters;
  double p = 0;
};
Channel pauli_channel(int num_qubits, std::span<const PauliProbability> errors);
/// Each of the 4^m - 1 errors with probability p / (4^m - 1).
Channel depolarizing(int num_qubits, double p);
/// |1> decays to |0> with probability gamma (1 - excited), |0> rises with gamma excited.
Channel amplitude_damping(double gamma, double excited = 0);
/// Coherences are multiplied by sqrt(1 - lambda).
Channel phase_damping(double lambda);
/// Relaxation over `time`: populations reach (1 - excited, excited) with rate 1 / t1, coherences
/// decay as exp(-time / t2); t2 <= 2 t1.
Channel thermal_relaxation(double t1, double t2, double time, double excited = 0);
/// To |0> with probability p0, to |1> with p1.
Channel reset_channel(double p0, double p1);
Channel unitary_mixture(int num_qubits, std::span<const double> p, std::span<const Matrix> u);

}  // namespace tilewave::circuit
