// Expectations of circuits that measure or reset in the middle without a draw: every outcome goes
// on with its probability, and what the ends answer is summed with these weights. Where outcomes
// are many and qubits few a density matrix holds all of them at once, but for those that later
// operations read.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tilewave/circuit/circuit.h"
#include "tilewave/circuit/noise_model.h"
#include "tilewave/simulate/density_program.h"
#include "tilewave/simulate/program.h"
#include "tilewave/simulate/simulate.h"
#include "tilewave/statevec/state.h"

namespace tilewave::simulate {

/// Outcomes of probability below this go no further: loops that end with certainty do so here.
constexpr double kLeastOutcome = 1e-15;
/// More ends than this are refused.
constexpr std::uint64_t kMostOutcomes = std::uint64_t{1} << 16;

/// Throws Error(kUsage): there are more.
[[noreturn]] void fail_outcomes();

/// Most outcomes that a density matrix of `program` would follow: 2 for every measurement whose bit
/// a later operation reads, 4 where that bit is misread, and more than kMostOutcomes where there are
/// loops. `readout`: one a qubit of the state, or none.
std::uint64_t count_outcomes(const Program& program,
                             std::span<const circuit::ReadoutError> readout);

/// The density matrix's program for walk_outcomes(): measurements whose bit nothing reads take the
/// coherence and leave it at that.
void to_unread_density(const Program& program, DensityProgram& out);

/// Calls on_end(state, weight) for every outcome of the measurements and resets of `program`, with
/// its probability; `state` is where the run starts. A bit that is misread steers as it was read.
/// Adds what runs to `result`, unless it is null. Throws Error(kUsage) for more than kMostOutcomes, Error(kResources)
/// where the states do not fit.
void walk_outcomes(const Program& program, std::unique_ptr<statevec::State> state,
                   std::span<const circuit::ReadoutError> readout, const Options& options,
                   const std::function<void(statevec::State&, double)>& on_end,
                   Result* result = nullptr);

/// <P> of every term of options.observables, without coefficients. Reads noise, precision, device
/// and num_threads, too. Throws Error(kUsage) for more outcomes than kMostOutcomes,
/// Error(kResources) where the states, or the density matrix noise needs, do not fit.
std::vector<double> exact_expectations(const circuit::Circuit& circuit, const Options& options);

}  // namespace tilewave::simulate
