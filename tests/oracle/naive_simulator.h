// The reference every engine is compared with: the simplest simulator that is right. Complex
// doubles, one gate at a time, plain loops, nothing merged, nothing fast. Bit k of an index of the
// state is qubit k. Up to about 14 qubits and 20 measurements in reasonable time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/pauli.h"

namespace tilewave::oracle {

using State = std::vector<cplx>;  ///< 2^qubits amplitudes

/// |0...0>.
State zero_state(std::uint32_t num_qubits);

/// A normalised state of random amplitudes.
State random_state(std::uint32_t num_qubits, std::uint64_t seed);

/// Applies a gate or a matrix of `circuit` to the state, whatever its condition says.
void apply(const circuit::Circuit& circuit, const circuit::Op& op, State& state);

/// The state after a circuit without measurements, resets and conditions; from |0...0> where
/// `initial` is empty. Throws Error(kInput) for any other circuit.
State simulate(const circuit::Circuit& circuit, State initial = {});

/// One history of a circuit's measurements and resets.
struct Branch {
  double probability = 1;
  std::uint64_t clbits = 0;  ///< bit k: classical bit k
  State state;               ///< normalised
};

/// Every history with probability above 1e-14. At most 64 classical bits.
std::vector<Branch> enumerate_branches(const circuit::Circuit& circuit);

/// Exact probabilities of the classical bits at the end; they sum to 1.
std::map<std::uint64_t, double> distribution(const circuit::Circuit& circuit);

/// Probability of 1 for every qubit.
std::vector<double> probabilities(const State& state);

/// <state| P |state> without the coefficient.
double expectation(const State& state, const circuit::PauliTerm& term);

/// The largest difference between amplitudes.
double max_difference(const State& a, const State& b);

}  // namespace tilewave::oracle
