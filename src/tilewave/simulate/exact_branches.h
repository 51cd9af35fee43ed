// Expectations of circuits that measure or reset in the middle without a draw: every outcome goes
// on with its probability, and what the ends answer is summed with these weights. Where outcomes
// are many and qubits few a density matrix holds all of them at once, but for those that later
// operations read.
#pragma once

#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/simulate/simulate.h"

namespace tilewave::simulate {

/// Outcomes of probability below this go no further: loops that end with certainty do so here.
constexpr double kLeastOutcome = 1e-15;
/// More ends than this are refused.
constexpr std::uint64_t kMostOutcomes = std::uint64_t{1} << 16;

/// Throws Error(kUsage): there are more.
[[noreturn]] void fail_outcomes();

/// <P> of every term of options.observables, without coefficients. Reads noise, precision, device
/// and num_threads, too. Throws Error(kUsage) for more outcomes than kMostOutcomes,
/// Error(kResources) where the states, or the density matrix noise needs, do not fit.
std::vector<double> exact_expectations(const circuit::Circuit& circuit, const Options& options);

}  // namespace tilewave::simulate
